// A second, plain way to time a schedule: every message of m bytes takes `latency` + c*m/`bandwidth`, whatever else is going
// on, where c is the number of channels that share a port. A step starts when its messages are there and the step before it in
// its lane has ended, and ends when what it sends has been delivered. Right where a channel keeps at most one message on each
// port.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>
#include <vector>

#include "sim/collectives/closed_form.h"
#include "sim/collectives/schedule.h"

namespace weft::testing {

inline Duration time_by_steps(const coll::Schedule& schedule, const coll::IdealNetwork& network, int sharing_channels) {
  struct LaneState {
    Rank rank;
    int channel;
    int lane;
    std::int64_t next = 0;
    Duration free_at = {};
  };
  std::vector<LaneState> lanes;
  for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
    for (int channel = 0; channel < schedule.channels(); ++channel) {
      for (int lane = 0; lane < schedule.lanes(rank, channel); ++lane) lanes.push_back({rank, channel, lane});
    }
  }
  std::map<std::tuple<int, Rank, Rank>, std::deque<Duration>> delivered;  // by channel, sender, receiver
  Duration end;
  for (bool progress = true; progress;) {
    progress = false;
    for (LaneState& lane : lanes) {
      while (lane.next < schedule.step_count(lane.rank, lane.channel, lane.lane)) {
        const coll::Step step = schedule.step(lane.rank, lane.channel, lane.lane, lane.next);
        const auto queue = [&](Rank from, Rank to) -> auto& { return delivered[std::tuple{lane.channel, from, to}]; };
        const bool ready = std::all_of(step.receive_from.begin(), step.receive_from.end(),
                                       [&](Rank from) { return !queue(from, lane.rank).empty(); });
        if (!ready) break;
        for (const Rank from : step.receive_from) {
          lane.free_at = std::max(lane.free_at, queue(from, lane.rank).front());
          queue(from, lane.rank).pop_front();
        }
        if (!step.send_to.empty()) {
          lane.free_at += network.latency + transmission_time(sharing_channels * step.bytes, network.bandwidth);
          for (const Rank to : step.send_to) queue(lane.rank, to).push_back(lane.free_at);
        }
        end = std::max(end, lane.free_at);
        ++lane.next;
        progress = true;
      }
    }
  }
  return end;
}

}  // namespace weft::testing
