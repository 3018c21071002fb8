// Typed indices: an Id<Tag> is a 32-bit index into the vector that owns the things of that tag. Ids of different tags do not
// mix.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace weft {

template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  explicit constexpr Id(std::uint32_t value) : value_{value} {}
  static constexpr Id from_index(std::size_t index) { return Id{static_cast<std::uint32_t>(index)}; }

  [[nodiscard]] constexpr std::uint32_t value() const { return value_; }
  [[nodiscard]] constexpr std::size_t index() const { return value_; }
  [[nodiscard]] constexpr bool valid() const { return value_ != kInvalid; }
  constexpr auto operator<=>(const Id&) const = default;

 private:
  static constexpr std::uint32_t kInvalid = 0xFFFF'FFFF;
  std::uint32_t value_ = kInvalid;
};

using DeviceId = Id<struct DeviceTag>;        // a device of the topology: GPU, switch, NIC, ...
using LinkId = Id<struct LinkTag>;            // one direction of a cable
using ResourceId = Id<struct ResourceTag>;    // what transfers share: a link direction, a DMA engine, a GPU's HBM
using FootprintId = Id<struct FootprintTag>;  // an interned footprint, see network/transfer.h
using TransferId = Id<struct TransferTag>;    // a transfer in flight
using ComponentId = Id<struct ComponentTag>;  // a scheduler of events, see core/simulator.h

// A rank is an index into a communicator; arithmetic on ranks is the business of every algorithm, so it is a plain integer.
using Rank = std::int32_t;

}  // namespace weft

template <class Tag>
struct std::hash<weft::Id<Tag>> {
  std::size_t operator()(weft::Id<Tag> id) const noexcept { return std::hash<std::uint32_t>{}(id.value()); }
};
