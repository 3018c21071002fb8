#include "sim/workloads/trace/kineto/stream_waits.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>

namespace weft::work::kineto {
namespace {

constexpr std::int64_t kClockGrainNs = 1'000;  // device timestamps of two streams agree to this
constexpr std::int64_t kSoonNs = 15'000;       // after the end it waited for
constexpr std::size_t kSignature = 12;
// So many instances of a pattern may contradict it, as timestamps are not perfect.
constexpr std::size_t kContradictedPerHundred = 3;

// Streams waiting and waited for, whether the later is communication, and the calls before its launch.
using Pattern = std::tuple<std::uint32_t, std::uint32_t, bool, std::string>;

struct Candidate {
  std::uint32_t later = 0;
  std::uint32_t earlier = 0;
  const Pattern* pattern = nullptr;
};

struct Evidence {
  std::size_t instances = 0;
  std::size_t contradicted = 0;
};

class Finder {
 public:
  Finder(const RankEvents& events, RankItems& rank)
      : events_{events}, items_{rank.items}, streams_{rank.streams}, gpu_free_{rank.gpu_free} {}

  StreamWaitCounts run() {
    if (!use_sync_events()) infer();
    use_data_waits();
    wait_around_graphs();
    find_gaps();
    return counts_;
  }

 private:
  [[nodiscard]] static bool follows(const Item& later, const Item& earlier) {
    return earlier.end() <= later.start + kClockGrainNs;
  }

  void add_wait(std::uint32_t later, std::uint32_t earlier) {
    std::vector<std::uint32_t>& waits = items_[later].waits;
    if (std::ranges::find(waits, earlier) == waits.end()) waits.push_back(earlier);
  }

  // The last item of the stream launched before a moment, and the first after it.
  [[nodiscard]] std::uint32_t last_before(std::int64_t stream, std::int64_t moment) const {
    std::uint32_t found = kNone;
    for (std::size_t i = 0; i < items_.size() && items_[i].launch < moment; ++i) {
      if (streams_[items_[i].stream] == stream) found = static_cast<std::uint32_t>(i);
    }
    return found;
  }
  [[nodiscard]] std::uint32_t first_after(std::int64_t stream, std::int64_t moment) const {
    auto at = std::ranges::lower_bound(items_, moment, {}, &Item::launch);
    while (at != items_.end() && streams_[at->stream] != stream) ++at;
    return at == items_.end() ? kNone : static_cast<std::uint32_t>(at - items_.begin());
  }

  bool use_sync_events() {
    std::unordered_map<std::int64_t, std::int64_t> start_of;
    for (const HostCall& call : events_.calls) {
      if (call.kind != HostCall::Kind::kOther) start_of.try_emplace(call.correlation, call.start);
    }
    bool any = false;
    for (const SyncEvent& sync : events_.syncs) {
      if (sync.stream < 0 || sync.on_stream < 0) continue;
      const auto wait = start_of.find(sync.correlation);
      const auto record = start_of.find(sync.record_correlation);
      if (wait == start_of.end() || record == start_of.end()) continue;
      any = true;
      const std::uint32_t later = first_after(sync.stream, wait->second);
      const std::uint32_t earlier = last_before(sync.on_stream, record->second);
      if (later == kNone || earlier == kNone || earlier >= later) continue;
      add_wait(later, earlier);
      ++counts_.recorded;
    }
    return any;
  }

  void use_data_waits() {
    if (events_.data_waits.empty()) return;
    std::unordered_map<std::uint32_t, std::uint32_t> item_of;  // by activity
    for (std::uint32_t i = 0; i < items_.size(); ++i) item_of.emplace(items_[i].activity, i);
    for (const auto& [reads, wrote] : events_.data_waits) {
      const auto later = item_of.find(reads);
      const auto earlier = item_of.find(wrote);
      if (later == item_of.end() || earlier == item_of.end()) continue;
      if (items_[later->second].stream == items_[earlier->second].stream) continue;
      if (earlier->second < later->second && follows(items_[later->second], items_[earlier->second])) {
        add_wait(later->second, earlier->second);
        ++counts_.of_data;
      } else {
        ++counts_.false_data;
      }
    }
  }

  void infer() {
    std::unordered_map<std::int64_t, std::vector<std::uint32_t>> launched_by;  // by correlation
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (items_[i].thread >= 0)
        launched_by[events_.activities[items_[i].activity].correlation].push_back(static_cast<std::uint32_t>(i));
    }
    std::map<std::int64_t, std::string> calls_on;  // by thread: since its last launch
    std::vector<std::string> signature(items_.size());
    for (const HostCall& call : events_.calls) {
      std::string& before = calls_on[call.thread];
      if (call.kind == HostCall::Kind::kStreamWait || call.kind == HostCall::Kind::kEventRecord) {
        if (before.size() < kSignature) before += call.kind == HostCall::Kind::kStreamWait ? 'W' : 'R';
        continue;
      }
      const auto launched = launched_by.find(call.correlation);
      if (launched == launched_by.end()) continue;
      std::set<std::uint32_t> begun;  // of a graph's kernels the first on each stream
      for (const std::uint32_t item : launched->second) {
        if (begun.insert(items_[item].stream).second) signature[item] = before;
      }
      before.clear();
    }
    weigh(signature);
  }

  void weigh(const std::vector<std::string>& signature) {
    std::vector<std::uint32_t> last(streams_.size(), kNone);
    std::map<Pattern, Evidence> evidence;
    std::vector<Candidate> candidates;
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      const Item& item = items_[i];
      if (signature[i].find('W') != std::string::npos) {
        for (std::uint32_t stream = 0; stream < streams_.size(); ++stream) {
          if (stream == item.stream || last[stream] == kNone) continue;
          const auto at = evidence.try_emplace({item.stream, stream, !item.parts.empty(), signature[i]}).first;
          ++at->second.instances;
          if (!follows(item, items_[last[stream]])) ++at->second.contradicted;
          candidates.push_back({i, last[stream], &at->first});
        }
      }
      last[item.stream] = i;
    }
    for (const Candidate& candidate : candidates) {
      const Evidence& of = evidence.at(*candidate.pattern);
      if (100 * of.contradicted > kContradictedPerHundred * of.instances) continue;
      if (!follows(items_[candidate.later], items_[candidate.earlier])) continue;
      add_wait(candidate.later, candidate.earlier);
      ++counts_.inferred;
    }
  }

  // A launch of a graph is ordered on the stream of its first kernel: what it puts on other streams waits for what was on that
  // one before, and what comes there next waits for all of it.
  void wait_around_graphs() {
    struct Graph {
      std::int64_t correlation = -1;
      std::uint32_t before = kNone;
      std::map<std::uint32_t, std::uint32_t> last = {};  // by stream
    };
    std::map<std::uint32_t, Graph> newest;                       // by the stream it is ordered on
    std::unordered_map<std::int64_t, std::uint32_t> ordered_on;  // by correlation
    std::vector<std::uint32_t> last(streams_.size(), kNone);
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      const std::uint32_t stream = items_[i].stream;
      const std::int64_t correlation = events_.activities[items_[i].activity].correlation;
      const bool begins = items_[i].of_graph && ordered_on.try_emplace(correlation, stream).second;
      const auto ended = newest.find(stream);
      if (ended != newest.end() && (begins || !items_[i].of_graph)) {
        for (const auto& [other, end] : ended->second.last) {
          if (other != stream && follows(items_[i], items_[end])) add_wait(i, end);
        }
        newest.erase(ended);
      }
      if (begins) newest[stream] = {.correlation = correlation, .before = last[stream]};
      last[stream] = i;
      if (!items_[i].of_graph) continue;
      const auto graph = newest.find(ordered_on.at(correlation));
      if (graph == newest.end() || graph->second.correlation != correlation) continue;
      const std::uint32_t before = graph->second.before;
      const bool is_first = graph->second.last.insert_or_assign(stream, i).second;
      if (is_first && stream != graph->first && before != kNone && follows(items_[i], items_[before])) add_wait(i, before);
    }
  }

  void find_gaps() {
    std::vector<std::uint32_t> last(streams_.size(), kNone);
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      Item& item = items_[i];
      std::int64_t ready = item.launch;
      if (last[item.stream] != kNone) ready = std::max(ready, items_[last[item.stream]].end());
      for (const std::uint32_t wait : item.waits) ready = std::max(ready, items_[wait].end());
      if (item.start >= gpu_free_) ready = std::max(ready, gpu_free_);
      // The host launches a graph's kernels at once: any pause among them is a wait.
      const std::int64_t late = item.of_graph && last[item.stream] != kNone ? kClockGrainNs : kLateNs;
      if (item.start - ready > late && item.parts.empty()) ready = std::max(ready, late_reason(i, last, ready));
      item.gap = std::max<std::int64_t>(0, item.start - ready);
      if (item.gap > kLateNs && item.parts.empty()) {
        ++counts_.unexplained;
        counts_.unexplained_ns += item.gap;
      }
      last[item.stream] = i;
    }
  }

  // An item of another stream that ended just before this one began is taken for what it waited for.
  std::int64_t late_reason(std::uint32_t index, const std::vector<std::uint32_t>& last, std::int64_t ready) {
    const Item& item = items_[index];
    std::uint32_t reason = kNone;
    for (const std::uint32_t newest : last) {
      if (newest == kNone || items_[newest].stream == item.stream) continue;
      // Among the stream's last few: what was launched later may still be waiting.
      std::uint32_t at = newest;
      for (int steps = 0; steps < 64; ++steps) {
        const Item& other = items_[at];
        if (other.stream == items_[newest].stream && other.end() > ready && follows(item, other) &&
            item.start - other.end() < kSoonNs && (reason == kNone || other.end() > items_[reason].end())) {
          reason = at;
        }
        if (at == 0) break;
        --at;
      }
    }
    if (reason == kNone) return ready;
    add_wait(index, reason);
    ++counts_.late;
    return items_[reason].end();
  }

  const RankEvents& events_;
  std::vector<Item>& items_;
  const std::vector<std::int64_t>& streams_;
  std::int64_t gpu_free_;
  StreamWaitCounts counts_;
};

}  // namespace

StreamWaitCounts find_stream_waits(const RankEvents& events, RankItems& rank) { return Finder{events, rank}.run(); }

}  // namespace weft::work::kineto
