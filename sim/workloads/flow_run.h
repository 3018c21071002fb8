// Posts a list of flows on a machine's fabric, each at its times, and keeps when they started and ended.
//
//   FlowRun run{machine, workload, settings, seed};
//   run.start();                  // schedules the first post of every flow
//   machine.simulator.run();
//
// A flow is one queue pair: a footprint, on which its messages follow each other. Packets see to that themselves; at flow
// fidelity a message is held back until the one before has left its source.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/random.h"
#include "sim/network/machine.h"
#include "sim/workloads/workload.h"

namespace weft::work {

struct FlowResult {
  Bytes bytes;             // posted; of a flow that was cut short or goes on: delivered
  Time start;              // of its first message
  Time end = Time::max();  // of its last one; max: it did not end
  FootprintId footprint = {};
  TransferId transfer = {};  // the last that was posted
  bool aborted = false;
};

// A flow that was aborted.
struct FlowCut {
  std::size_t flow = 0;
  Time at;
  std::string why;
};

// Counts of a flow of several messages.
struct MessageCounts {
  std::int64_t posted = 0;
  std::int64_t delivered = 0;
  Bytes delivered_bytes;
  double latency_ps = 0;  // summed over messages, from post to delivery
  Duration max_latency;
};

class FlowRun final : private net::TransferListener, private EventTarget {
 public:
  // All must outlive the run; flows keep their order as ids.
  FlowRun(net::Machine& machine, const Workload& workload, std::uint64_t seed);

  void start();
  // The flow's queue pair; made at its first message, or when first asked for.
  FootprintId footprint(std::size_t flow);
  // Payload that has reached its receiver (at flow fidelity: left its source) so far.
  [[nodiscard]] double delivered_bytes(std::size_t flow) const;
  // Data bytes on the wire over payload bytes, of its full packets; 1 at flow fidelity.
  [[nodiscard]] double wire_share(std::size_t flow) const;

  [[nodiscard]] const std::vector<FlowResult>& results() const { return results_; }
  [[nodiscard]] const MessageCounts* messages(std::size_t flow) const;  // null: it is one message
  [[nodiscard]] std::size_t unfinished() const;
  [[nodiscard]] const std::vector<FlowCut>& first_cuts() const { return first_cuts_; }  // at most kToldCuts
  static constexpr std::size_t kToldCuts = 8;
  // Brings `bytes` of the flows that are not finished up to date. After the run.
  void settle();
  [[nodiscard]] std::uint64_t digest() const;

 private:
  // A flow with options, and how far it is.
  struct Source {
    std::size_t flow = 0;
    std::uint32_t named_way = 0;  // of its key, once it is made
    MessageCounts counts;
    std::deque<Time> posts;  // of messages not yet delivered
    std::optional<RandomStream> random;
    double gap_ps = 0;         // mean, of Poisson arrivals
    std::int64_t held = 0;     // messages that wait for the one before, at flow fidelity
    FootprintId requests;      // of READs: their own queue pair
    std::int64_t reads = 0;    // asked for and not delivered
    std::int64_t waiting = 0;  // READs that are not asked for yet
    bool sending = false;      // a message has not left yet
    bool closed = false;       // posts nothing more
  };

  void on_event(std::uint64_t payload) override;
  void on_source_free(TransferId transfer, std::uint64_t flow) override;
  void on_delivered(TransferId transfer, std::uint64_t flow) override;
  void on_aborted(TransferId transfer, std::uint64_t flow) override;

  [[nodiscard]] net::Transfer transfer_of(std::size_t flow);
  [[nodiscard]] net::FlowKey key_of(std::size_t flow);
  void post(std::size_t flow);
  void start_now(std::size_t flow);
  void post_message(Source& source);
  void find_ways(std::size_t flow);
  FootprintId requests(Source& source);
  void post_request(Source& source);
  void send(Source& source);  // the data
  void send_next(Source& source);
  void post_next(Source& source);
  void stop(std::size_t flow);
  [[nodiscard]] bool in_packets(std::size_t flow) const;  // it has begun, and is packets
  [[nodiscard]] Source* source_of(std::size_t flow);
  [[nodiscard]] double mean_gap_ps(std::size_t flow);
  [[nodiscard]] Bytes payload_of(std::size_t flow, const net::LinkSpec& narrowest) const;
  [[nodiscard]] LinkId narrowest_link(std::size_t flow) const;

  net::Machine& machine_;
  const Workload& workload_;
  std::uint64_t seed_;
  ComponentId component_;
  std::vector<FlowResult> results_;
  std::vector<FlowCut> first_cuts_;
  std::vector<Source> sources_;  // by FlowItem::options - 1
  TriggerRun triggers_;
};

}  // namespace weft::work
