// Link types: from "nvlink4, 18 of them" or "pcie5, 16 lanes" to the rate, efficiency and latency of a LinkSpec.
//
// A type knows the physics (signalling rate, coding, packet headers) and computes what a formula gives; what only a measurement
// tells (NVLink's share for payload, latencies) comes from the profile, group `network.<type>`.
//
//   make_link_spec("pcie4", 16, profile).rate          // 252'061'538'461 b/s: 16 GT/s x 16 lanes x 128/130
//   make_link_spec("nvlink4", {.width = 18}, profile)  // 450 GB/s per direction, efficiency of network.nvlink4
//   read_link_spec(reader, profile)                    // {type: infiniband, rate: ndr, latency: 150 ns}
//
// Implementations live in links/, one file a family; a new type needs one line in builtin.def. Not here: what a link does with
// packets and queues.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/core/config/params.h"
#include "sim/core/profile.h"
#include "sim/core/registry.h"
#include "sim/core/units.h"
#include "sim/network/topology.h"

namespace weft::net {

// The use of a link; path classes (path_class.h) are told apart by it.
enum class LinkMedium : std::uint8_t {
  kNvlink,  // between accelerators and their switches: NVLink, Infinity Fabric between GPUs
  kPcie,
  kC2c,      // between a CPU and its own GPU
  kSocket,   // between CPUs
  kNetwork,  // between hosts
  kLocal,    // a virtual or on-die attachment that never limits
};

// One link's own parameters; whatever is absent comes from its type or from the profile.
struct LinkParams {
  std::optional<std::int64_t> width = {};  // bonded links, or PCIe lanes
  std::optional<Bandwidth> rate = {};      // raw, per direction, all of `width` together
  std::optional<Duration> latency = {};
  std::optional<Bytes> payload = {};      // of one full packet: MPS, MTU
  std::optional<Bytes> completion = {};   // payload of a packet that answers a read; none: as of one that writes
  std::optional<Bytes> headers = {};      // that a packet adds on the wire, in place of the type's
  std::optional<double> efficiency = {};  // replaces formula and profile
};

class LinkType {
 public:
  virtual ~LinkType() = default;

  [[nodiscard]] virtual LinkMedium medium() const = 0;

  // Reads the keys of this type; all other keys of the map are the caller's.
  [[nodiscard]] virtual LinkParams read(ParamReader& params) const;

  // `params` must be in range: read() and make_link_spec() see to that. Never fails.
  [[nodiscard]] virtual LinkSpec spec(const LinkParams& params, const Profile& profile) const = 0;

  // Processing latency of a switch (or of a CPU's root complex) that joins links of this type.
  [[nodiscard]] virtual Duration switch_latency(const Profile& profile) const;

  // Returns the parameters that the profile may set for this type; nullptr: none.
  [[nodiscard]] virtual const ParamGroupBase* group() const { return nullptr; }
};

// The type, or nullptr. The objects live for ever.
[[nodiscard]] const LinkType* find_link_type(std::string_view type);

// For code: an unknown type or a width that the type cannot have is a bug of the caller (InternalError).
[[nodiscard]] LinkSpec make_link_spec(std::string_view type, std::int64_t width, const Profile& profile);
[[nodiscard]] LinkSpec make_link_spec(std::string_view type, const LinkParams& params, const Profile& profile);

// Reads {type, width or lanes, rate, latency, mtu or payload, header, efficiency} of a map, as far as the type has them. After
// an error the result is good enough to go on with. `default_type` makes `type` optional.
[[nodiscard]] LinkSpec read_link_spec(ParamReader& params, const Profile& profile, std::string_view default_type = {});

inline constexpr std::int64_t kMaxLinkWidth = 1024;

}  // namespace weft::net
