#include "sim/network/shared_links.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace weft::net {
namespace {

constexpr double kSlack = 0.5;  // bytes: rates are doubles, and times whole picoseconds
constexpr double kUncounted = -1;
constexpr std::size_t kKeptSteps = 64;  // at least, for stages that are not counted yet

constexpr double kLeast = 1e-3;  // of a link's rate, for packets that come when flows have all of it

Duration ps(double picoseconds) { return Duration::whole_ps(std::ceil(picoseconds)); }

struct Place {
  Duration delay;
  std::uint32_t stage = 0;
};

// Returns a packet's time from the beginning of a link to that of the next one.
Duration crossing(const Topology& topology, LinkId id) {
  const Link& link = topology.link(id);
  const LinkSpec& spec = topology.spec(id);
  const Forwarding& forwarding = topology.forwarding(link.to);
  const Bytes taken_in = forwarding.store_and_forward ? spec.packet + spec.overhead : forwarding.header;
  return spec.latency + forwarding.latency + transmission_time(taken_in, spec.rate);
}

}  // namespace

SharedLinks::SharedLinks(const Simulator& simulator, const Topology& topology, const FlowFabric& flows, PacketFabric& packets)
    : simulator_{simulator}, topology_{topology}, flows_{flows}, packets_{packets}, loads_(topology.link_count()) {}

// By the shortest ways from the footprint's sources; of a rest of a way (HybridFabric) there is no source, and no delay.
const SharedLinks::Reach& SharedLinks::reach(FootprintId id) {
  if (reaches_.size() <= id.index()) reaches_.resize(id.index() + 1);
  std::unique_ptr<Reach>& known = reaches_[id.index()];
  if (known != nullptr) return *known;
  known = std::make_unique<Reach>();
  Reach& reach = *known;
  const Footprint& footprint = flows_.footprint(id);
  for (const Usage& usage : footprint.usages) {
    if (usage.resource.index() >= loads_.size()) continue;
    reach.links.emplace_back(usage.resource.value());
    reach.usages.push_back(usage.usage);
  }
  std::map<DeviceId, Place> places;
  for (const PathEnds& path : footprint.paths) places[path.source] = {};
  for (bool found = true; std::exchange(found, false);) {
    for (const LinkId link : reach.links) {
      const auto from = places.find(topology_.link(link).from);
      if (from == places.end()) continue;
      const Place place{from->second.delay + crossing(topology_, link), from->second.stage + 1};
      const auto [to, is_new] = places.try_emplace(topology_.link(link).to, place);
      if (!is_new && to->second.delay <= place.delay) continue;
      to->second = place;
      found = true;
    }
  }
  for (const LinkId link : reach.links) {
    const auto from = places.find(topology_.link(link).from);
    const Place place = from == places.end() ? Place{} : from->second;
    reach.delays.push_back(place.delay);
    reach.stages.push_back(place.stage);
    reach.longest = std::max(reach.longest, place.delay);
    reach.stage_count = std::max(reach.stage_count, place.stage + 1);
  }
  return reach;
}

SharedLinks::Progress& SharedLinks::progress(FootprintId id) {
  if (progress_.size() <= id.index()) progress_.resize(id.index() + 1);
  std::unique_ptr<Progress>& known = progress_[id.index()];
  if (known == nullptr) {
    known = std::make_unique<Progress>();
    known->steps.push_back({});
    known->passed.assign(reach(id).stage_count, kUncounted);
  }
  return *known;
}

void SharedLinks::apply(Load& load, std::int32_t flows, double rate) {
  load.flows += flows;
  load.rate += rate;
  if (load.flows == 0) load.rate = 0;  // sums of many rates are not exact
}

SharedLinks::Load& SharedLinks::load(LinkId link) {
  Load& load = loads_[link.index()];
  while (!load.coming.empty() && load.coming.back().at <= simulator_.now()) {
    apply(load, load.coming.back().flows, load.coming.back().rate);
    load.coming.pop_back();
  }
  return load;
}

void SharedLinks::change_flows(FootprintId footprint, std::int32_t flows, double rate, bool at_once) {
  const Reach& over = reach(footprint);
  for (std::size_t i = 0; i < over.links.size(); ++i) {
    Load& load = this->load(over.links[i]);
    const double part = rate * over.usages[i];
    if (at_once || load.since == Time::max() || over.delays[i] == Duration{}) {
      apply(load, flows, part);
      continue;
    }
    const Time at = simulator_.now() + over.delays[i];
    const auto place = std::ranges::find_if(load.coming, [&](const Coming& each) { return each.at <= at; });
    load.coming.insert(place, {at, flows, part});
  }
}

SharedLinks::Progress::Step SharedLinks::step_at(const Progress& progress, Time at) {
  for (std::size_t i = progress.steps.size(); i-- > 0;) {
    const Progress::Step& step = progress.steps[i];
    if (step.at > at && i > 0) continue;
    const auto since = static_cast<double>(std::max<std::int64_t>((at - step.at).ps(), 0));
    return {at, step.moved + step.rate * since, step.at > at ? 0 : step.rate};
  }
  return {};
}

void SharedLinks::set_shadow_rate(FootprintId footprint, double rate) {
  Progress& progress = this->progress(footprint);
  const Time now = simulator_.now();
  if (progress.steps.back().at == now) {
    progress.steps.back().rate = rate;
  } else {
    progress.steps.push_back({now, step_at(progress, now).moved, rate});
  }
  // Nobody looks further back than the longest way.
  std::size_t old = 0;
  while (old + kKeptSteps < progress.steps.size() && progress.steps[old + 1].at + reach(footprint).longest <= now) ++old;
  progress.steps.erase(progress.steps.begin(), progress.steps.begin() + static_cast<std::ptrdiff_t>(old));
}

void SharedLinks::count_packets(FootprintId footprint, std::int32_t more) {
  Progress& progress = this->progress(footprint);
  if (progress.transfers == 0 && more > 0 && progress.steps.back().rate == 0) {
    // A new beginning, with nothing on the way.
    progress.steps.assign(1, {simulator_.now(), 0, 0});
    const Reach& over = reach(footprint);
    std::ranges::fill(progress.passed, 0);
    for (std::size_t i = 0; i < over.links.size(); ++i) {
      if (loads_[over.links[i].index()].since == Time::max()) progress.passed[over.stages[i]] = kUncounted;
    }
  }
  progress.transfers += more;
}

void SharedLinks::begin(LinkId link) {
  load(link).since = simulator_.now();
  packets_.share(link, *this);
}

// Until all links of the stage were asked for, packets are taken to have been abreast of their shadows.
void SharedLinks::begin_to_count(const Reach& over, Progress& progress, std::size_t place) {
  const std::uint32_t stage = over.stages[place];
  Time since;
  for (std::size_t i = 0; i < over.links.size(); ++i) {
    if (over.stages[i] != stage) continue;
    if (loads_[over.links[i].index()].since == Time::max()) begin(over.links[i]);
    since = std::max(since, loads_[over.links[i].index()].since);
  }
  progress.passed[stage] = step_at(progress, since - over.delays[place]).moved;
}

Time SharedLinks::begin(LinkId link, FootprintId footprint, Bytes payload, Time came) {
  const Time now = simulator_.now();
  Load& load = this->load(link);
  const auto bytes = static_cast<double>(payload.count());
  double* passed = nullptr;
  double behind = 0;  // bytes that shadows have moved and packets have not
  double rate = 0;
  if (footprint.valid()) {
    Progress& progress = this->progress(footprint);
    const Reach& over = reach(footprint);
    const auto place = static_cast<std::size_t>(std::ranges::lower_bound(over.links, link) - over.links.begin());
    if (place < over.links.size() && over.links[place] == link) {
      passed = &progress.passed[over.stages[place]];
      if (*passed < 0) begin_to_count(over, progress, place);
      const Progress::Step step = step_at(progress, now - over.delays[place]);
      behind = step.moved - *passed;
      rate = step.rate;
    }
  }
  if (load.flows > 0) {
    const double capacity = flows_.capacity(ResourceId{link.value()});
    const double even = rate > 0 ? 0 : 1.0 / (1 + load.flows);
    const double left = std::clamp((capacity - load.rate) / capacity, std::max(even, kLeast), 1.0);
    const double ahead = bytes * (1 - left) / 2;  // of its shadow: as many of the flows' bytes come before it as after it
    const Time in_turn = std::max(load.next, came + ps(ahead / left / capacity));
    if (in_turn > now && (passed == nullptr || behind < ahead - kSlack)) {
      return rate > 0 ? std::min(in_turn, now + ps((ahead - behind) / rate + 1)) : in_turn;
    }
    const double late = std::clamp(behind - ahead, 0.0, bytes);
    load.next = std::max(load.next, now) + ps((late + (bytes - late) / left) / capacity);
  }
  if (passed != nullptr) *passed += bytes;
  return now;
}

}  // namespace weft::net
