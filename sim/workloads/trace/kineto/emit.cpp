#include "sim/workloads/trace/kineto/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace weft::work::kineto {
namespace {

// Host time is booked in pieces of at least this: launches closer together count as one.
constexpr std::int64_t kHostPieceNs = 10'000;

class Emitter {
 public:
  Emitter(const RankTrace& rank, std::int64_t origin) : rank_{rank}, origin_{origin}, operations_(rank.items.items.size()) {
    for (const std::int64_t stream : rank.items.streams) builder_.stream(fmt::format("stream {}", stream));
    host_stream_ = builder_.stream("host");
    last_.resize(rank.items.streams.size(), kNone);
  }

  EmittedRank run(std::int64_t host_end) {
    const std::vector<Item>& items = rank_.items.items;
    const std::vector<HostWait>& waits = rank_.items.host_waits;
    host_ = rank_.items.host_begin;
    // How much later than the first rank's this rank's host began.
    add_host(OpKind::kHostDelay, origin_, std::max<std::int64_t>(0, host_ - origin_), kStartDelay, {});
    add_lead();
    std::size_t wait = 0;
    for (std::uint32_t i = 0; i < items.size(); ++i) {
      while (wait < waits.size() && waits[wait].start < items[i].launch) add_host_wait(waits[wait++]);
      if (items[i].launch - host_ >= kHostPieceNs) delay_until(items[i].launch);
      add_item(i);
    }
    if (host_end > host_) {
      while (wait < waits.size()) add_host_wait(waits[wait++]);
      delay_until(host_end);
    }
    result_.program = builder_.take();
    return std::move(result_);
  }

 private:
  OpIndex add(const Operation& op, std::string_view name, std::int64_t start, std::int64_t duration,
              std::span<const OpIndex> waits, int blocks = 0) {
    const OpIndex index = builder_.add(op, name, waits);
    result_.recorded.push_back({.start = Duration::from_ns(start - origin_),
                                .duration = Duration::from_ns(duration),
                                .blocks = static_cast<std::int16_t>(std::clamp(blocks, 0, 32767))});
    return index;
  }

  void add_host(OpKind kind, std::int64_t start, std::int64_t duration, std::string_view name, std::span<const OpIndex> waits) {
    Operation op;
    op.kind = kind;
    op.category = Category::kHost;
    op.stream = host_stream_;  // holds nothing else
    op.launched = false;
    if (kind == OpKind::kHostDelay) op.duration = Duration::from_ns(duration);
    add(op, name, start, duration, waits);
  }

  // The GPU is busy with what was launched before the step while the host is ahead of it.
  void add_lead() {
    const std::int64_t lead = rank_.items.gpu_free - rank_.items.host_begin;
    if (lead <= 0) return;
    Operation op;
    op.kind = OpKind::kMarker;
    op.category = Category::kHost;
    op.stream = builder_.stream("before the step");
    op.launched = false;
    op.duration = Duration::from_ns(lead);
    lead_ = add(op, kHostLead, rank_.items.host_begin, lead, {});
  }

  // The launch queue is not simulated: what the host waited for room in it is no work of its own.
  [[nodiscard]] std::int64_t held_up(std::int64_t from, std::int64_t to) const {
    std::int64_t sum = 0;
    for (const Annotation& full : rank_.events.queue_full) {
      sum += std::max<std::int64_t>(0, std::min(to, full.end()) - std::max(from, full.start));
    }
    return std::min(sum, to - from);
  }

  void delay_until(std::int64_t moment) {
    if (moment <= host_) return;
    const std::int64_t own = moment - host_ - held_up(host_, moment);
    if (own > 0) add_host(OpKind::kHostDelay, host_, own, "host", {});
    host_ = moment;
  }

  // The host goes on when what it waits for has ended: until the call returns, the time is its own.
  void add_host_wait(const HostWait& wait) {
    std::vector<OpIndex> waits;
    std::int64_t ended = wait.start;
    for (const std::uint32_t item : wait.waits) {
      append(waits, item);
      ended = std::max(ended, rank_.items.items[item].end());
    }
    if (waits.empty()) return;
    delay_until(wait.start);
    add_host(OpKind::kHostSync, wait.start, wait.end - wait.start, "synchronize", waits);
    host_ = std::max(host_, std::min(ended, wait.end));
  }

  void append(std::vector<OpIndex>& waits, std::uint32_t item) const {
    waits.insert(waits.end(), operations_[item].begin(), operations_[item].end());
  }

  [[nodiscard]] std::vector<OpIndex> waits_of(const Item& item) const {
    std::vector<OpIndex> waits;
    for (const std::uint32_t wait : item.waits) append(waits, wait);
    if (lead_ != kNoOp && last_[item.stream] == kNone && item.start >= rank_.items.gpu_free) waits.push_back(lead_);
    // A grouped kernel before it on its stream may have put work on streams beside; it waits for that.
    if (last_[item.stream] != kNone && operations_[last_[item.stream]].size() > 1) append(waits, last_[item.stream]);
    return waits;
  }

  void add_item(std::uint32_t index) {
    const Item& item = rank_.items.items[index];
    const DeviceActivity& activity = rank_.events.activities[item.activity];
    const std::vector<OpIndex> waits = waits_of(item);
    const bool simulated = !item.parts.empty() && std::ranges::all_of(item.parts, &CommPart::matched);
    Operation op;
    op.stream = static_cast<std::uint8_t>(std::min<std::uint32_t>(item.stream, 255));
    op.category = item.category;
    op.launched = false;
    const std::string& name = rank_.events.names[activity.name];
    if (simulated) {
      for (std::size_t p = 0; p < item.parts.size(); ++p) add_part(index, item.parts[p], p, waits);
    } else {
      op.kind = item.kind;
      op.bytes = Bytes{activity.bytes};
      op.slot = item.inwards ? kInwards : 0;
      op.duration = Duration::from_ns(item.duration + item.gap);
      op.fills_gpu = item.category == Category::kGemm;
      op.weight_gradient = item.static_split;
      operations_[index].push_back(add(op, name, item.start, item.duration, waits));
    }
    last_[item.stream] = index;
  }

  void add_part(std::uint32_t index, const CommPart& part, std::size_t number, const std::vector<OpIndex>& before) {
    const Item& item = rank_.items.items[index];
    const DeviceActivity& activity = rank_.events.activities[item.activity];
    const std::string& name = part.comm == kNone ? rank_.events.names[activity.name] : rank_.events.comms[part.comm].name;
    Operation op;
    op.kind = part.kind;
    op.category = item.category;
    op.collective = part.collective;
    if (part.fixed_ns >= 0) {
      op.duration = Duration::from_ns(std::max<std::int64_t>(1, part.fixed_ns));
    } else {
      op.bytes = Bytes{part.bytes};
    }
    op.element_size = part.element_size;
    op.one_way = std::ranges::all_of(item.parts, [&](const CommPart& other) { return other.kind == part.kind; });
    op.launched = false;
    op.slot = part.kind == OpKind::kCollective ? slot_of(result_.groups, part.group) : slot_of(result_.peers, part.peer);
    op.stream = static_cast<std::uint8_t>(item.stream);
    std::vector<OpIndex> waits = before;
    if (number > 0) {
      // Parts of one kernel run side by side.
      op.stream = builder_.stream(fmt::format("stream {} beside {}", rank_.items.streams[item.stream], number));
      if (last_[item.stream] != kNone) append(waits, last_[item.stream]);
    }
    operations_[index].push_back(add(op, name, item.start, item.duration, waits, activity.blocks));
  }

  template <typename Value>
  static std::uint16_t slot_of(std::vector<Value>& slots, Value value) {
    auto at = std::ranges::find(slots, value);
    if (at == slots.end()) at = slots.insert(at, value);
    return static_cast<std::uint16_t>(at - slots.begin());
  }

  const RankTrace& rank_;
  std::int64_t origin_;
  std::vector<std::vector<OpIndex>> operations_;  // by item
  std::vector<std::uint32_t> last_;               // by stream: the last item
  RankProgramBuilder builder_;
  EmittedRank result_;
  std::uint8_t host_stream_ = 0;
  OpIndex lead_ = kNoOp;
  std::int64_t host_ = 0;
};

}  // namespace

EmittedRank emit(const RankTrace& rank, std::int64_t origin, std::int64_t host_end) {
  return Emitter{rank, origin}.run(host_end);
}

}  // namespace weft::work::kineto
