#include "sim/workloads/inference/request_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/core/config/quantity.h"
#include "sim/core/portable_math.h"
#include "sim/core/random.h"
#include "sim/core/used_files.h"

namespace weft::work {
namespace {

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
  requests.reserve(static_cast<std::size_t>(spec.count));
  double at_seconds = 0;
  for (std::int64_t i = 0; i < spec.count; ++i) {
    if (spec.arrivals == Arrivals::kPoisson) at_seconds += arrivals.exponential(1.0 / spec.rate);
    if (spec.arrivals == Arrivals::kFixed) at_seconds = static_cast<double>(i) / spec.rate;
    const std::int64_t prompt = draw(spec.prompt, prompts);
    const std::int64_t output = draw(spec.output, outputs);
    requests.push_back({Time{} + Duration::nearest_ps(at_seconds * 1e12), prompt, output});
  }
  return requests;
}

std::vector<Request> read_request_trace(const std::filesystem::path& path, Diagnostics& diagnostics) {
  std::ifstream file = open_input(path);
  std::vector<Request> requests;
  std::string line;
  bool is_first = true;
  constexpr int kReported = 20;
  int errors = 0;
  for (int number = 1; std::getline(file, line) && errors < kReported; ++number) {
    const std::size_t first = line.find_first_not_of(kBlank);
    if (first == std::string::npos || line[first] == '#') continue;
    const std::vector<Field> fields = csv_fields_of(line);
    const bool is_title = is_first && is_header(fields);
    is_first = false;
    if (is_title) continue;
    Request request;
    std::optional<Problem> problem = read_line(fields, request);
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
  return by_arrival(requests);
}

}  // namespace weft::work
