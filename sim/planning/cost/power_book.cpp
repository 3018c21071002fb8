#include "sim/planning/cost/power_book.h"

#include <filesystem>

#include "sim/planning/cost/price_book.h"

namespace weft::plan {
namespace {

Draw read_draw(ParamReader& entry, bool has_idle) {
  Figure figure = read_figure(entry, "max", Unit::kWatt);
  Draw draw{.max_watts = figure.value, .idle_watts = figure.value, .source = figure.source, .date = figure.date};
  if (has_idle) {
    draw.idle_watts = read_amount(entry, "idle", Unit::kWatt);
    if (draw.idle_watts > draw.max_watts) entry.error("idle", "must not exceed 'max'");
  }
  return draw;
}

std::vector<NamedDraw> read_named_draws(ParamReader& book, std::string_view list, std::string_view key) {
  std::vector<NamedDraw> draws;
  for (ParamReader& entry : book.maps(list)) {
    NamedDraw draw;
    draw.name = entry.required<std::string>(key);
    draw.draw = read_draw(entry, true);
    entry.finish();
    draws.push_back(std::move(draw));
  }
  return draws;
}

}  // namespace

PowerBook read_power_book(const ConfigNode& node, Diagnostics& diagnostics) {
  ParamReader book{node, diagnostics};
  PowerBook power;
  static_cast<void>(book.choice("kind", {"power"}, "power"));
  static_cast<void>(book.optional<std::string>("description", ""));
  power.name = book.optional<std::string>("name", std::filesystem::path{node.file()}.stem().string());
  power.file = node.file();
  power.servers = read_named_draws(book, "servers", "node");
  power.gpus = read_named_draws(book, "gpus", "gpu");
  ParamReader base = book.map("server_base");
  power.server_base = read_draw(base, true);
  base.finish();
  for (ParamReader& entry : book.maps("switches")) {
    SwitchDraw draw;
    draw.type = entry.required<std::string>("type");
    draw.rate = entry.required<Bandwidth>("rate", positive);
    draw.ports = entry.required<std::int64_t>("ports", between(1, 4096));
    draw.draw = read_draw(entry, true);
    entry.finish();
    power.switches.push_back(std::move(draw));
  }
  for (ParamReader& entry : book.maps("modules")) {
    ModuleDraw draw;
    draw.rate = entry.required<Bandwidth>("rate", positive);
    draw.ports = entry.optional<std::int64_t>("ports", 1, between(1, 8));
    draw.draw = read_draw(entry, false);
    entry.finish();
    power.modules.push_back(std::move(draw));
  }
  ParamReader activity = book.map("activity");
  power.activity.compute = activity.optional<double>("compute", power.activity.compute, between(0, 1));
  power.activity.memory = activity.optional<double>("memory", power.activity.memory, between(0, 1));
  power.activity.communication = activity.optional<double>("communication", power.activity.communication, between(0, 1));
  Figure weights;
  read_source(activity, weights);
  activity.finish();
  ParamReader pue = book.map("pue");
  power.pue.value = pue.required<double>("value", between(1.0, 5.0));
  read_source(pue, power.pue);
  pue.finish();
  book.finish();
  return power;
}

PowerBook load_power_book(const std::string& file_or_name) {
  Diagnostics diagnostics;
  PowerBook book = read_power_book(ConfigNode::load_file(find_book(file_or_name, "power"), "power"), diagnostics);
  diagnostics.throw_if_any();
  return book;
}

}  // namespace weft::plan
