// Drives schedules through a fabric. One executor serves one communicator and runs one loop of equal calls at a time, as NCCL
// serialises the calls of a communicator.
//
// Chunk grain: every slice of every step of every lane is a message. A slice starts when its incoming messages have arrived,
// the slice before it in its lane has ended and its connections have a free slot; the lane's warps are busy for what
// step_costs.h says, and the bytes share the links with everything else. Fluid grain: every channel is one coupled transfer
// along all its edges, plus the latency its chain of messages pays.
//
// A loop starts each rank's kernel of a call when the host has launched it and the rank's kernel before has ended. So launches
// that take longer than the calls set the pace, and calls that do not wait for every rank (broadcast) overlap.
//
// Where data carry their flags (LL, LL128), a slice starts as soon as the first pass of what it receives is there, and ends no
// sooner than the last.
//
// To another node a proxy sends a slice once it is whole, one after another on a connection, and the lane goes on: its slots
// bound how far ahead it gets. A proxy too has the network's switches add up and copy, when all contributions are there.
//
// Through host memory a message is two transfers: the sender writes, and once told so the receiver reads, in a step of its own
// lane that may send at the same time (models/nccl §6.2).
//
// Model: a lane that follows another sends at the pace of its own warps and links even where data come in more slowly; only its
// end waits. A contribution to a reduction in an NVSwitch costs its sender nothing: the head pulls all copies in one transfer
// (models/nccl §3.4).
//
// Model: in the fluid grain all edges of a channel go at one common rate, and what messages wait for besides is told by
// formulas that leave out how channels drift apart: for calls of too many ranks for the chunk grain (shortened_schedule.h). It
// runs one call, not the loop. `tools/grains.py PROGRAM` prints how far the grains are from each other.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/collectives/communicator.h"
#include "sim/collectives/launch_plan.h"
#include "sim/collectives/schedule.h"
#include "sim/collectives/shared_port.h"
#include "sim/collectives/step_costs.h"
#include "sim/collectives/step_observer.h"
#include "sim/collectives/step_work.h"
#include "sim/core/id_map.h"
#include "sim/core/reused_places.h"
#include "sim/core/simulator.h"
#include "sim/network/fabric.h"
#include "sim/network/path_class.h"
#include "sim/network/router.h"

namespace weft::coll {

enum class Grain : std::uint8_t { kAuto, kChunk, kFluid, kClosedForm };
[[nodiscard]] std::string_view to_string(Grain grain);
[[nodiscard]] std::optional<Grain> grain_from(std::string_view name);

class ExecutorListener {
 public:
  // Every rank has ended its last call.
  virtual void on_collective_done(Time at) = 0;
  // And every sender knows that what it sent has left, or is there: another loop may start.
  virtual void on_collective_settled(Time /*at*/) {}

 protected:
  ~ExecutorListener() = default;
};

struct ExecutorOptions {
  // GPUs of a host that are farther apart talk through its memory: kLoc, all (NCCL_P2P_DISABLE=1); kDis, none.
  net::PathClass p2p_level = net::PathClass::kDis;
};

class Executor final : private net::TransferListener, private EventTarget {
 public:
  Executor(Simulator& simulator, net::Fabric& fabric, const net::Router& router, const Communicator& communicator,
           const ExecutorOptions& options = {});

  // Starts now; the schedule must live until the listener is called. `grain` is chunk or fluid.
  void start(const Schedule& schedule, const StepCosts& costs, Grain grain, ExecutorListener& listener,
             const LaunchPlan& launches = {});

  // Whom every slice of the loops from now on is told to; null: nobody.
  void observe(StepObserver* observer) { observer_ = observer; }

  [[nodiscard]] bool running() const { return unfinished_ > 0; }
  // When rank r ended its last call.
  [[nodiscard]] Time finished(Rank rank) const { return finished_[static_cast<std::size_t>(rank)]; }
  // When the last rank ended call i; fewer than planned where the loop settled.
  [[nodiscard]] const std::vector<Time>& call_ends() const { return call_ends_; }
  // From one call's end to the next one's; 0: the loop was of one call.
  [[nodiscard]] Duration pace() const;
  [[nodiscard]] std::uint64_t messages() const { return messages_; }
  // Which ranks have not ended and what each waits for; for a run that stops with work left.
  [[nodiscard]] std::string blocked() const;

  // Steps of the chunk grain, by which `auto` chooses.
  [[nodiscard]] static std::uint64_t count_messages(const Schedule& schedule, std::uint64_t limit);
  // Whether any of the schedule's messages crosses one of these links. Routes all that it sends until one does.
  [[nodiscard]] bool crosses(const Schedule& schedule, const std::vector<bool>& links) const;

 private:
  static constexpr std::uint32_t kNone = 0xFFFF'FFFF;
  // A transfer that stands for several messages: the tag names a list of connections, not one.
  static constexpr std::uint32_t kManyConnections = 0x8000'0000;
  // A tag has this bit where no lane waits for its transfer.
  static constexpr std::uint64_t kByProxy = std::uint64_t{1} << 63;

  enum class LaneState : std::uint8_t { kIdle, kWaiting, kBusy, kEnding, kDone };
  struct Connection {
    Rank from = 0;
    Rank to = 0;
    FootprintId path;
    FootprintId read_path;  // through host memory: from there to the receiver, which moves the data itself
    bool in_host_memory = false;
    Transport transport = Transport::kNvlink;
    std::int32_t arrived = 0;        // there, or with cut-through begun, and not yet claimed by a slice
    std::int32_t whole = 0;          // delivered whole, and not yet consumed
    std::uint32_t follower = kNone;  // lane that has done its slice but for the end of what it receives
    std::int32_t occupied = 0;       // slots taken: posted and not yet consumed
    std::uint32_t receiver = kNone;  // lane that waits for a message
    std::uint32_t sender = kNone;    // lane that waits for a slot
    std::uint32_t queue = kNone;     // of its proxy while that sends: place in proxy_queues_
  };
  // The connections of a lane's step: its peers', in order.
  class Connections {
   public:
    void clear() { size_ = 0, more_.clear(); }
    void add(std::uint32_t connection) {
      if (size_ < few_.size()) {
        few_[size_] = connection;
      } else {
        if (more_.empty()) more_.assign(few_.begin(), few_.end());
        more_.push_back(connection);
      }
      ++size_;
    }
    [[nodiscard]] const std::uint32_t* begin() const { return more_.empty() ? few_.data() : more_.data(); }
    [[nodiscard]] const std::uint32_t* end() const { return begin() + size_; }
    [[nodiscard]] std::size_t size() const { return size_; }

   private:
    std::array<std::uint32_t, 3> few_{};
    std::vector<std::uint32_t> more_;
    std::size_t size_ = 0;
  };
  struct Lane {
    Rank rank = 0;
    std::int32_t channel = 0;
    std::int32_t lane = 0;
    LaneState state = LaneState::kIdle;
    bool loaded = false;
    bool follows = false;     // is in the list of a lane whose progress it waits for
    bool in_network = false;  // its step is done by switches of the network, and a proxy has them do it
    std::int32_t slice = 0;
    std::int32_t block = 0;          // among the rank's thread blocks that talk to a peer, in channel order
    std::int32_t outstanding = 0;    // transfers that the lane waits for
    Time stores_from = Time::max();  // to a peer over NVLink, until its slice has left
    Duration held_at_port;           // how much longer its last slice took to leave than the block alone takes
    std::int64_t next = 0;           // step
    std::int64_t count = 0;
    Time waits_from;      // for its next slice
    Time began;           // its slice
    Time works_until;     // on it, as far as is known when it begins
    double share = 1.0;   // of the thread block's warps
    double weight = 1.0;  // of its transfers
    double effort = 1.0;  // of its step (StepCosts)
    Step step;
    Connections receives;
    Connections sends;
    FootprintId switch_path;               // of a step in a switch: all members' paths as one
    std::uint32_t first_follower = kNone;  // lanes that wait for this one's progress
    std::uint32_t next_follower = kNone;
  };
  // A slice that waits for the one before it to leave its connection.
  struct ProxySlice {
    std::uint32_t connection = 0;  // in whose order
    FootprintId footprint;
    net::TransferKind kind = net::TransferKind::kUnicast;
    Bytes wire;
    double weight = 1.0;
    Bandwidth cap = {};  // 0: none
    Duration hop;
    std::uint32_t lane = 0;
    std::uint32_t to = 0;  // connection, or a list of them
  };
  // One rank's state.
  struct Member {
    std::uint32_t first_lane = 0;
    std::uint32_t lane_count = 0;
    std::uint32_t lanes_left = 0;
    std::int32_t call = 0;
    Time proxy_free;  // StepCosts::proxy
  };
  enum class EventKind : std::uint8_t { kStart, kLaneStart, kSliceWork, kSliceEnd, kLaneContinue, kFirstPass, kProxy };

  void on_event(std::uint64_t payload) override;
  void on_source_free(TransferId transfer, std::uint64_t tag) override;
  void on_delivered(TransferId transfer, std::uint64_t tag) override;
  void on_aborted(TransferId transfer, std::uint64_t tag) override;
  void schedule_event(Duration after, EventKind kind, std::uint32_t lane);

  // Chunk grain, executor.cpp.
  void start_chunks();
  void start_call(Rank rank);
  void load(std::uint32_t index);
  void advance(std::uint32_t index);
  [[nodiscard]] bool can_start(std::uint32_t index);
  [[nodiscard]] std::uint32_t lane_index(Rank rank, int channel, int lane) const;
  void begin_slice(std::uint32_t index);
  [[nodiscard]] double busy_share(std::uint32_t index) const;
  [[nodiscard]] Duration busy_with(std::uint32_t index, Bytes data);
  void work(std::uint32_t index);
  void end_slice(std::uint32_t index);
  [[nodiscard]] Duration gap_after(const Lane& lane) const;
  [[nodiscard]] bool has_whole_input(std::uint32_t index);
  void tell(const Lane& lane, Duration gap) const;
  void end_lane(std::uint32_t index);
  void end_call(Rank rank);
  void call_ended(std::size_t call);
  void wake(std::uint32_t& lane);
  void drain();
  void finish_if_done();
  void settle_if_done();

  // Sending, executor_send.cpp.
  void post(const net::Transfer& transfer);
  [[nodiscard]] Duration hop(std::uint32_t connection) const;
  [[nodiscard]] bool is_proxys(std::uint32_t connection) const;
  [[nodiscard]] bool sends_itself(const Lane& lane) const;
  [[nodiscard]] bool uses_port(const Lane& lane) const;
  [[nodiscard]] Duration wait_at_port(const Lane& lane, Bytes data, Duration busy) const;
  void post_slice(std::uint32_t index, Bytes data, Duration busy);
  void send_by_proxy(std::uint32_t index);
  void hand_to_proxy(const ProxySlice& slice);
  void queue_at_proxy(const ProxySlice& slice);
  void start_proxy(const ProxySlice& slice);
  void free_proxy(std::uint32_t connection);
  void arrive(std::uint32_t connection);
  void free_source(std::uint64_t tag);

  // In switches, executor_switch.cpp.
  FootprintId switch_path(const Lane& lane);
  [[nodiscard]] bool is_networks(const Lane& lane) const;
  [[nodiscard]] bool is_in_network(const Lane& lane) const;
  [[nodiscard]] bool contributes_to_network(const Lane& lane) const;
  [[nodiscard]] Duration hop_in_switch(const Lane& lane) const;
  // The switches that add up or copy for the step are the fabric's.
  [[nodiscard]] bool uses_fabric_switches(const Lane& lane) const;
  // They copy to all at once what they add up, with no kernel between.
  [[nodiscard]] bool turns_at_top(const Lane& lane) const;
  void post_in_switch(std::uint32_t index, net::Transfer transfer);
  void send_in_network(std::uint32_t index);

  // Ways, executor_paths.cpp.
  std::uint32_t connection(Rank from, Rank to, int channel, int index);
  FootprintId path(Rank from, Rank to, int channel);
  [[nodiscard]] net::Footprint route(Rank from, Rank to, int channel) const;
  [[nodiscard]] std::optional<net::Footprint> find_way(Rank from, Rank to, int channel, Nets nets) const;
  // Halves of a way through host memory.
  [[nodiscard]] net::Footprint write_route(DeviceId writer, DeviceId memory, const net::FlowKey& flow) const;
  [[nodiscard]] net::Footprint read_route(DeviceId memory, DeviceId reader, const net::FlowKey& flow) const;
  [[nodiscard]] Transport transport(Rank from, Rank to) const;
  [[nodiscard]] bool talks_through_memory(Rank from, Rank to) const;
  // Returns the effort of a step that receives what comes that way.
  [[nodiscard]] double effort_of(const Step& step, Transport from) const;
  [[nodiscard]] bool is_behind_switch(DeviceId gpu) const;
  [[nodiscard]] PortLoads port_loads() const;
  [[nodiscard]] double direct_store() const;
  // Where NCCL keeps what `from` sends to `to` in host memory: that memory.
  [[nodiscard]] std::optional<DeviceId> memory_between(Rank from, Rank to) const;
  [[nodiscard]] bool reads_host_memory(const Lane& lane) const;
  [[nodiscard]] bool uses_host_memory(const Lane& lane) const;
  // Returns what to tell of a transfer that was aborted, by its tag.
  [[nodiscard]] std::string what_is_cut(std::uint64_t tag) const;
  // Nothing: a way is left.
  [[nodiscard]] std::optional<std::string> what_is_cut(Rank from, Rank to, int channel) const;

  // Fluid grain, executor_fluid.cpp.
  struct EdgeTime {
    double drain = 0;  // picoseconds of one message's bytes
    double step = 0;   // with what a message costs besides
    double pace = 0;   // from one message to the next where they follow each other down a chain
    double slice = 0;  // of one slice, until the next edge's can start
  };
  void start_fluid();
  // Where the edge's resources carry `demand`.
  EdgeTime edge_time(const FluidFlow& flow, std::size_t hop, const std::vector<double>& demand);
  void add_demand(const FluidFlow& flow, std::size_t hop, std::vector<double>& demand);
  // Returns the time of each flow of a chain, until its first message is at the far end.
  std::vector<double> first_message_times(const std::vector<FluidFlow>& flows);
  Duration latency_of(const FluidFlow& flow, const std::vector<double>& demand, double first_message);
  Duration last_copies(const FluidFlow& flow, const std::vector<double>& demand);

  Simulator& simulator_;
  net::Fabric& fabric_;
  const net::Router& router_;
  const Communicator& communicator_;
  ExecutorOptions options_;
  bool some_through_memory_ = false;
  ComponentId component_;
  const Schedule* schedule_ = nullptr;
  ExecutorListener* listener_ = nullptr;
  ExecutorListener* settling_ = nullptr;  // of the loop whose last transfers are still acknowledged
  StepObserver* observer_ = nullptr;
  StepCosts costs_;
  double direct_store_ = 0.0;  // StepCosts::direct, of this call
  UsualStep usual_;            // of a rank that is as busy as any
  PortLoads port_loads_;
  PortQueue port_queue_;
  LaunchPlan launches_;
  Grain grain_ = Grain::kChunk;
  Time began_;
  std::int32_t calls_ = 1;  // of each rank
  std::vector<Connection> connections_;
  Nets nets_ = Nets::kAny;                   // of the schedule
  std::array<IdMap, kNets> connection_ids_;  // by whose NICs they take
  std::array<IdMap, kNets> paths_;           // footprints
  std::vector<Lane> lanes_;                  // by rank, channel, lane
  std::vector<std::uint32_t> first_lane_;    // by rank and channel
  std::vector<Member> members_;              // by rank
  std::vector<std::uint32_t> ready_;
  std::vector<std::pair<Time, double>> others_;  // lanes of a block at work: until when, share of its warps
  std::vector<Time> finished_;
  std::vector<Time> call_ends_;
  std::vector<std::int32_t> ranks_left_;                 // by call
  ReusedPlaces<std::vector<std::uint32_t>> deliveries_;  // connections that one multicast reaches
  ReusedPlaces<std::vector<ProxySlice>> proxy_queues_;
  ReusedPlaces<ProxySlice> at_proxy_;                               // those that a proxy thread has yet to send
  std::map<std::vector<std::uint32_t>, FootprintId> switch_paths_;  // by rank, channel, what is done and peers
  std::uint64_t unfinished_ = 0;                                    // ranks, or fluid flows
  std::uint64_t unsent_ = 0;                                        // transfers whose source is not free yet
  std::uint64_t messages_ = 0;
};

}  // namespace weft::coll
