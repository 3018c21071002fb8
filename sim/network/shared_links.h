// Flows leave packets a part of the links that both use.
//
// Each packet transfer has a shadow among the flows, which give way for it by the byte (hybrid_fabric.h). A packet may begin on
// a shared link once its footprint's shadows have moved what went before it, however late it comes: so much has been left free
// for it. One that comes sooner follows the packet before at what flows leave of the rate. Either takes the full rate itself,
// half of the flows' bytes that share its time come before it and half after it: a packet's place among others is anywhere.
// Links side by side are one in this: what shadows have moved is compared with what has passed over all of them.
//
// A transfer's start at its source is felt at a link after the time that a packet takes from there. Packets come no sooner
// either (GPS and packets' lag behind it: Parekh and Gallager, 1993).
//
// Model: what flows leave is what the solver says, to the instant, and of links side by side as much of each. Packets that come
// when their shadow is through and flows have all of the link get an even share of it. Control packets wait for no flow.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/core/simulator.h"
#include "sim/network/flow_level/flow_fabric.h"
#include "sim/network/packet_level/packet_fabric.h"
#include "sim/network/topology.h"

namespace weft::net {

class SharedLinks final : public LinkSharer {
 public:
  // All must outlive it.
  SharedLinks(const Simulator& simulator, const Topology& topology, const FlowFabric& flows, PacketFabric& packets);

  // Flows on a footprint, more or fewer, and their rate in bytes per picosecond: at the source now, or on all links already.
  void change_flows(FootprintId footprint, std::int32_t flows, double rate, bool at_once = false);
  // The shadow of a footprint's packets, be it over the rest of their way, moves at so much now.
  void set_shadow_rate(FootprintId footprint, double rate);
  // A transfer of packets is posted, or through.
  void count_packets(FootprintId footprint, std::int32_t more);
  // Packets and flows share the link from now on.
  void begin(LinkId link);
  Time begin(LinkId link, FootprintId footprint, Bytes payload, Time came) override;

 private:
  // A footprint as links feel it, each of them in its place.
  struct Reach {
    std::vector<LinkId> links;  // ascending
    std::vector<double> usages;
    std::vector<Duration> delays;       // from the source
    std::vector<std::uint32_t> stages;  // links before it
    Duration longest;                   // delay
    std::uint32_t stage_count = 0;
  };
  // Progress of a footprint's packets and their shadows.
  struct Progress {
    struct Step {
      Time at;
      double moved = 0;  // bytes until then
      double rate = 0;   // from then on, bytes per picosecond
    };
    std::vector<Step> steps;     // by time
    std::vector<double> passed;  // by stage, bytes since the first step; below 0: not counted yet
    std::int32_t transfers = 0;
  };
  struct Coming {
    Time at;
    std::int32_t flows = 0;
    double rate = 0;
  };
  struct Load {
    std::int32_t flows = 0;
    double rate = 0;             // of all of them, bytes per picosecond
    Time next;                   // what follows the last packet at what flows leave begins then
    Time since = Time::max();    // packets and flows share it
    std::vector<Coming> coming;  // by time, the latest first
  };

  const Reach& reach(FootprintId footprint);
  Progress& progress(FootprintId footprint);
  static void apply(Load& load, std::int32_t flows, double rate);
  Load& load(LinkId link);  // as it is now
  // Begins to count what passes over all links side by side with that one.
  void begin_to_count(const Reach& reach, Progress& progress, std::size_t place);
  [[nodiscard]] static Progress::Step step_at(const Progress& progress, Time at);

  const Simulator& simulator_;
  const Topology& topology_;
  const FlowFabric& flows_;
  PacketFabric& packets_;
  std::vector<Load> loads_;                          // by link
  std::vector<std::unique_ptr<Reach>> reaches_;      // by footprint, where asked
  std::vector<std::unique_ptr<Progress>> progress_;  // likewise
};

}  // namespace weft::net
