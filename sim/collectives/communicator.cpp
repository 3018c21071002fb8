#include "sim/collectives/communicator.h"

#include <algorithm>
#include <utility>

#include "sim/core/error.h"

namespace weft::coll {

Communicator::Communicator(const net::Topology& topology, std::vector<DeviceId> devices, std::vector<RingOrder> rings)
    : topology_{&topology}, devices_{std::move(devices)}, rings_{std::move(rings)} {
  WEFT_CHECK(!devices_.empty());
  WEFT_CHECK(!rings_.empty());

  std::vector<DeviceId> distinct = devices_;
  std::sort(distinct.begin(), distinct.end());
  WEFT_CHECK(distinct.back().index() < topology.device_count());
  WEFT_CHECK(std::adjacent_find(distinct.begin(), distinct.end()) == distinct.end());

  std::vector<std::int32_t> hosts;
  for (const DeviceId device : devices_) {
    const std::int32_t host = topology.host_of(device);
    WEFT_CHECK(host >= 0);  // a fabric switch holds no rank
    hosts.push_back(host);
  }
  std::sort(hosts.begin(), hosts.end());
  nodes_ = static_cast<int>(std::unique(hosts.begin(), hosts.end()) - hosts.begin());

  positions_.reserve(rings_.size());
  for (const RingOrder& order : rings_) {
    WEFT_CHECK(order.size() == devices_.size());
    std::vector<std::int32_t> positions(order.size(), -1);
    for (std::size_t i = 0; i < order.size(); ++i) {
      WEFT_CHECK(order[i] >= 0 && order[i] < ranks());
      std::int32_t& position = positions[static_cast<std::size_t>(order[i])];
      WEFT_CHECK(position == -1);
      position = static_cast<std::int32_t>(i);
    }
    positions_.push_back(std::move(positions));
  }
}

int Communicator::position(int channel, Rank rank) const {
  return positions_[static_cast<std::size_t>(channel)][static_cast<std::size_t>(rank)];
}

}  // namespace weft::coll
