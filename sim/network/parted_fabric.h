// Packet fidelity in parts that run side by side, for flows of one message each. Each part is a packet fabric with a clock and
// a router of its own, in which only its own links move. Packets, pauses and credits cross by mail (part_mail.h), between
// windows as long as the shortest link that is cut (sim/core/windowed_run.h).
//
// A link's port, its queues and its credits belong to the part where it begins, the memory behind it to the part where it ends.
// A queue pair has its sender in the part of its source and its receiver in that of its destination.
//
// The order of events follows from the cut, never from the number of threads. Model: things of one instant may take another
// order than in one part.
//
//   fabric.post_at(start, transfer);   // all, before the run; tags count up from 0
//   fabric.run();                      // CannotRunInParts: what happened needs a run in one part
//   fabric.delivered_at(tag);
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/memory.h"
#include "sim/core/simulator.h"
#include "sim/network/fabric.h"
#include "sim/network/packet_level/part_mail.h"
#include "sim/network/packet_level/settings.h"
#include "sim/network/packet_probe.h"
#include "sim/network/part_processes.h"
#include "sim/network/partition.h"
#include "sim/network/router.h"

namespace weft::net {

class PartFlows;     // packet_level/part_flows.h
struct PartReports;  // part_reports.h

// The least time from what happens in one part to what it does to another; max: they have no links between them.
[[nodiscard]] Duration lookahead(const Topology& topology, const Partition& partition, const PacketSettings& settings);

// Who runs the parts: `threads` of each of the processes; null: of this one alone.
struct PartHands {
  int threads = 1;
  PartProcesses* processes = nullptr;
};

class PartedFabric final : public Fabric, public PacketProbe {
 public:
  // `clock` has the events between windows: what is measured at a time. CannotRunInParts: the cut leaves one part, or a link
  // without latency. All references must outlive the fabric. With several processes run() ends with ServedOthers in all but the
  // first, which then tells what became of all parts; before the end each knows of its own alone.
  PartedFabric(Simulator& clock, const Router& router, std::string_view routing, const PacketSettings& settings,
               std::uint64_t seed, const Partition& partition, const PartHands& hands);
  ~PartedFabric() override;

  void post_at(Time start, const Transfer& transfer);
  void run();
  [[nodiscard]] Time delivered_at(std::uint64_t tag) const { return ends_[tag]; }  // max: it is not
  [[nodiscard]] std::uint64_t windows() const { return windows_; }
  [[nodiscard]] std::array<HeldMemory, kMemoryKinds> held() const;  // by all parts together

  ResourceId add_resource(std::string name, double capacity) override;
  [[nodiscard]] std::string resource_name(ResourceId resource) const override;
  [[nodiscard]] double capacity(ResourceId resource) const override;
  [[nodiscard]] std::size_t resource_count() const override;
  FootprintId add_footprint(Footprint footprint) override;
  [[nodiscard]] const Footprint& footprint(FootprintId footprint) const override { return footprints_[footprint.index()]; }
  void set_transport(FootprintId flow, const FlowTransport& transport) override;
  [[nodiscard]] PacketShape packet_shape() const override;
  [[nodiscard]] bool takes_packets(FootprintId /*footprint*/) const override { return true; }
  [[nodiscard]] bool sends_packets(const CrossesAny& /*crosses*/) const override { return true; }
  TransferId post(const Transfer& transfer, TransferListener& listener) override;
  void fail(ResourceId resource) override;
  void restore(ResourceId resource) override;
  [[nodiscard]] ResourceCounters counters(ResourceId resource) const override;
  [[nodiscard]] const FabricTotals& totals() const override;
  void check_conservation() const override;

  [[nodiscard]] const PacketProbe& probe() const override { return *this; }
  [[nodiscard]] double wire_bytes(LinkId link) const override { return static_cast<double>(port(link).bytes); }
  [[nodiscard]] double utilization(LinkId link, double bytes, Duration busy, Duration window) const override;
  [[nodiscard]] bool sees_every_wait() const override { return true; }
  [[nodiscard]] bool has_timers() const override { return true; }
  void reset_peaks() override;

  [[nodiscard]] PortCounters port(LinkId link) const override;
  [[nodiscard]] std::int64_t queued_bytes(LinkId link) const override;
  [[nodiscard]] std::int64_t queued_bytes(LinkId link, int priority) const override;
  [[nodiscard]] std::int64_t ingress_bytes(LinkId link) const override;
  [[nodiscard]] FlowCounters flow(FootprintId flow) const override;
  [[nodiscard]] double flow_state(FootprintId flow, std::string_view name) const override;
  [[nodiscard]] const std::vector<PauseRecord>& pauses() const override { return pauses_; }  // after the run
  [[nodiscard]] std::uint64_t packet_hops() const override;

 private:
  class Part;  // NOLINT(cppcoreguidelines-virtual-class-destructor): it is final (fabric_part.h)
  struct Posted {
    Time start;
    Transfer transfer;
  };

  void run_windows();
  void close();
  void count_peak();
  // part_reports.cpp: several processes.
  void begin_together();
  [[nodiscard]] Time meet(std::uint64_t window, Time next, const std::exception_ptr& error);
  void gather();
  [[nodiscard]] std::string report() const;
  void read_report(std::string_view text);

  [[nodiscard]] bool is_first() const { return hands_.processes == nullptr || hands_.processes->rank() == 0; }
  [[nodiscard]] int process_of(std::size_t part) const {
    return static_cast<int>(part * static_cast<std::size_t>(processes_) / parts_.size());
  }
  [[nodiscard]] bool is_here(std::size_t part) const { return parts_[part] != nullptr; }
  [[nodiscard]] std::size_t begin_of(LinkId link) const;
  [[nodiscard]] std::size_t end_of(LinkId link) const;
  [[nodiscard]] std::size_t source_of(FootprintId flow) const;
  [[nodiscard]] std::size_t destination_of(FootprintId flow) const;
  [[nodiscard]] const Part& own_part(std::size_t part) const;
  // Returns what another process has told; nothing happened before it has.
  template <class T, class Reports>
  [[nodiscard]] T told_of(std::vector<T> Reports::*list, std::size_t index) const {
    return told_ == nullptr ? T{} : ((*told_).*list)[index];
  }

  Simulator& clock_;
  const Router& router_;
  PacketSettings settings_;
  std::uint64_t seed_;
  const Topology& topology_;
  const Partition& partition_;
  PartHands hands_;
  int processes_ = 1;  // that have parts
  Duration lookahead_ = Duration::max();
  MailRoom room_;
  std::unique_ptr<PartFlows> flows_;
  std::vector<std::unique_ptr<Part>> parts_;  // null: another process has it
  std::vector<Part*> own_;                    // those of this process
  std::unique_ptr<PartReports> told_;         // by other processes, at the end
  std::vector<Footprint> footprints_;
  std::vector<Posted> posted_;  // by tag
  std::vector<Time> ends_;      // by tag
  std::vector<PauseRecord> pauses_;
  std::uint64_t windows_ = 0;
  std::uint64_t counted_ = 0;    // events that the clock knows of
  bool all_stop_ = false;        // one of the processes was stopped
  mutable FabricTotals totals_;  // made when asked for
};

}  // namespace weft::net
