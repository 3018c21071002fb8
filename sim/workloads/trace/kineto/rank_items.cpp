#include "sim/workloads/trace/kineto/rank_items.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "sim/workloads/trace/kineto/comm_parts.h"
#include "sim/workloads/trace/kineto/kernel_names.h"
#include "sim/workloads/trace/line_reader.h"

namespace weft::work::kineto {
namespace {

// A launch that was lost is taken to have been this long before the kernel began.
constexpr std::int64_t kLostLaunchNs = 5'000;
constexpr std::int64_t kAlways = std::int64_t{1} << 62;
// Smaller copies are bound by latency, and pageable ones by the host's memory: they keep their recorded time.
constexpr std::int64_t kSimulatedCopyBytes = std::int64_t{1} << 20;

bool has_either(std::string_view text, std::string_view one, std::string_view other) {
  return text.find(one) != std::string_view::npos || text.find(other) != std::string_view::npos;
}

using CallsByCorrelation = std::unordered_map<std::int64_t, const HostCall*>;

CallsByCorrelation calls_of(const RankEvents& events) {
  CallsByCorrelation calls;
  calls.reserve(events.calls.size());
  for (const HostCall& call : events.calls) {
    if (call.correlation >= 0) calls.try_emplace(call.correlation, &call);
  }
  return calls;
}

// The call that launched it; null: it was lost.
const HostCall* call_of(const DeviceActivity& activity, const CallsByCorrelation& calls) {
  const auto found = calls.find(activity.correlation);
  return found == calls.end() ? nullptr : found->second;
}

std::int64_t launch_of(const DeviceActivity& activity, const HostCall* call) {
  return call == nullptr ? activity.start - kLostLaunchNs : std::min(call->start, activity.start);
}

class Builder {
 public:
  Builder(const RankEvents& events, const Annotation* step)
      : events_{events},
        from_{step != nullptr ? step->start : -kAlways},
        to_{step != nullptr ? step->end() : kAlways},
        categories_(events.names.size()) {}

  RankItems build() {
    add_items();
    order();
    number_streams();
    mark_static_splits();
    name_communication();
    add_host_waits();
    return std::move(result_);
  }

 private:
  void add_items() {
    const CallsByCorrelation calls = calls_of(events_);
    for (std::size_t i = 0; i < events_.activities.size(); ++i) {
      const DeviceActivity& activity = events_.activities[i];
      Item item;
      item.start = activity.start;
      item.duration = activity.duration;
      item.activity = static_cast<std::uint32_t>(i);
      const HostCall* call = call_of(activity, calls);
      item.launch = launch_of(activity, call);
      item.call_end = call == nullptr ? item.launch : call->end();
      if (call != nullptr) item.thread = call->thread;
      item.of_graph = call != nullptr && call->kind == HostCall::Kind::kGraphLaunch;
      if (item.launch < from_ || item.launch >= to_) {
        if (item.launch < from_) {
          result_.gpu_free = result_.has_work_before ? std::max(result_.gpu_free, item.end()) : item.end();
          result_.has_work_before = true;
        }
        continue;
      }
      if (item.thread < 0) ++result_.lost_launches;
      if (activity.kind == DeviceActivity::Kind::kGraph) ++result_.whole_graphs;
      classify(activity, item);
      result_.items.push_back(std::move(item));
    }
  }

  static Category category_of(std::string_view name) {
    if (!is_communication_kernel(name)) return kernel_category(name);
    return collective_of_kernel(name) == coll::Collective::kAllToAll ? Category::kCommExpert : Category::kCommOther;
  }

  void classify(const DeviceActivity& activity, Item& item) {
    const std::string& name = events_.names[activity.name];
    if (activity.kind == DeviceActivity::Kind::kKernel) {
      std::optional<Category>& known = categories_[activity.name];
      if (!known) known = category_of(name);
      item.category = *known;
      return;
    }
    if (activity.kind == DeviceActivity::Kind::kMemset || activity.kind == DeviceActivity::Kind::kGraph) return;
    item.category = Category::kIo;
    const bool inwards = has_either(name, "HtoD", "HostToDevice");
    const bool crosses = inwards || has_either(name, "DtoH", "DeviceToHost");
    if (crosses && activity.bytes >= kSimulatedCopyBytes && name.find("Pageable") == std::string::npos) {
      item.kind = OpKind::kCopy;
      item.inwards = inwards;
    }
  }

  // In order of launch; within a stream in order of start, whatever threads launched.
  void order() {
    std::vector<Item>& items = result_.items;
    std::ranges::stable_sort(items, {}, &Item::start);
    std::map<std::int64_t, std::int64_t> latest;
    for (Item& item : items) {
      std::int64_t& last = latest.try_emplace(stream_of(item), item.launch).first->second;
      item.launch = last = std::max(last, item.launch);
    }
    std::ranges::stable_sort(items, {}, &Item::launch);
  }

  [[nodiscard]] std::int64_t stream_of(const Item& item) const { return events_.activities[item.activity].stream; }

  void number_streams() {
    std::map<std::int64_t, std::int64_t> compute;
    for (const Item& item : result_.items) compute[stream_of(item)] += is_compute(item.category) ? item.duration : 0;
    for (const auto& [stream, time] : compute) result_.streams.push_back(stream);
    std::ranges::stable_sort(result_.streams, std::greater{}, [&](std::int64_t stream) { return compute[stream]; });
    std::map<std::int64_t, std::uint32_t> number;
    for (std::size_t i = 0; i < result_.streams.size(); ++i) number[result_.streams[i]] = static_cast<std::uint32_t>(i);
    for (Item& item : result_.items) item.stream = number[stream_of(item)];
  }

  void mark_static_splits() {
    std::vector<bool> after_memset(result_.streams.size(), false);
    for (Item& item : result_.items) {
      item.static_split = item.category == Category::kGemm && !after_memset[item.stream];
      after_memset[item.stream] = events_.activities[item.activity].kind == DeviceActivity::Kind::kMemset;
    }
  }

  // A kernel's own arguments, else those of its operator; else, of a grouped call, the operators on the launching thread
  // since the kernel of communication before it.
  void name_communication() {
    std::unordered_map<std::int64_t, std::uint32_t> by_external;
    for (const HostComm& host : events_.host_comms) {
      if (host.external >= 0) by_external.try_emplace(host.external, host.comm);
    }
    std::map<std::int64_t, std::vector<const HostComm*>> by_thread;
    for (const HostComm& host : events_.host_comms) by_thread[host.thread].push_back(&host);
    for (auto& [thread, comms] : by_thread) std::ranges::stable_sort(comms, {}, &HostComm::start);
    std::map<std::int64_t, std::size_t> used;
    for (Item& item : result_.items) {
      if (!is_communication(item.category)) continue;
      const DeviceActivity& activity = events_.activities[item.activity];
      const bool is_nccl = is_nccl_kernel(events_.names[activity.name]);
      std::vector<const HostComm*>& pending = by_thread[item.thread];
      std::size_t& next = used[item.thread];
      const std::size_t first = next;
      while (is_nccl && next < pending.size() && pending[next]->start <= item.launch) ++next;
      const auto external = by_external.find(activity.external);
      if (activity.external >= 0 && external != by_external.end()) {
        add_part(item, external->second, activity.comm);
      } else if (activity.comm != kNone) {
        add_part(item, activity.comm, kNone);
      } else {
        for (std::size_t i = first; i < next; ++i) add_part(item, pending[i]->comm, kNone);
      }
      if (item.parts.empty()) {
        ++result_.unnamed_collectives;
      } else {
        item.category = comm_category(item.parts.front(), events_.comms[item.parts.front().comm]);
      }
    }
  }

  void add_part(Item& item, std::uint32_t comm, std::uint32_t fallback) {
    CommPart part;
    if (!part_of(events_.comms[comm], part)) {
      if (fallback == kNone || !part_of(events_.comms[fallback], part)) return;
      comm = fallback;
    }
    part.comm = comm;
    const CommCall& call = events_.comms[comm];
    if (!part.has_known_type) result_.odd_types.add(std::string{call.dtype});
    // Collectives of one kind and group in one kernel move their bytes together.
    for (CommPart& known : item.parts) {
      if (part.kind == OpKind::kCollective && known.kind == part.kind && known.collective == part.collective &&
          events_.comms[known.comm].group == call.group) {
        known.bytes = std::min(known.bytes + part.bytes, kLargestTask.count());
        return;
      }
    }
    item.parts.push_back(part);
  }

  void add_host_waits() {
    std::size_t next = 0;
    std::vector<std::uint32_t> last(result_.streams.size(), kNone);
    const std::vector<Item>& items = result_.items;
    const auto advance = [&](std::int64_t to) {
      for (; next < items.size() && items[next].launch < to; ++next) {
        const Item& item = items[next];
        last[item.stream] = static_cast<std::uint32_t>(next);
        // A copy that the host had to wait for.
        const bool is_copy = events_.activities[item.activity].kind == DeviceActivity::Kind::kMemcpy;
        if (is_copy && item.thread >= 0 && item.call_end >= item.end()) {
          result_.host_waits.push_back({item.launch, item.call_end, {static_cast<std::uint32_t>(next)}});
        }
      }
    };
    for (const HostCall& call : events_.calls) {
      const bool all = call.kind == HostCall::Kind::kDeviceSync;
      if (!all && call.kind != HostCall::Kind::kStreamSync && call.kind != HostCall::Kind::kEventSync) continue;
      if (call.start < from_ || call.start >= to_) continue;
      advance(call.start);
      HostWait wait{call.start, call.end(), {}};
      for (const std::uint32_t item : last) {
        // Which stream is not said: what ended while the host waited.
        if (item != kNone && (all || (items[item].end() > call.start && items[item].end() <= call.end())))
          wait.waits.push_back(item);
      }
      if (!wait.waits.empty()) result_.host_waits.push_back(std::move(wait));
    }
    advance(to_);
    std::ranges::stable_sort(result_.host_waits, {}, &HostWait::start);
  }

  const RankEvents& events_;
  std::int64_t from_;
  std::int64_t to_;
  std::vector<std::optional<Category>> categories_;  // of kernels, by name
  RankItems result_;
};

}  // namespace

namespace {

std::vector<std::int64_t> sorted_launches(const RankEvents& events) {
  const CallsByCorrelation calls = calls_of(events);
  std::vector<std::int64_t> launches;
  launches.reserve(events.activities.size());
  for (const DeviceActivity& activity : events.activities) launches.push_back(launch_of(activity, call_of(activity, calls)));
  std::ranges::sort(launches);
  return launches;
}

}  // namespace

std::int64_t held_by_host(const RankItems& rank) {
  std::vector<const Item*> by_start;
  by_start.reserve(rank.items.size());
  for (const Item& item : rank.items) by_start.push_back(&item);
  std::ranges::stable_sort(by_start, {}, &Item::start);
  std::int64_t busy_until = std::max(rank.host_begin, rank.gpu_free);
  std::int64_t held = 0;
  for (const Item* item : by_start) {
    if (item->start > busy_until && item->launch > busy_until) held += item->start - busy_until;
    busy_until = std::max(busy_until, item->end());
  }
  return held + std::max<std::int64_t>(0, rank.end - busy_until);
}

std::vector<std::int64_t> steps_with_work(const RankEvents& events) {
  const std::vector<std::int64_t> launches = sorted_launches(events);
  std::vector<std::int64_t> numbers;
  for (const Annotation& step : events.steps) {
    const auto next = std::ranges::lower_bound(launches, step.start);
    if (next != launches.end() && *next < step.end()) numbers.push_back(step.number);
  }
  return numbers;
}

std::size_t outside_steps(const RankEvents& events) {
  if (events.steps.empty()) return 0;
  std::vector<Annotation> steps = events.steps;
  std::ranges::sort(steps, {}, &Annotation::start);
  std::size_t outside = 0;
  std::size_t next = 0;
  std::int64_t until = steps.front().start;
  for (const std::int64_t launch : sorted_launches(events)) {
    for (; next < steps.size() && steps[next].start <= launch; ++next) until = std::max(until, steps[next].end());
    if (next == 0 || launch >= until) ++outside;
  }
  return outside;
}

RankItems items_of(const RankEvents& events, const Annotation* step) {
  RankItems result = Builder{events, step}.build();
  if (result.items.empty()) return result;
  const Item& first = result.items.front();
  result.host_begin = result.end = first.launch;
  if (step != nullptr) {
    result.host_begin = step->start;
    result.end = step->end();
  }
  for (const Item& item : result.items) result.end = std::max(result.end, item.end());
  if (result.has_work_before) return result;
  // The work that kept the GPU busy before may have been left out of the file. Without an annotation the first start on the GPU
  // counts.
  const bool counts_from_gpu = first.thread >= 0 && (step == nullptr || first.start - first.launch > kLateNs);
  result.gpu_free = counts_from_gpu ? first.start : result.host_begin;
  return result;
}

}  // namespace weft::work::kineto
