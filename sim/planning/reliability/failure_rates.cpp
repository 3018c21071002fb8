#include "sim/planning/reliability/failure_rates.h"

#include <fmt/format.h>

#include "sim/planning/cost/bill_of_materials.h"
#include "sim/planning/cost/price_book.h"

namespace weft::plan {
namespace {

constexpr std::array<std::string_view, kComponents> kComponentNames{"gpu", "node", "nic", "cable", "switch", "job"};

struct Observation {
  double hours = 0;  // in which failures could come
  ComponentCounts components;
};

Observation read_observation(ParamReader& params) {
  Observation seen;
  const LongTime length = read_long_time(params, "for");
  const double running =
      params.optional<Ratio>("running", Ratio{1.0}, {.min = Ratio{0.01}, .max = Ratio{1.0}, .above_min = false}).value;
  seen.hours = length.hours() * running;
  if (params.has("for") && seen.hours <= 0) params.error("for", "must be more than 0");
  ParamReader components = params.map("components");
  seen.components = read_components(components);
  params.finish();
  return seen;
}

}  // namespace

std::string_view to_string(Component component) { return kComponentNames[static_cast<std::size_t>(component)]; }

ComponentCounts count_components(const net::Topology& topology) {
  const BillOfMaterials bill = bill_of_materials(topology);
  ComponentCounts counts;
  counts.of(Component::kGpu) = static_cast<double>(bill.gpus());
  counts.of(Component::kNode) = static_cast<double>(bill.server_count());
  counts.of(Component::kNic) = static_cast<double>(bill.nics());
  counts.of(Component::kCable) = static_cast<double>(bill.cable_count());
  counts.of(Component::kSwitch) = static_cast<double>(bill.switch_count());
  return counts;
}

ComponentCounts part_of(const ComponentCounts& all, double gpus) {
  ComponentCounts part = all;
  const double share = all.of(Component::kGpu) > 0 ? gpus / all.of(Component::kGpu) : 0;
  for (double& count : part.count) count *= share;
  part.of(Component::kJob) = 1;
  return part;
}

ComponentCounts read_components(ParamReader& params) {
  ComponentCounts counts;
  for (std::size_t i = 0; i + 1 < kComponents; ++i) {
    counts.count[i] =
        static_cast<double>(params.optional<std::int64_t>(kComponentNames[i], 0, between<std::int64_t>(0, 1'000'000'000)));
  }
  params.finish();
  return counts;
}

FailureRates read_failure_rates(const ConfigNode& node, Diagnostics& diagnostics) {
  ParamReader book{node, diagnostics};
  FailureRates rates;
  static_cast<void>(book.choice("kind", {"failure_rates"}, "failure_rates"));
  static_cast<void>(book.optional<std::string>("description", ""));
  rates.name = book.optional<std::string>("name", std::filesystem::path{node.file()}.stem().string());
  Figure source;
  read_source(book, source);
  rates.source = source.source;
  rates.date = source.date;
  rates.within = book.optional<double>("within", rates.within, at_least(1.0));
  Observation seen;
  const bool has_observation = book.has("observed");
  if (has_observation) {
    ParamReader observed = book.map("observed");
    seen = read_observation(observed);
  }
  for (ParamReader& entry : book.required_maps("causes")) {
    FailureCause cause;
    cause.name = entry.required<std::string>("cause");
    cause.per = entry.choice<Component>("per",
                                        {{"gpu", Component::kGpu},
                                         {"node", Component::kNode},
                                         {"nic", Component::kNic},
                                         {"cable", Component::kCable},
                                         {"switch", Component::kSwitch},
                                         {"job", Component::kJob}},
                                        Component::kGpu);
    if (entry.has("count") == entry.has("mtbf")) {
      entry.error_here("expected one of 'count' and 'mtbf'",
                       "count: how often it was seen in 'observed'; mtbf: mean time between failures of one component");
    }
    if (entry.has("mtbf")) {
      const LongTime mtbf = read_long_time(entry, "mtbf");
      if (mtbf.us() > 0) cause.per_hour = 1 / mtbf.hours();
      if (mtbf.us() <= 0) entry.error("mtbf", "must be more than 0");
    }
    if (entry.has("count")) {
      const auto count = entry.required<double>("count", at_least(0.0));
      const double observed = seen.components.of(cause.per) * seen.hours;
      if (!has_observation) entry.error("count", "needs 'observed', which says where and how long it was counted");
      if (has_observation && observed <= 0) {
        entry.error("count", fmt::format("'observed' has no {} to share it out over", to_string(cause.per)));
      }
      if (observed > 0) cause.per_hour = count / observed;
    }
    entry.finish();
    rates.causes.push_back(std::move(cause));
  }
  book.finish();
  return rates;
}

FailureRates load_failure_rates(const std::string& file_or_name) {
  Diagnostics diagnostics;
  FailureRates rates =
      read_failure_rates(ConfigNode::load_file(find_book(file_or_name, "reliability"), "failure_rates"), diagnostics);
  diagnostics.throw_if_any();
  return rates;
}

FailureBooks::FailureBooks(FailureRates rates) { from_.emplace(0, std::move(rates)); }

FailureBooks FailureBooks::shipped() {
  constexpr std::int64_t kLargestOfMeta = 1'024;
  FailureBooks books{load_failure_rates("meta_research_2024")};
  books.from_.emplace(kLargestOfMeta, load_failure_rates("llama3_2024"));
  return books;
}

const FailureRates& FailureBooks::of(std::int64_t gpus) const { return std::prev(from_.upper_bound(gpus))->second; }

double FailureRates::per_hour(const ComponentCounts& components) const {
  double sum = 0;
  for (const FailureCause& cause : causes) sum += cause.per_hour * components.of(cause.per);
  return sum;
}

LongTime FailureRates::time_to_failure(const ComponentCounts& components) const {
  const double rate = per_hour(components);
  return LongTime::from_seconds(rate > 0 ? 3'600 / rate : kLongestYears * 365 * 86'400);
}

}  // namespace weft::plan
