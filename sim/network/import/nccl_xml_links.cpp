#include "sim/network/import/nccl_xml_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/network/import/nccl_xml.h"
#include "sim/network/link_type.h"
#include "sim/network/node_template.h"

namespace weft::net {
namespace {

class LinkMaker {
 public:
  LinkMaker(XmlDevices& devices, TopologyBuilder& builder, const Profile& profile, XmlChecks& checks)
      : devices_{devices}, builder_{builder}, profile_{profile}, checks_{checks} {}

  // Gathers the links to other devices by target, before any is made: the two ends must agree.
  void check_peers() {
    peers_.resize(devices_.placed.size());
    for (std::uint32_t i = 0; i < devices_.placed.size(); ++i) {
      const XmlElement& links = devices_.placed[i].gpu != nullptr ? *devices_.placed[i].gpu : *devices_.placed[i].element;
      for (std::size_t k = 0; k < links.children.size(); ++k) {
        if (is_gpu_link(links.children[k])) add_gpu_link(links.children[k], i, k);
        if (links.children[k].name == "pcilink" && devices_.host.devices[i].kind == DeviceKind::kPcieSwitch)
          add_pcilink(links.children[k], i, k);
      }
    }
    for (std::uint32_t i = 0; i < devices_.placed.size(); ++i) {
      for (const auto& [target, there] : peers_[i]) {
        if (target >= devices_.placed.size() || devices_.host.devices[target].kind != devices_.host.devices[i].kind) continue;
        const auto back = std::ranges::find(peers_[target], i, &Peers::value_type::first);
        const std::int64_t count = back == peers_[target].end() ? 0 : back->second.count;
        if (count == there.count || (count != 0 && target < i)) continue;
        const std::string& element = there.labels.front().second;
        checks_.fail_at(
            there.offset,
            fmt::format("{}.count: {} from {} to {}, but {} back", element, there.count, bus_id(i), bus_id(target), count),
            element.size() + 1);
      }
    }
  }

  void add_links() {
    for (std::uint32_t i = 0; i < devices_.placed.size(); ++i) add_links_of(i);
  }

 private:
  // The NVLinks (or PCIe peer links) of one device to one target.
  struct Peer {
    std::int64_t count = 0;
    Labels labels;
    std::size_t offset = 0;
    std::uint32_t link = kNoDevice;
  };
  using Peers = std::vector<std::pair<std::uint32_t, Peer>>;  // in file order of first mention

  [[nodiscard]] std::uint32_t cpu_of(std::uint32_t device) const {
    while (devices_.placed[device].parent != kNoDevice) device = devices_.placed[device].parent;
    return device;
  }

  std::uint32_t nv_switch() {
    if (nv_switch_ == kNoDevice) {
      nv_switch_ = static_cast<std::uint32_t>(devices_.host.devices.size());
      devices_.host.devices.push_back({.name = "nvswitch0", .kind = DeviceKind::kNvSwitch, .forwarding = {}, .labels = {}});
    }
    return nv_switch_;
  }

  static Peer& peer(Peers& peers, std::uint32_t target) {
    for (auto& [existing, found] : peers) {
      if (existing == target) return found;
    }
    peers.emplace_back(target, Peer{});
    return peers.back().second;
  }

  [[nodiscard]] std::string_view bus_id(std::uint32_t device) const {
    return text_of(*devices_.placed[device].element, "busid");
  }

  void add_gpu_link(const XmlElement& gpu_link, std::uint32_t gpu, std::size_t position) {
    const std::int64_t count = checks_.required_number(gpu_link, "count", 1, kMostNvlinks);
    const std::string* target_class = gpu_link.find("tclass");
    const std::string* target_bus = gpu_link.find("target");
    if (target_class == nullptr) return checks_.fail(gpu_link, fmt::format("{}.tclass: missing", gpu_link.name));
    if (target_bus == nullptr) return checks_.fail(gpu_link, fmt::format("{}.target: missing", gpu_link.name));
    std::uint32_t target = kNoDevice;
    switch (pci_role(*target_class)) {
      case PciRole::kGpu: {
        const auto number_of_target = bus_id_number(*target_bus);
        if (!number_of_target)
          return checks_.fail(gpu_link, fmt::format("{}.target: expected a bus id, got '{}'", gpu_link.name, *target_bus),
                              "target");
        const auto found = devices_.by_bus.find({devices_.placed[gpu].system, *number_of_target});
        const bool known = found != devices_.by_bus.end() && devices_.placed[found->second].gpu != nullptr;
        if (!known || found->second == gpu) {
          std::vector<std::size_t> path = devices_.placed[gpu].path;
          path.push_back(static_cast<std::size_t>(devices_.placed[gpu].gpu - devices_.placed[gpu].element->children.data()));
          path.push_back(position);
          return devices_.keep_raw(
              gpu_link, path,
              known ? fmt::format("{}.target: a link of the GPU at {} to itself reaches no other", gpu_link.name, *target_bus)
                    : fmt::format("{}.target: no GPU with a rank at {}, so NCCL ignores the link", gpu_link.name, *target_bus),
              checks_);
        }
        target = found->second;
        break;
      }
      case PciRole::kCpuBridge:
        target = cpu_of(gpu);
        break;
      default:
        target = nv_switch();
    }
    Peer& found = peer(peers_[gpu], target);
    found.count += count;
    found.offset = gpu_link.offset;
    append_labels(found.labels, gpu_link, position);
  }

  void add_pcilink(const XmlElement& link, std::uint32_t from, std::size_t position) {
    const std::string* target_bus = link.find("target");
    const auto target_number = target_bus == nullptr ? std::nullopt : bus_id_number(*target_bus);
    if (!target_number) return checks_.fail(link, "pcilink.target: expected a bus id", "target");
    const auto found = devices_.by_bus.find({devices_.placed[from].system, *target_number});
    if (found == devices_.by_bus.end() || found->second == from ||
        devices_.host.devices[found->second].kind != DeviceKind::kPcieSwitch) {
      std::vector<std::size_t> path = devices_.placed[from].path;
      path.push_back(position);
      return devices_.keep_raw(link, path,
                               fmt::format("pcilink.target: no other PCIe switch at {}, so NCCL ignores the link", *target_bus),
                               checks_);
    }
    Peer& there = peer(peers_[from], found->second);
    ++there.count;
    there.offset = link.offset;
    append_labels(there.labels, link, position);
  }

  std::uint32_t add_link(std::uint32_t from, std::uint32_t to, std::uint32_t spec, Labels labels) {
    devices_.host.links.push_back({.from = from, .to = to, .spec = spec, .twin = 0, .labels = std::move(labels)});
    return static_cast<std::uint32_t>(devices_.host.links.size() - 1);
  }
  void add_pair(std::uint32_t a, std::uint32_t b, const LinkSpec& link, Labels labels = {}) {
    const std::uint32_t spec = builder_.add_spec(link);
    const std::uint32_t there = add_link(a, b, spec, std::move(labels));
    const std::uint32_t back = add_link(b, a, spec, {});
    devices_.host.links[there].twin = back;
    devices_.host.links[back].twin = there;
  }

  // Switches pass packets on as fast as switches of the links they join, a CPU through its root complex (as node templates do).
  void forward_over(std::uint32_t device, const LinkSpec& link) {
    Forwarding& forwarding = devices_.host.devices[device].forwarding;
    if (devices_.host.devices[device].kind == DeviceKind::kCpu) {
      forwarding.latency = profile_.get(host_forwarding_params).root_complex_latency;
      return;
    }
    forwarding.latency = std::max(forwarding.latency, find_link_type(link.type)->switch_latency(profile_));
    forwarding.header = std::max(link.overhead, Bytes{16});  // the decision needs the packet's header only
  }

  void add_links_of(std::uint32_t device) {
    const PlacedElement& placed = devices_.placed[device];
    if (placed.parent == kNoDevice) {
      for (std::uint32_t other = device + 1; other < devices_.placed.size(); ++other) {
        if (devices_.placed[other].parent == kNoDevice && devices_.placed[other].system == placed.system)
          add_pair(device, other, socket_link_of(cpu_class(*devices_.placed[device].element), profile_));
      }
      return;
    }
    const LinkSpec up = placed.element->name == "nic" ? make_link_spec("local", 1, profile_) : pcie_link(*placed.element);
    add_pair(device, placed.parent, up);
    forward_over(placed.parent, up);
    if (devices_.host.devices[device].kind == DeviceKind::kPcieSwitch) forward_over(device, up);

    for (auto& [target, there] : peers_[device]) {
      const LinkSpec spec = peer_link(device, target, there);
      if (target >= devices_.placed.size() || devices_.host.devices[target].kind != devices_.host.devices[device].kind) {
        add_pair(device, target, spec, std::move(there.labels));
        if (devices_.host.devices[target].kind != DeviceKind::kGpu) forward_over(target, spec);
        continue;
      }
      // Each direction stands where its own GPU lists it, so that export finds both lists in order.
      there.link = add_link(device, target, builder_.add_spec(spec), std::move(there.labels));
      Peer& back = peer(peers_[target], device);
      if (back.link == kNoDevice) continue;
      devices_.host.links[there.link].twin = back.link;
      devices_.host.links[back.link].twin = there.link;
    }
    if (placed.gpu == nullptr) return;
    for (std::size_t i = 0; i < placed.gpu->children.size(); ++i) {
      if (placed.gpu->children[i].name == "c2c") add_c2c(placed.gpu->children[i], device, i);
    }
  }

  [[nodiscard]] LinkSpec peer_link(std::uint32_t from, std::uint32_t to, const Peer& there) {
    if (devices_.placed[from].gpu == nullptr) return make_link_spec("local", 1, profile_);
    const auto gcn = text_of(*devices_.placed[from].gpu, "gcn");
    if (there.labels.front().second == "xgmi") {
      const LinkParams params{.width = there.count, .rate = xgmi_link(gcn).rate * there.count};
      return make_link_spec("infinity_fabric", params, profile_);
    }
    const auto sm = [&](std::uint32_t gpu) {
      return parse_attribute_integer(text_of(*devices_.placed[gpu].gpu, "sm")).value_or(0);
    };
    std::int64_t least = sm(from);
    if (to < devices_.placed.size() && devices_.placed[to].gpu != nullptr) least = std::min(least, sm(to));
    return nvlinks_of(least, there.count, profile_);
  }

  void add_c2c(const XmlElement& c2c, std::uint32_t gpu, std::size_t position) {
    const std::int64_t megabytes_per_second = checks_.required_number(c2c, "bw", 1, kMostC2cMegabytesPerSecond);
    const std::int64_t count = checks_.required_number(c2c, "count", 1, kMostNvlinks);
    const auto rate = Bandwidth::from_bytes_per_second(1'000'000 * megabytes_per_second * count);
    Labels labels;
    append_labels(labels, c2c, position);
    LinkSpec spec = make_link_spec("c2c", LinkParams{.rate = rate}, profile_);
    spec.width = static_cast<int>(count);
    add_pair(gpu, cpu_of(gpu), spec, std::move(labels));
  }

  LinkSpec pcie_link(const XmlElement& pci) {
    const std::string_view speed = text_of(pci, "link_speed");
    std::string_view type = "pcie3";
    std::optional<Bandwidth> rate_per_lane;
    if (const auto lane_rate = pcie_lane_rate(speed)) {
      type = *lane_rate >= 480 ? "pcie6" : *lane_rate >= 240 ? "pcie5" : *lane_rate >= 120 ? "pcie4" : "pcie3";
      // Generations 1 and 2 send 2.5 and 5 GT/s in 8b/10b (models/network §1.4); their packets are those of generation 3.
      if (*lane_rate == 15) rate_per_lane = Bandwidth::from_bits_per_second(2'000'000'000);
      if (*lane_rate == 30) rate_per_lane = Bandwidth::from_bits_per_second(4'000'000'000);
    } else {
      checks_.warn(
          pci, fmt::format("pci.link_speed: '{}' at {} is unknown, taken as PCIe 3 (8.0 GT/s)", speed, text_of(pci, "busid")),
          "link_speed");
    }
    std::int64_t lanes = kDefaultPcieLanes;
    const std::string_view width = text_of(pci, "link_width");
    const auto given = parse_attribute_integer(width);
    constexpr std::int64_t kWidths[] = {1, 2, 4, 8, 12, 16, 32};
    if (given && std::ranges::find(kWidths, *given) != std::end(kWidths)) {
      lanes = *given;
    } else {
      checks_.warn(pci, fmt::format("pci.link_width: '{}' at {} is unknown, taken as x16", width, text_of(pci, "busid")),
                   "link_width");
    }
    LinkParams params{.width = lanes};
    if (rate_per_lane) params.rate = *rate_per_lane * lanes;
    return make_link_spec(type, params, profile_);
  }

  XmlDevices& devices_;
  TopologyBuilder& builder_;
  const Profile& profile_;
  XmlChecks& checks_;
  std::vector<Peers> peers_;  // by device
  std::uint32_t nv_switch_ = kNoDevice;
};

}  // namespace

LinkSpec nvlinks_of(std::int64_t sm, std::int64_t count, const Profile& profile) {
  const int generation = sm >= 100 ? 5 : sm >= 90 ? 4 : sm >= 80 ? 3 : sm >= 70 ? 2 : 1;
  LinkParams params{.width = count};
  // NVLink 3 of GA10x has 4 lanes a link at 28.125 Gb/s (models/network §1.1).
  if (sm == 86) params.rate = Bandwidth::from_bits_per_second(count * 112'500'000'000);
  return make_link_spec(fmt::format("nvlink{}", generation), params, profile);
}

LinkSpec socket_link_of(const CpuClass& c, const Profile& profile) {
  if (c.vendor == CpuVendor::kAmd) return make_link_spec("xgmi", 1, profile);
  if (c.vendor == CpuVendor::kIntel && c.model == CpuModel::kBroadwell) return make_link_spec("qpi", 1, profile);
  if (c.vendor == CpuVendor::kIntel && c.model == CpuModel::kSkylake) return make_link_spec("upi", 1, profile);
  if (c.vendor == CpuVendor::kIntel && c.model == CpuModel::kSapphireRapids) return make_link_spec("upi2", 1, profile);
  const bool unknown = c.arch == CpuArch::kUnknown || (c.arch == CpuArch::kX86 && c.vendor == CpuVendor::kUnknown);
  if (unknown) return make_link_spec("local", 1, profile);
  const auto planned = static_cast<std::int64_t>(inter_socket_gigabytes_per_second(c));
  const LinkParams params{.rate = Bandwidth::from_bytes_per_second(planned * 1'000'000'000), .efficiency = 1.0};
  return make_link_spec(c.vendor == CpuVendor::kIntel ? "upi2" : "socket", params, profile);
}

void add_links(XmlDevices& devices, TopologyBuilder& builder, const Profile& profile, XmlChecks& checks) {
  LinkMaker links{devices, builder, profile, checks};
  links.check_peers();
  checks.throw_if_failed();
  links.add_links();
}

}  // namespace weft::net
