// Drives schedules through a fabric. One executor serves one communicator and runs one call at a time, as NCCL serialises the
// calls of a communicator.
//
// Chunk grain: every step of every lane is a message. A step starts when its incoming messages have been delivered, the
// previous step of its lane has ended and its connections have a free slot; it ends when what it sends has been delivered
// (rendezvous). Fluid grain: every channel is one coupled transfer along all its edges, plus the latency its chain of messages
// pays.
//
// In both, a channel that ends by receiving copies its last chunk out of the connection's buffer at the channel's rate; earlier
// copies overlap with the steps that follow (nccl-calibration-notes, advice 4).
//
// Model: in the fluid grain, chains (broadcast, reduce) of several channels that meet on some links only are up to 10 % off at
// 16 MiB and 2 % at 1 GiB; rings are exact.
//
// Model: a step's latency is one number (synchronisation, fence, flag); reduction and copy cost what the channel's rate cap
// says. The slices, flags and warps of NCCL's protocols are not told apart yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/collectives/communicator.h"
#include "sim/collectives/schedule.h"
#include "sim/core/simulator.h"
#include "sim/network/fabric.h"
#include "sim/network/router.h"

namespace weft::coll {

enum class Grain : std::uint8_t { kAuto, kChunk, kFluid, kClosedForm };
[[nodiscard]] std::string_view to_string(Grain grain);
[[nodiscard]] std::optional<Grain> grain_from(std::string_view name);

// What a protocol costs the executor.
struct StepCosts {
  Duration step_latency = {};   // added to each message
  Bandwidth channel_rate = {};  // of one CTA; 0: not limited
  int slots = 2;                // messages a connection holds that the receiver has not taken
};

class ExecutorListener {
 public:
  // Every rank has ended.
  virtual void on_collective_done(Time at) = 0;

 protected:
  ~ExecutorListener() = default;
};

class Executor final : private net::TransferListener, private EventTarget {
 public:
  Executor(Simulator& simulator, net::Fabric& fabric, const net::Router& router, const Communicator& communicator);

  // Starts now; the schedule must live until the listener is called. `grain` is chunk or fluid.
  void start(const Schedule& schedule, const StepCosts& costs, Grain grain, ExecutorListener& listener);

  [[nodiscard]] bool running() const { return unfinished_ > 0; }
  // When rank r ended, of the last call.
  [[nodiscard]] Time finished(Rank rank) const { return finished_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::uint64_t messages() const { return messages_; }
  // Which ranks have not ended and what each waits for; for a run that stops with work left.
  [[nodiscard]] std::string blocked() const;

  // Messages of the chunk grain, by which `auto` chooses.
  [[nodiscard]] static std::uint64_t count_messages(const Schedule& schedule, std::uint64_t limit);

 private:
  static constexpr std::uint32_t kNone = 0xFFFF'FFFF;

  struct Connection {
    Rank from = 0;
    Rank to = 0;
    FootprintId path;
    std::int32_t arrived = 0;        // delivered, not yet claimed by a step
    std::int32_t occupied = 0;       // slots taken: posted and not yet consumed
    std::uint32_t receiver = kNone;  // lane that waits for a message
    std::uint32_t sender = kNone;    // lane that waits for a slot
  };
  struct Lane {
    Rank rank = 0;
    std::int32_t channel = 0;
    std::int32_t lane = 0;
    std::int32_t outstanding = 0;  // sends not yet delivered
    std::int64_t next = 0;
    std::int64_t count = 0;
    Step step;
    std::uint32_t receive_connection[3] = {kNone, kNone, kNone};
    std::uint32_t send_connection[3] = {kNone, kNone, kNone};
    bool loaded = false;
    bool sending = false;
  };

  void on_event(std::uint64_t payload) override;
  void on_source_free(TransferId, std::uint64_t) override {}
  void on_delivered(TransferId transfer, std::uint64_t tag) override;
  void on_aborted(TransferId transfer, std::uint64_t tag) override;

  void start_chunks();
  void start_fluid();
  // Picoseconds one message takes on an edge, without and with latency, where its resources carry `demand` (empty: itself
  // alone).
  std::pair<double, double> edge_time(const FluidFlow& flow, std::size_t hop, const std::vector<double>& demand);
  void load(Lane& lane);
  void advance(std::uint32_t lane);
  void end_step(std::uint32_t lane);
  void end_lane(const Lane& lane);
  [[nodiscard]] Duration copy_out(const Step& last) const;
  void wake(std::uint32_t& lane);
  void drain();
  std::uint32_t connection(Rank from, Rank to, int channel);
  FootprintId path(Rank from, Rank to, int channel);

  Simulator& simulator_;
  net::Fabric& fabric_;
  const net::Router& router_;
  const Communicator& communicator_;
  ComponentId component_;
  const Schedule* schedule_ = nullptr;
  ExecutorListener* listener_ = nullptr;
  StepCosts costs_;
  Grain grain_ = Grain::kChunk;
  std::vector<Connection> connections_;
  std::unordered_map<std::uint64_t, std::uint32_t> connection_ids_;  // looked up only, never walked
  std::unordered_map<std::uint64_t, FootprintId> paths_;
  std::vector<Lane> lanes_;
  std::vector<std::uint32_t> ready_;
  std::vector<Time> finished_;
  std::vector<std::int32_t> lanes_left_;  // by rank
  std::uint64_t unfinished_ = 0;          // lanes, or fluid flows
  std::uint64_t messages_ = 0;
};

}  // namespace weft::coll
