#include "sim/workloads/inference/request_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/core/config/quantity.h"
#include "sim/core/portable_math.h"
#include "sim/core/random.h"
#include "sim/core/used_files.h"
#include "sim/workloads/trace/shallow_json.h"

namespace weft::work {
namespace {

using namespace weft::literals;

constexpr std::string_view kBlank = " \t\r";
constexpr std::string_view kExpectedFields = "expected three numbers: arrival in s, prompt tokens, output tokens";

struct Field {
  std::string_view text;
  int column = 1;
};

// The fields between commas, without the blanks around them.
std::vector<Field> csv_fields_of(std::string_view line) {
  std::vector<Field> fields;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(',', at), line.size());
    std::string_view text = line.substr(at, end - at);
    const std::size_t first = std::min(text.find_first_not_of(kBlank), text.size());
    const std::size_t last = text.find_last_not_of(kBlank);
    text = last == std::string_view::npos ? std::string_view{} : text.substr(first, last + 1 - first);
    fields.push_back({text, static_cast<int>(at + first) + 1});
    at = end + 1;
  }
  return fields;
}

struct Problem {
  std::string message;
  int column = 1;
  int length = 1;
};

std::optional<Problem> problem_at(const Field& field, std::string message) {
  return Problem{std::move(message), field.column, std::max(1, static_cast<int>(field.text.size()))};
}

std::optional<Problem> read_tokens(const Field& field, std::string_view what, std::int64_t& out) {
  const auto tokens = parse_integer(field.text);
  if (!tokens) return problem_at(field, fmt::format("expected {} tokens, a whole number, got '{}'", what, field.text));
  if (*tokens < 1 || *tokens > kMaxTokens) {
    return problem_at(field, fmt::format("expected 1 to {} {} tokens, got {}", kMaxTokens, what, *tokens));
  }
  out = *tokens;
  return std::nullopt;
}

std::optional<Problem> read_line(const std::vector<Field>& fields, Request& out) {
  if (fields.size() != 3) return problem_at(fields.front(), fmt::format("{}, got {}", kExpectedFields, fields.size()));
  const auto arrival = parse_duration(std::string{fields[0].text} + " s");
  if (!arrival || *arrival < Duration{}) {
    return problem_at(fields[0], fmt::format("expected an arrival in seconds, 0 or more, got '{}'", fields[0].text));
  }
  out.arrival = Time{} + *arrival;
  if (auto problem = read_tokens(fields[1], "prompt", out.prompt)) return problem;
  return read_tokens(fields[2], "output", out.output);
}

// The public Azure traces: 2023-11-16 18:17:03.9799600, perhaps with a zone. Whole seconds since some day, and the rest.
struct Instant {
  std::int64_t seconds = 0;
  Duration rest;
};
std::optional<Instant> instant_of(std::string_view text) {
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  double second = 0;
  const std::string copy{text};
  if (std::sscanf(copy.c_str(), "%4d-%2d-%2d%*1[ T]%2d:%2d:%lf", &year, &month, &day, &hour, &minute, &second) != 6) {
    return std::nullopt;
  }
  if (year < 2000 || year > 2099 || month < 1 || month > 12 || day < 1 || day > 31) return std::nullopt;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || !(second >= 0 && second < 61)) return std::nullopt;
  using std::chrono::year_month_day;
  const std::chrono::sys_days date = year_month_day{std::chrono::year{year}, std::chrono::month(static_cast<unsigned>(month)),
                                                    std::chrono::day(static_cast<unsigned>(day))};
  const std::int64_t days = date.time_since_epoch().count();
  return Instant{(days * 24 + hour) * 3600 + minute * 60, Duration::nearest_ps(second * 1e12)};
}

// Arrivals count from `first`, the first line's time.
std::optional<Problem> read_azure(const std::vector<Field>& fields, std::optional<Instant>& first, Request& out) {
  if (fields.size() != 3) {
    return problem_at(fields.front(),
                      fmt::format("expected a time, prompt tokens, output tokens, got {} fields", fields.size()));
  }
  const std::optional<Instant> at = instant_of(fields[0].text);
  if (!at) {
    return problem_at(fields[0], fmt::format("expected a time such as 2023-11-16 18:17:03.98, got '{}'", fields[0].text));
  }
  if (!first) first = at;
  const std::int64_t seconds = at->seconds - first->seconds;
  constexpr std::int64_t kLongest = 31 * 86'400;
  if (seconds < -kLongest || seconds > kLongest) {
    return problem_at(fields[0], fmt::format("'{}' is more than 31 days from the first line's time", fields[0].text));
  }
  out.arrival = Time{} + (seconds * 1_s + at->rest - first->rest);
  if (auto problem = read_tokens(fields[1], "prompt", out.prompt)) return problem;
  return read_tokens(fields[2], "output", out.output);
}

// A hash for each block of a prompt, the last of which may be shorter.
std::optional<Problem> read_hashes(const nlohmann::json& object, const Field& whole, Request& out) {
  const auto found = object.find("hash_ids");
  if (found == object.end()) return std::nullopt;
  const auto is_whole = [](const nlohmann::json& each) { return each.is_number_integer(); };
  if (!found->is_array() || !std::ranges::all_of(*found, is_whole)) {
    return problem_at(whole, "hash_ids: expected a list of whole numbers");
  }
  const std::int64_t most = (out.prompt + kHashedTokens - 1) / kHashedTokens;
  if (static_cast<std::int64_t>(found->size()) > most) {
    return problem_at(whole, fmt::format("hash_ids: {} for {} tokens, of which each stands for {}", found->size(), out.prompt,
                                         kHashedTokens));
  }
  out.hashes = found->get<std::vector<std::int64_t>>();
  return std::nullopt;
}

// Mooncake's traces: an object a line.
std::optional<Problem> read_mooncake(const std::string& line, Request& out) {
  const auto whole = Field{line, 1};
  const auto object = shallow_json(line);
  if (!object.is_object())
    return problem_at(whole, "expected a JSON object: {\"timestamp\": 250, \"input_length\": 1024, ...}");
  const auto number = [&](const char* key, double least, double most, double& value) -> std::optional<Problem> {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number()) return problem_at(whole, fmt::format("{}: expected a number", key));
    value = found->get<double>();
    if (!(value >= least && value <= most)) {
      return problem_at(whole, fmt::format("{}: expected {} to {}, got {}", key, least, most, value));
    }
    return std::nullopt;
  };
  constexpr double kMostMilliseconds = 1e9;
  double at = 0;
  double prompt = 0;
  double output = 0;
  if (auto problem = number("timestamp", 0, kMostMilliseconds, at)) return problem;
  if (auto problem = number("input_length", 1, static_cast<double>(kMaxTokens), prompt)) return problem;
  if (auto problem = number("output_length", 1, static_cast<double>(kMaxTokens), output)) return problem;
  out = {Time{} + Duration::nearest_ps(at * 1e9), std::llround(prompt), std::llround(output)};
  return read_hashes(object, whole, out);
}

// The titles of arrival, prompt tokens and output tokens, in the order in which lines are read.
using Titles = std::array<std::string_view, 3>;
constexpr Titles kOurTitles{"arrival_s", "prompt", "output"};
constexpr Titles kAzureTitles{"TIMESTAMP", "ContextTokens", "GeneratedTokens"};

// Which column has each of `titles`; nothing where the line is not made of these.
std::optional<std::array<std::size_t, 3>> columns_of(const std::vector<Field>& fields, const Titles& titles) {
  std::array<std::size_t, 3> columns{};
  if (fields.size() != titles.size()) return std::nullopt;
  for (std::size_t i = 0; i < titles.size(); ++i) {
    const auto at = std::ranges::find(fields, titles[i], &Field::text);
    if (at == fields.end()) return std::nullopt;
    columns[i] = static_cast<std::size_t>(at - fields.begin());
  }
  return columns;
}

bool is_header(const std::vector<Field>& fields) {
  return std::ranges::none_of(fields, [](const Field& field) { return parse_number(field.text).has_value(); });
}

std::int64_t draw(const LengthSpec& spec, RandomStream& random) {
  double length = static_cast<double>(spec.median);
  if (spec.sigma > 0) length = random.lognormal(portable_log(length), spec.sigma);
  return std::clamp(static_cast<std::int64_t>(std::llround(std::min(length, 1e9))), spec.min, spec.max);
}

// Those of one instant stay in the order of their lines.
std::vector<Request> by_arrival(const std::vector<Request>& requests) {
  std::vector<std::size_t> order(requests.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair{requests[i].arrival, i}; });
  std::vector<Request> sorted;
  sorted.reserve(requests.size());
  for (const std::size_t i : order) sorted.push_back(requests[i]);
  return sorted;
}

}  // namespace

std::vector<Request> make_requests(const RequestSpec& spec, std::uint64_t seed) {
  if (spec.arrivals == Arrivals::kTrace) return spec.trace;
  RandomStream arrivals{seed, "inference/arrivals"};
  RandomStream prompts{seed, "inference/prompts"};
  RandomStream outputs{seed, "inference/outputs"};
  std::vector<Request> requests;
  requests.reserve(static_cast<std::size_t>(spec.count * spec.sessions.turns));
  double at_seconds = 0;
  for (std::int64_t i = 0; i < spec.count; ++i) {
    if (spec.arrivals == Arrivals::kPoisson) at_seconds += arrivals.exponential(1.0 / spec.rate);
    if (spec.arrivals == Arrivals::kFixed) at_seconds = static_cast<double>(i) / spec.rate;
    std::int64_t history = 0;
    for (std::int64_t turn = 0; turn < spec.sessions.turns; ++turn) {
      const std::int64_t prompt = history + draw(turn == 0 ? spec.prompt : spec.sessions.prompt, prompts);
      const std::int64_t output = draw(spec.output, outputs);
      requests.push_back({Time{} + Duration::nearest_ps(at_seconds * 1e12), prompt, output});
      history = prompt + output;
    }
  }
  return requests;
}

std::vector<Request> read_request_trace(const std::filesystem::path& path, Diagnostics& diagnostics) {
  std::ifstream file = open_input(path);
  std::vector<Request> requests;
  std::string line;
  bool is_first = true;
  bool is_objects = false;
  bool has_dates = false;
  std::array<std::size_t, 3> columns{0, 1, 2};
  std::optional<Instant> begin;
  constexpr int kReported = 20;
  int errors = 0;
  for (int number = 1; std::getline(file, line) && errors < kReported; ++number) {
    const std::size_t first = line.find_first_not_of(kBlank);
    if (first == std::string::npos || line[first] == '#') continue;
    std::vector<Field> fields = csv_fields_of(line);
    const bool is_title = is_first && line[first] != '{' && is_header(fields);
    if (is_first) is_objects = line[first] == '{';
    is_first = false;
    if (is_title) {
      const auto ours = columns_of(fields, kOurTitles);
      const auto azure = columns_of(fields, kAzureTitles);
      has_dates = azure.has_value();
      if (ours || azure) {
        columns = ours ? *ours : *azure;
        continue;
      }
      diagnostics.error({.where = {path.string(), number, fields.front().column},
                         .message = fmt::format("unknown titles of columns: expected {}, or {}, in any order",
                                                fmt::join(kOurTitles, ","), fmt::join(kAzureTitles, ",")),
                         .source_line = line,
                         .length = static_cast<int>(line.size() - first),
                         .note = {}});
      return {};
    }
    if (!is_objects && fields.size() == columns.size()) fields = {fields[columns[0]], fields[columns[1]], fields[columns[2]]};
    Request request;
    std::optional<Problem> problem = is_objects  ? read_mooncake(line, request)
                                     : has_dates ? read_azure(fields, begin, request)
                                                 : read_line(fields, request);
    if (static_cast<std::int64_t>(requests.size()) >= kMaxRequests)
      problem = Problem{fmt::format("more than {} requests", kMaxRequests)};
    if (problem) {
      ++errors;
      diagnostics.error({.where = {path.string(), number, problem->column},
                         .message = problem->message,
                         .source_line = line,
                         .length = problem->length,
                         .note = {}});
      if (static_cast<std::int64_t>(requests.size()) >= kMaxRequests) break;
      continue;
    }
    requests.push_back(request);
  }
  if (requests.empty() && errors == 0) {
    diagnostics.error({.where = {path.string(), 1, 1},
                       .message = "the trace holds no request",
                       .source_line = {},
                       .length = 1,
                       .note = "a line of it: 0.25,1024,128"});
  }
  requests = by_arrival(requests);
  // Dates have no beginning of their own.
  if (has_dates && !requests.empty()) {
    const Time earliest = requests.front().arrival;
    for (Request& request : requests) request.arrival = Time{} + (request.arrival - earliest);
  }
  return requests;
}

}  // namespace weft::work
