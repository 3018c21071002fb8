// The section `measure` of a scenario, and the instrument that measures while the run goes on.
//
//   measure: {from: 5 ms, to: 25 ms, series: [queue, rate], of: ["s0->h1", 3], every: 1 us}
//
// Rates, utilizations, mean queues, marks and drops count from `from` to `to`; peaks start again at `from`. Without `measure`
// the whole run counts. Samples read the settled state of their instant (Phase::kSample) and change nothing: results and digest
// are the same with and without them.
//
// Quantities of links (named "a->b", or {link: "a->b", priority: 3}): queue and ingress (bytes), rate (Gb/s on the wire over
// the last interval). Of flows (by number): rate (Gb/s of payload over the last interval), rate_limit (Gb/s), window and
// outstanding (bytes), and the state variables of their congestion control, such as alpha.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/config/params.h"
#include "sim/network/fidelity.h"
#include "sim/network/machine.h"
#include "sim/workloads/flow_run.h"

namespace weft::scenario {

struct SeriesItem {
  std::string quantity;
  std::string of;    // the link's name, with "@3" for a priority; the flow's number
  LinkId link = {};  // invalid: of a flow
  int priority = -1;
  std::size_t flow = 0;
};

struct MeasureOptions {
  bool stated = false;
  Time from;
  std::optional<Time> to = {};
  Duration every;  // 0: no series
  std::vector<SeriesItem> series = {};
  bool drop_idle = false;  // series that are 0 throughout are left out, as nobody named them
};

inline constexpr double kMaxSamples = 500e6;  // of all series together

// The map under `measure`, of a scenario with `flows` flows that ends at `until` if not before.
[[nodiscard]] MeasureOptions read_measure(ParamReader& scenario, const net::Topology& topology, std::size_t flows,
                                          std::optional<Time> until, net::Fidelity fidelity);

struct Series {
  std::string quantity;
  std::string of;
  std::vector<double> values;  // at RunMeter::times()
};

struct PortResult {
  std::string name;
  double utilization = 0;  // bits that left over those that the link's rate allows
  std::int64_t packets = 0;
  std::int64_t peak_queue_bytes = 0;
  double mean_queue_bytes = 0;
  double mean_wait_ns = 0;  // of a packet, from joining the queue to the start of its transmission
  std::int64_t peak_ingress_bytes = 0;
  std::int64_t marks = 0;
  std::int64_t drops = 0;
  std::int64_t total_marks = 0;  // of the whole run
  std::int64_t total_drops = 0;
  Duration paused;
  Duration xmit_wait;  // for credits
};

struct FlowMeasure {
  double rate_gbps = 0;       // of payload
  double wire_rate_gbps = 0;  // with headers
};

class RunMeter final : private EventTarget {
 public:
  // `flows`: null where the workload has none. All must outlive the run.
  RunMeter(net::Machine& machine, const MeasureOptions& options, const work::FlowRun* flows);

  void start();
  // After the run; `end` closes a window that is still open.
  void finish(Time end);

  [[nodiscard]] Time from() const { return options_.from; }
  [[nodiscard]] Time to() const { return to_; }
  [[nodiscard]] const std::vector<Time>& times() const { return times_; }
  // After finish(). Ports that nothing passed and where nothing waited or was lost are left out.
  [[nodiscard]] std::vector<PortResult> ports() const;
  [[nodiscard]] std::vector<FlowMeasure> flow_rates() const;  // empty where no `measure` was stated
  [[nodiscard]] std::vector<Series> take_series();

 private:
  // The counters of one link that a difference of two can tell.
  struct Port {
    double bytes = 0;
    Duration busy;
    std::int64_t packets = 0;
    double queue_byte_ps = 0;
    double wait_ps = 0;
    std::int64_t marks = 0;
    std::int64_t drops = 0;
    Duration paused;
    Duration xmit_wait;
    std::int64_t peak_queue = 0;
    std::int64_t peak_ingress = 0;
  };
  struct Snapshot {
    std::vector<Port> ports;
    std::vector<double> flows;  // delivered payload bytes
  };

  void on_event(std::uint64_t kind) override;
  [[nodiscard]] Port port(LinkId link) const;
  [[nodiscard]] Snapshot snapshot() const;
  void sample();
  [[nodiscard]] double value_of(const SeriesItem& item, double& last) const;
  [[nodiscard]] double moved(const SeriesItem& item) const;  // what a rate counts, bytes

  net::Machine& machine_;
  const MeasureOptions& options_;
  const work::FlowRun* flows_;
  ComponentId component_;
  bool open_ = false;
  Time to_;
  Snapshot begin_;
  Snapshot end_;
  std::vector<Time> times_;
  std::vector<Series> series_;
  std::vector<double> last_;  // of rates: bytes at the last sample
};

}  // namespace weft::scenario
