#include "sim/output/report/planning_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/output/report/chart.h"
#include "sim/planning/cost/amount.h"

namespace weft::output {
namespace {

std::string ranged_text(const OrderedJson& of, const char* key, const auto& text) {
  const OrderedJson& range = member(of, key);
  return fmt::format("{} ({} to {})", text(json_number(range, "value")), text(json_number(range, "least")),
                     text(json_number(range, "most")));
}

// "15 T", "300 B".
std::string tokens_text(double tokens) {
  if (tokens >= 1e12) return fmt::format("{:.4g} T", tokens / 1e12);
  if (tokens >= 1e9) return fmt::format("{:.4g} B", tokens / 1e9);
  return tokens >= 1e6 ? fmt::format("{:.4g} M", tokens / 1e6) : figure(tokens);
}

// "TTFT at most 500 ms, TPOT at most 30 ms for 90 % of requests".
std::string targets_text(const OrderedJson& result) {
  std::string text;
  for (const auto& [key, name] : {std::pair{"target_ttft_ns", "TTFT"}, {"target_tpot_ns", "TPOT"}}) {
    const double ns = json_number(result, key);
    if (std::isfinite(ns)) text += fmt::format("{}{} at most {} ms", text.empty() ? "" : ", ", name, figure(ns / 1e6));
  }
  const std::string at = text_of(result, "targets_at");
  return text.empty() ? "no targets of latency"
                      : fmt::format("{} for {} % of requests", text, at.size() > 1 ? at.substr(1) : at);
}

// The gain of a plan that was not simulated, from the gap of the search; that is no number where the plan is proven best.
std::string better_text(double gap) {
  if (!std::isfinite(gap)) return "none: proven";
  return gap < 1 ? fmt::format("at most {:.0f} % faster", 100 * gap / (1 - gap)) : "not bounded";
}

}  // namespace

void add_size(Document& document, const OrderedJson& result) {
  const auto days = [](double seconds) { return figure(seconds / 86'400) + " d"; };
  const auto usd = [](double amount) { return "$" + plan::short_usd(amount); };
  const auto share = [](double value) { return percent_text(value); };
  document.add(TextBlock{fmt::format("{}: {} tokens, {} sequences of {} a step.", text_of(result, "model"),
                                     tokens_text(json_number(result, "tokens")), text_of(result, "batch_global"),
                                     text_of(result, "sequence"))});
  std::vector<std::pair<std::string, bool>> columns{{"", true}};
  std::vector<std::vector<std::string>> rows;
  for (const char* name :
       {"size", "set by", "time", "cost of it", "capital", "running cost an hour", "power", "energy", "useful time",
        "fails every", "tokens/s", "MFU", "error of a step", "a better plan", "plan", "prices"}) {
    rows.push_back({name});
  }
  std::vector<HtmlTile> tiles;
  std::vector<std::pair<std::string, bool>> change_columns{{"if", true}};
  std::vector<std::vector<std::string>> changes;
  for (const OrderedJson& sized : list(result, "clusters")) {
    const std::string name = text_of(sized, "name");
    columns.emplace_back(name, true);
    tiles.push_back({.label = name,
                     .value = days(json_number(member(sized, "time_s"), "value")),
                     .note = fmt::format("{} GPUs, {}, {:.2f} MW", text_of(sized, "gpus"),
                                         usd(json_number(member(sized, "usd"), "value")), json_number(sized, "megawatts"))});
    const std::vector<std::string> cells{
        fmt::format("{} nodes, {} GPUs", text_of(sized, "nodes"), text_of(sized, "gpus")),
        text_of(sized, "limit") + (value_of(sized, "meets") == false ? ", misses the deadline" : ""),
        ranged_text(sized, "time_s", days),
        ranged_text(sized, "usd", usd),
        usd(json_number(member(sized, "capital"), "usd")),
        usd(json_number(sized, "usd_per_hour")),
        fmt::format("{:.2f} MW (at most {:.2f})", json_number(sized, "megawatts"), json_number(sized, "megawatts_all_busy")),
        figure(json_number(sized, "megawatt_hours")) + " MWh",
        ranged_text(sized, "useful", share),
        figure(json_number(sized, "time_to_failure_s") / 3'600) + " h",
        fmt::format("{:.0f}", json_number(sized, "tokens_per_second")),
        share(json_number(sized, "mfu")),
        sized.contains("step_error") ? "+- " + share(json_number(sized, "step_error")) : "not validated",
        better_text(json_number(sized, "gap")),
        text_of(sized, "plan"),
        fmt::format("{} to {}, {} of the capital assumed", text_of(sized, "oldest_price"), text_of(sized, "newest_price"),
                    share(json_number(sized, "assumed_price_share")))};
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].push_back(cells[i]);
    change_columns.emplace_back(name + ", time", false);
    change_columns.emplace_back(name + ", cost", false);
    std::size_t line = 0;
    for (const OrderedJson& change : list(sized, "changes")) {
      if (changes.size() <= line) changes.push_back({text_of(change, "what")});
      changes[line].resize(change_columns.size() - 2, "-");
      changes[line].push_back(days(json_number(change, "time_s")));
      changes[line].push_back(usd(json_number(change, "usd")));
      ++line;
    }
  }
  for (auto& row : changes) row.resize(change_columns.size(), "-");
  document.add(TileBlock{std::move(tiles)});
  add_table(document, "Side by side: value (least to most)", columns, std::move(rows));
  add_table(document, "What would change it", change_columns, std::move(changes));
}

void add_plan(Document& document, const OrderedJson& result) {
  document.add(TextBlock{fmt::format("Which parallel plan of {} GPUs trains {} soonest, {} sequences of {} tokens a step?",
                                     text_of(result, "gpus"), text_of(result, "model"), text_of(result, "batch_global"),
                                     text_of(result, "sequence"))});
  std::vector<std::vector<std::string>> rows;
  std::vector<std::pair<std::string, double>> times;
  const auto ms = [](double ns) { return figure(ns / 1e6); };
  for (const OrderedJson& plan : list(result, "plans")) {
    if (plan.is_null()) continue;
    const double error = json_number(plan, "time_error");
    const double time = json_number(plan, "iteration_time_ns");
    const OrderedJson& cost = member(plan, "cost");
    const std::string range =
        std::isfinite(error) ? fmt::format("{} to {}", ms(time * (1 - error)), ms(time * (1 + error))) : "-";
    rows.push_back({text_of(plan, "plan"), ms(time), range, ms(json_number(plan, "bound_ns")),
                    fmt::format("{:.0f}", json_number(plan, "tokens_per_second")), percent_text(json_number(plan, "mfu")),
                    figure(json_number(plan, "memory_per_gpu_bytes") / 1e9),
                    percent_text(json_number(plan, "exposed_communication_share")),
                    cost.is_object() ? figure(json_number(cost, "usd_per_million_tokens")) : "-"});
    times.emplace_back(text_of(plan, "plan"), time / 1e6);
  }
  if (!rows.empty()) {
    const double gap = json_number(result, "gap");
    const std::string proof = std::isfinite(gap) ? fmt::format("a better one saves {} at most", percent_text(gap))
                              : json_number(result, "proven") > 0 ? "proven best of what was looked at"
                                                                  : "not proven";
    document.add(TileBlock{{{.label = "step", .value = rows.front()[1] + " ms", .note = rows.front()[0]},
                            {.label = "tokens/s", .value = rows.front()[4], .note = text_of(result, "gpus") + " GPUs"},
                            {.label = "MFU", .value = rows.front()[5]},
                            {.label = "gap", .value = std::isfinite(gap) ? percent_text(gap) : "-", .note = proof}}});
  }
  add_bars(document, "Time of a step", "ms", times);
  add_table(document, "Plans that were simulated, best first",
            {{"plan", true},
             {"step (ms)", false},
             {"with its error", false},
             {"bound (ms)", false},
             {"tokens/s", false},
             {"MFU", false},
             {"memory (GB)", false},
             {"exposed communication", false},
             {"USD/M tokens", false}},
            std::move(rows));
  rows = {};
  for (const auto& [key, what] : {std::pair{"enumerated", "plans listed"},
                                  {"refused", "refused by a scenario's checks"},
                                  {"too_big", "too big for memory"},
                                  {"pruned", "whose bound is above the best time"},
                                  {"simulated", "simulated"},
                                  {"left", "left"}}) {
    rows.push_back({what, text_of(result, key)});
  }
  add_table(document, "What became of all plans", {{"plans", true}, {"count", false}}, std::move(rows));
}

void add_serving_plan(Document& document, const OrderedJson& result) {
  document.add(TextBlock{fmt::format(
      "How do {} GPUs serve {}, with prompts of about {} tokens and answers of about {}, and {}?", text_of(result, "gpus"),
      text_of(result, "model"), text_of(result, "prompt"), text_of(result, "output"), targets_text(result))});
  const double best = json_number(result, "best");
  std::vector<std::vector<std::string>> rows;
  const bool has_target = std::isfinite(json_number(result, "target_ttft_ns"));
  ChartSeries front{.name = "the front", .mark = Mark::kLineAndDots, .colour = 0};
  ChartSeries others{.name = "other plans", .mark = Mark::kHollowDots, .colour = 7};
  ChartSeries late{.name = "TTFT missed", .mark = Mark::kHollowDots, .colour = 1};
  std::size_t index = 0;
  for (const OrderedJson& plan : list(result, "servings")) {
    const auto at = static_cast<double>(index++);
    if (plan.is_null()) continue;
    const double user = json_number(plan, "tokens_per_second_per_user");
    const double gpu = json_number(plan, "tokens_per_second_per_gpu");
    const bool is_on_front = value_of(plan, "on_front") == true;
    const std::string name = fmt::format("{}, {} users", text_of(plan, "engines"), text_of(plan, "concurrency"));
    ChartSeries& points_of = is_on_front ? front : value_of(plan, "meets_ttft") == true ? others : late;
    points_of.points.push_back({user, gpu, name});
    if (!is_on_front) continue;
    const auto ms = [&](const char* key, const char* of) { return figure(json_number(member(plan, key), of) / 1e6); };
    const OrderedJson& cost = member(plan, "cost");
    const bool meets = value_of(plan, "meets_ttft") == true && value_of(plan, "meets_tpot") == true;
    rows.push_back({name, text_of(plan, "token_budget"), figure(user), figure(gpu), ms("ttft_ns", "p50"), ms("ttft_ns", "p90"),
                    ms("ttft_ns", "p99"), ms("tpot_ns", "p50"), ms("tpot_ns", "p90"), ms("tpot_ns", "p99"),
                    cost.is_object() ? figure(json_number(cost, "usd_per_million_tokens")) : "-",
                    at == best ? "best"
                    : meets    ? "met"
                               : "missed"});
    if (at != best) continue;
    document.add(TileBlock{{{.label = "best within targets", .value = figure(gpu) + " tokens/s a GPU", .note = name},
                            {.label = "a user", .value = figure(user) + " tokens/s"},
                            {.label = "TTFT, p90", .value = ms("ttft_ns", "p90") + " ms"},
                            {.label = "TPOT, p90", .value = ms("tpot_ns", "p90") + " ms"}}});
  }
  if (!std::isfinite(best)) document.add(NoteBlock{"No plan meets the targets."});
  std::vector<ChartSeries> series;
  for (ChartSeries* each : {&late, &others, &front}) {  // the last on top
    if (!each->points.empty()) series.push_back(std::move(*each));
  }
  document.add(ChartBlock{to_svg(XyChart{.title = "Throughput by speed for a user",
                                         .x = {.title = "tokens/s a user"},
                                         .y = {.title = "tokens/s a GPU"},
                                         .series = std::move(series)}),
                          {}});
  add_table(document,
            has_target ? "The front: no other plan within the target of TTFT gives users and GPUs more"
                       : "The front: no other plan that was simulated gives users and GPUs more",
            {{"engines", true},
             {"tokens a step", false},
             {"tokens/s a user", false},
             {"tokens/s a GPU", false},
             {"TTFT p50 (ms)", false},
             {"p90", false},
             {"p99", false},
             {"TPOT p50 (ms)", false},
             {"p90", false},
             {"p99", false},
             {"USD/M tokens", false},
             {"targets", true}},
            std::move(rows));
  std::string commands;
  for (const OrderedJson& command : list(result, "commands")) {
    commands += fmt::format("# {}\n{}\n", text_of(command, "engine"), text_of(command, "command"));
  }
  if (!commands.empty()) document.add(TextBlock{"To run the best one:"}).add(CodeBlock{std::move(commands)});
}

}  // namespace weft::output
