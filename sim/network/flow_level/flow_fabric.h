// Flow fidelity: transfers share resources max-min fairly, and each drains at its share until shares change.
//
// Model: rates follow every arrival and departure at once (no congestion-control transients), queues are empty, and no port
// pauses another; latency is charged after the last byte has left and takes no capacity (models/network §6.3; what this misses:
// models/network §6.5). A completion is rounded once, up to the next picosecond.
//
// The part that is solved again, once per instant, is bounded. A transfer never moves faster than its *limit*: its cap, or what
// its narrowest resource gives it alone. A resource is *tight* where its transfers at their limits would together take more
// than it has. Any other limits nobody, so that its transfers do not depend on each other. An arrival or departure that touches
// no tight resource is felt by nobody. Else it is felt no further than rates change for it, in the connected component over
// tight resources (flow_solve.cpp). Resources that all footprints take alike are solved as one (bundles.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/fair_share.h"
#include "sim/core/simulator.h"
#include "sim/core/timer.h"
#include "sim/network/fabric.h"
#include "sim/network/flow_level/bundles.h"
#include "sim/network/topology.h"

namespace weft::net {

// Hears how fast each transfer and each shadow moves, as its rate changes: `tag` is its own, `rate` in bytes per picosecond, 0
// once all has left. Rates of one instant may change several times.
class RateListener {
 public:
  virtual void on_rate(std::uint64_t tag, double rate) = 0;
  virtual void on_shadow_rate(std::uint64_t tag, double rate) = 0;

 protected:
  ~RateListener() = default;
};

class Rerouting;

class FlowFabric final : public Fabric, private EventTarget {
 public:
  // One resource per link of the topology, with its capacity. Both must outlive the fabric.
  FlowFabric(Simulator& simulator, const Topology& topology);
  ~FlowFabric() override;  // notes the memory it held (sim/core/memory.h)
  FlowFabric(const FlowFabric&) = delete;
  FlowFabric& operator=(const FlowFabric&) = delete;

  ResourceId add_resource(std::string name, double capacity) override;
  [[nodiscard]] std::string resource_name(ResourceId resource) const override;
  [[nodiscard]] double capacity(ResourceId resource) const override { return solver_.capacity(bundle(resource)); }
  [[nodiscard]] std::size_t resource_count() const override { return bundles_.resource_count(); }
  FootprintId add_footprint(Footprint footprint) override;
  [[nodiscard]] const Footprint& footprint(FootprintId footprint) const override { return footprints_[footprint.index()]; }
  [[nodiscard]] std::size_t footprint_count() const { return footprints_.size(); }
  // Other resources for some footprints, ascending, with the same paths: what moves over them goes on there with what it has
  // left.
  void replace(std::vector<std::pair<FootprintId, Footprint>> changed);
  // Transfers over these footprints, ascending, stand still with what they have left, and so do those posted on them, until
  // they may go on or are aborted. Each call walks over all transfers once.
  void hold(std::span<const FootprintId> footprints);
  void go_on(std::span<const FootprintId> footprints);
  void abort_held(std::span<const FootprintId> footprints);
  [[nodiscard]] bool is_held(FootprintId footprint) const {
    return footprint.index() < held_.size() && held_[footprint.index()];
  }
  void set_transport(FootprintId footprint, const FlowTransport& transport) override;
  TransferId post(const Transfer& transfer, TransferListener& listener) override;
  // Stands for what another fabric moves: it takes its share of every resource, but no counter has its bytes, and the
  // footprint's own rate does not hold it back.
  TransferId post_shadow(const Transfer& transfer, TransferListener& listener);
  // Before anything is posted, and where no paths are replaced.
  void listen(RateListener& rates) { rates_ = &rates; }
  void cut_short(TransferId transfer) override;
  void set_rate_cap(TransferId transfer, Bandwidth cap) override;
  void fail(ResourceId resource) override;
  void restore(ResourceId resource) override;
  // By way of a Rerouting that is made with the first change.
  void set_link_state(Router& router, std::span<const LinkId> links, bool up, bool returns) override;
  [[nodiscard]] ResourceCounters counters(ResourceId resource) const override;
  [[nodiscard]] const FabricTotals& totals() const override { return totals_; }
  // Transfers that move again get the slots, and so the place in every sum, that they would get in a new fabric.
  [[nodiscard]] bool is_idle() const override { return live_ == 0 && dirty_.empty(); }
  void mark_counters() override;
  void repeat_counted(std::int64_t times) override;
  void check_conservation() const override;

  [[nodiscard]] double moved_bytes(TransferId transfer) const override;
  // Every resource counts as tight from now on, for tests: the same rates from larger solves. Before anything is posted.
  void solve_whole_components() { all_tight_ = true; }
  // Present rate of a transfer in flight, bytes per picosecond; settled once the instant's solve has run.
  [[nodiscard]] double rate(TransferId transfer) const { return flows_[transfer.index()].rate; }

 private:
  enum class State : std::uint8_t { kFree, kMoving, kHeld, kInFlight, kRefused };
  // A resource is not tight; or tight with room for more, so that it keeps nobody back; or full, or to be solved.
  enum class Standing : std::uint8_t { kLoose, kOpen, kClosed };
  static constexpr std::uint32_t kNowhere = 0xFFFF'FFFF;

  // Fields that solves look at come first.
  struct Flow {
    std::uint64_t visited = 0;      // round of the flood that met it
    std::uint32_t generation = 0;   // of the slot's use
    std::uint32_t first_tight = 0;  // into tight_usages_, in that round
    std::uint32_t tight_count = 0;
    std::uint32_t footprint = 0;
    double limit = FairShareSolver::kNoCap;  // the cap, or what its path gives it alone
    double bound = 0;                        // the limit, or what resources that are not solved with it leave it
    double weight = 1;
    double rate = 0;  // bytes per picosecond
    std::uint32_t heap_position = kNowhere;
    State state = State::kFree;
    std::uint8_t priority = 0;
    bool shadow = false;
    double remaining = 0;  // bytes at `updated`
    Time updated;
    TransferListener* listener = nullptr;
    std::uint64_t tag = 0;
    double cap = FairShareSolver::kNoCap;  // bytes per picosecond
    std::int64_t bytes = 0;
    double before = 0;  // bytes that had left when it took its present path
    Duration latency;
    std::uint32_t next_free = kNowhere;
  };
  static constexpr double kPartsOfByte = 1 << 30;  // bytes on a resource are counted in such parts: usages are fractions
  // A flow on a resource; stale where the flow has ended.
  struct Entry {
    std::uint32_t flow = 0;
    std::uint32_t generation = 0;
  };
  // Whole numbers, so that a sum does not depend on its order, nor on how often it was begun anew.
  struct Counted {
    Int128 byte_parts = 0;
    Duration busy;
    std::uint64_t transfers = 0;
  };
  struct ResourceState {
    std::vector<Entry> flows;  // moving over it, and stale ones until they are many
    double load = 0;           // of the flows moving over it, at their limits
    double tight_from = 0;     // a load of two flows
    double moves = 0;          // of the flows moving over it, at their rates; where it is tight
    double level = 0;          // what none of them has more of for its weight; where it is full
    double change = 0;         // of `moves`, in the round `beyond`
    Counted counted;           // of transfers that ended
    Time busy_since;
    std::uint64_t visited = 0;
    std::uint64_t beyond = 0;
    std::uint32_t live = 0;  // flows moving over it
    bool dirty = false;
    bool failed = false;
  };

  void on_event(std::uint64_t payload) override;  // a delivery: payload is the flow
  TransferId post(const Transfer& transfer, TransferListener& listener, bool shadow);
  void tell_rate(const Flow& flow, double rate) const {
    if (rates_ == nullptr) return;
    if (flow.shadow) {
      rates_->on_shadow_rate(flow.tag, rate);
    } else {
      rates_->on_rate(flow.tag, rate);
    }
  }
  void complete();  // the earliest completions
  [[nodiscard]] ResourceId bundle(ResourceId resource) const { return ResourceId{bundles_.of(resource)}; }
  void add_bundle(double capacity);
  void take_parts(std::span<const Bundles::Split> splits);
  // visit(bundle, usage)
  template <typename Visit>
  void for_each_usage(std::uint32_t footprint, Visit visit) const {
    bundles_.for_each(FootprintId{footprint}, footprints_[footprint].usages, visit);
  }
  void mark_dirty(std::uint32_t bundle);
  [[nodiscard]] bool is_tight(std::uint32_t bundle) const { return standing_[bundle] != Standing::kLoose; }
  [[nodiscard]] double alone(std::uint32_t footprint) const;
  void update_tight(std::uint32_t bundle);
  [[nodiscard]] bool is_on_its_way(const Entry& entry) const {
    return flows_[entry.flow].generation == entry.generation && flows_[entry.flow].state == State::kMoving;
  }
  void drop_stale(ResourceState& resource);
  void begin(std::uint32_t index);                          // lets a moving flow share, or ends it where it has nothing to
  void enter(std::uint32_t index);                          // puts a moving flow on its resources; arms what follows
  void leave(std::uint32_t index, double moved);            // takes it off again, after so many of its bytes
  [[nodiscard]] double bytes_left(const Flow& flow) const;  // bytes, now
  void release(std::uint32_t index);
  void abort(std::uint32_t index);
  // Those in that state on any of the footprints, by footprint.
  [[nodiscard]] std::vector<std::uint32_t> flows_on(std::span<const FootprintId> footprints, State state) const;
  [[nodiscard]] bool is_cut(std::uint32_t footprint) const;  // it uses a resource that failed
  void deliver_later(std::uint32_t index, Duration latency);
  [[nodiscard]] Time finish_at(const Flow& flow) const;  // at its present rate
  void set_rate(std::uint32_t index, double rate);
  void arm();

  // flow_solve.cpp
  void solve();
  void solve_from(std::uint32_t seed);
  void flood(std::uint32_t seed, bool whole);
  void sort_component_flows();
  bool reaches_others();
  void set_rates();
  void settle();

  // flow_heap.cpp: indexed 4-ary heap of moving flows by (finish, index). A starved flow's finish is Time::max().
  struct HeapEntry {
    Time finish;
    std::uint32_t index = 0;
  };
  [[nodiscard]] static bool finishes_before(const HeapEntry& a, const HeapEntry& b) {
    return a.finish != b.finish ? a.finish < b.finish : a.index < b.index;
  }
  void heap_update(std::uint32_t index, Time finish);
  void heap_remove(std::uint32_t index);
  void heap_rebuild();
  void place(std::uint32_t position, const HeapEntry& entry) {
    heap_[position] = entry;
    flows_[entry.index].heap_position = position;
  }
  void sift_up(std::uint32_t position);
  void sift_down(std::uint32_t position);

  Simulator& simulator_;
  const Topology& topology_;
  ComponentId component_;
  Timer completion_;
  Timer solve_;
  FairShareSolver solver_;
  Bundles bundles_;
  std::vector<ResourceState> resources_;  // by bundle, as all that the solver knows
  std::vector<std::string> extra_names_;
  std::vector<Footprint> footprints_;
  std::vector<double> alone_;  // by footprint: what its narrowest resource gives a transfer alone; kNoCap: it has none
  std::vector<Flow> flows_;
  std::uint32_t first_free_ = kNowhere;  // of the slots below unused_
  std::uint32_t unused_ = 0;             // slots from here on have not been used since the fabric was idle
  std::uint32_t live_ = 0;
  std::vector<HeapEntry> heap_;
  std::vector<std::uint32_t> dirty_;  // bundles
  std::uint64_t round_ = 0;
  std::vector<std::uint32_t> component_resources_;
  std::vector<std::uint32_t> beyond_;  // tight resources that are not solved, with flows whose rates change
  std::vector<std::uint32_t> component_flows_;
  std::vector<std::uint64_t> in_component_;  // scratch of sort_component_flows(), a bit for each flow
  std::vector<Usage> tight_usages_;          // of the component's flows
  std::vector<FairShareFlow> problem_;
  std::vector<Standing> standing_;  // by bundle
  bool all_tight_ = false;
  bool many_priorities_ = false;  // of what was posted since the fabric was idle, as what follows
  std::uint8_t first_priority_ = 0;
  std::size_t whole_work_ = 0;            // usages in the last solve of all that hung together
  int doubts_ = 0;                        // changes in a row that were followed in vain
  int doubtful_ = 0;                      // changes that are not to be followed
  std::uint32_t failed_ = 0;              // resources
  std::vector<bool> held_;                // footprints; empty: none ever was
  std::vector<Bandwidth> paces_;          // by footprint, of its own transport; 0, or beyond the end: none
  std::unique_ptr<Rerouting> rerouting_;  // null: no link has changed yet
  RateListener* rates_ = nullptr;
  FabricTotals totals_;
  std::vector<Counted> marked_;  // by bundle; empty: never

 public:
  // Bytes of a port in a bundle of its own, of a transfer and of each resource of its path. Plans of a run's memory ask for
  // them.
  static constexpr std::size_t kPortBytes = sizeof(ResourceState) + sizeof(Standing) + sizeof(double) + sizeof(std::uint32_t) +
                                            sizeof(std::uint64_t) + Bundles::kBytes;
  static constexpr std::size_t kTransferBytes = sizeof(Flow) + sizeof(HeapEntry) + sizeof(double);
  static constexpr std::size_t kUsageBytes = sizeof(Usage) + sizeof(Entry);
};

}  // namespace weft::net
