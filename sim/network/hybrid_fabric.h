// Hybrid fidelity: transfers over chosen links are packets, the others are flows, on one clock and one topology.
//
// Each transfer is moved by one of two fabrics, as a whole: PacketFabric where its footprint uses a chosen link, else
// FlowFabric. As long as no link carries both kinds, neither knows of the other, and each transfer's time is exactly that of
// its own fidelity. From the first link on that carries both, the two share:
//   - flows give way: each packet transfer has a *shadow* in the flow fabric, a flow of the same bytes over the same footprint
//     that nobody waits for. Solved with all others it takes its max-min share, so flows lose as many bytes of a link as
//     packets carry over it, no more and no less. Messages on one footprint have their shadows one after another, as a queue
//     pair sends them. What is under way when sharing begins gets a shadow of what has yet to leave its source, and others,
//     over the rest of the way, of what waits in queues. What is on wires is past: latency takes no capacity from flows either.
//   - packets give way: on a link of both kinds one begins when its shadow has moved what went before it, or sooner, at what
//     the flows leave of the link's rate (shared_links.h).
//
// Model: on a link of both kinds flows make no queue, mark no packet, pause nobody and are paused by nobody; flows are charged
// for packets at their max-min share from the instant they are posted, whenever the packets come, so a link may carry more than
// its rate for as long as the two differ. Acknowledgements and what is sent again take nothing from flows; acknowledgements do
// not wait for flows, and flows have none, which packets might meet at packet fidelity. Links do not fail.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/reused_places.h"
#include "sim/core/simulator.h"
#include "sim/network/fabric.h"
#include "sim/network/flow_level/flow_fabric.h"
#include "sim/network/packet_level/packet_fabric.h"
#include "sim/network/router.h"

namespace weft::net {

class SharedLinks;  // final: NOLINT(cppcoreguidelines-virtual-class-destructor)

class HybridFabric final : public Fabric, private RateListener {
 public:
  // `chosen`: by link. Simulator and router must outlive the fabric.
  HybridFabric(Simulator& simulator, const Router& router, const PacketSettings& settings, std::uint64_t seed,
               std::vector<bool> chosen);
  ~HybridFabric() override;
  HybridFabric(const HybridFabric&) = delete;
  HybridFabric& operator=(const HybridFabric&) = delete;

  ResourceId add_resource(std::string name, double capacity) override { return flows_.add_resource(std::move(name), capacity); }
  [[nodiscard]] std::string resource_name(ResourceId resource) const override { return flows_.resource_name(resource); }
  [[nodiscard]] double capacity(ResourceId resource) const override { return flows_.capacity(resource); }
  [[nodiscard]] std::size_t resource_count() const override { return flows_.resource_count(); }
  // The id is the footprint's in both fabrics.
  FootprintId add_footprint(Footprint footprint) override;
  [[nodiscard]] const Footprint& footprint(FootprintId footprint) const override { return flows_.footprint(footprint); }
  void set_transport(FootprintId footprint, const FlowTransport& transport) override;
  [[nodiscard]] PacketShape packet_shape() const override { return packets_.packet_shape(); }
  [[nodiscard]] bool takes_packets(FootprintId footprint) const override {
    return allows_packets_ && crosses_[footprint.index()];
  }
  void allow_packets(bool allow) override { allows_packets_ = allow; }
  [[nodiscard]] bool sends_packets(const CrossesAny& crosses) const override { return allows_packets_ && crosses(chosen_); }
  TransferId post(const Transfer& transfer, TransferListener& listener) override;
  void cut_short(TransferId transfer) override;
  void set_rate_cap(TransferId transfer, Bandwidth cap) override;
  [[nodiscard]] double moved_bytes(TransferId transfer) const override {
    return flows_.moved_bytes(records_[transfer.index()].inner);
  }
  void fail(ResourceId resource) override;
  void restore(ResourceId resource) override;
  // Adds both kinds; busy: the longer time of the two.
  [[nodiscard]] ResourceCounters counters(ResourceId resource) const override;
  [[nodiscard]] const FabricTotals& totals() const override;
  [[nodiscard]] const PacketProbe& probe() const override { return packets_; }
  void reset_peaks() override { packets_.reset_peaks(); }
  // Packets with their headers; flows as if they had them.
  [[nodiscard]] double wire_bytes(LinkId link) const override;
  [[nodiscard]] double utilization(LinkId link, double bytes, Duration busy, Duration window) const override;
  [[nodiscard]] bool has_timers() const override { return true; }
  [[nodiscard]] std::optional<HybridTotals> division() const override { return hybrid_; }
  // Only calls that are flows throughout are counted so.
  void mark_counters() override { flows_.mark_counters(); }
  void repeat_counted(std::int64_t times) override { flows_.repeat_counted(times); }
  void check_conservation() const override;

  [[nodiscard]] PacketFabric& packets() { return packets_; }
  [[nodiscard]] const HybridTotals& hybrid_totals() const { return hybrid_; }

 private:
  static constexpr std::uint32_t kNone = 0xFFFF'FFFF;
  // Hears a fabric's callbacks, whose tags are records, of shadows footprints.
  class Ears final : public TransferListener {
   public:
    using Heard = void (HybridFabric::*)(std::uint32_t tag);
    Ears(HybridFabric& owner, Heard freed, Heard delivered, Heard aborted)
        : owner_{owner}, freed_{freed}, delivered_{delivered}, aborted_{aborted} {}
    void on_source_free(TransferId, std::uint64_t tag) override { call(freed_, tag); }
    void on_delivered(TransferId, std::uint64_t tag) override { call(delivered_, tag); }
    void on_aborted(TransferId, std::uint64_t tag) override { call(aborted_, tag); }

   private:
    void call(Heard heard, std::uint64_t tag) const { (owner_.*heard)(static_cast<std::uint32_t>(tag)); }
    HybridFabric& owner_;
    Heard freed_;
    Heard delivered_;
    Heard aborted_;
  };
  struct Record {
    TransferListener* listener = nullptr;
    Transfer transfer = {};
    TransferId inner = {};  // of its fabric
    double rate = 0;        // of a flow, bytes per picosecond
    bool in_use = false;
    bool is_packets = false;
    bool on_links = false;  // counts there: of flows, not all has left
    bool cut = false;
  };
  // Shadows of the messages on one footprint, in their order; the first one moves.
  struct Shadows {
    struct Shadow {
      Transfer transfer;
      std::uint32_t record = kNone;  // kNone: the packets are there
    };
    std::deque<Shadow> queue;
    TransferId moving;
  };
  // The rest of a footprint that packets in front of a link have left.
  struct RestOfWay {
    FootprintId footprint;
    LinkId link;
    auto operator<=>(const RestOfWay&) const = default;
  };
  static constexpr char kFlows = 1;
  static constexpr char kPackets = 2;
  static constexpr char kBoth = kFlows | kPackets;

  void on_rate(std::uint64_t record, double rate) override;
  void on_shadow_rate(std::uint64_t footprint, double rate) override;
  void freed(std::uint32_t record);
  void delivered(std::uint32_t record);
  void aborted(std::uint32_t record);
  void shadow_left(std::uint32_t footprint);
  void ignore(std::uint32_t /*footprint*/) {}
  [[nodiscard]] bool is_link(ResourceId resource) const { return resource.index() < chosen_.size(); }
  void note_use(FootprintId footprint, char kind);
  void begin_sharing();
  void count(std::uint32_t record, bool on);
  void add_shadow(std::uint32_t record, FootprintId over, Bytes bytes);
  void add_shadows_of_all();
  FootprintId rest_of_way(FootprintId footprint, LinkId first);
  void post_shadow(FootprintId footprint);
  void end_shadow(std::uint32_t record);
  void end(std::uint32_t record);

  const Topology& topology_;
  FlowFabric flows_;
  PacketFabric packets_;
  std::vector<bool> chosen_;   // by link
  std::vector<char> crosses_;  // by footprint: a chosen link
  std::vector<char> posted_;   // by footprint: the kinds that were posted on it
  std::vector<char> uses_;     // by link: the kinds that have crossed it
  std::unique_ptr<SharedLinks> shared_;
  bool sharing_ = false;
  bool allows_packets_ = true;
  ReusedPlaces<Record> records_;
  std::map<FootprintId, Shadows> shadows_;
  std::map<RestOfWay, FootprintId> rests_;
  Ears flow_ears_;
  Ears packet_ears_;
  Ears shadow_ears_;
  HybridTotals hybrid_;
  mutable FabricTotals totals_;  // the solver's counts are those of the flow fabric when asked
  std::uint64_t live_ = 0;
};

}  // namespace weft::net
