#include "sim/network/import/nccl_xml_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sim/network/link_type.h"
#include "sim/network/node_template.h"

namespace weft::net {
namespace {

// `position`: the element's place among its siblings, where the order of links does not tell.
void append_labels(Labels& labels, const XmlElement& element, std::optional<std::size_t> position = {}) {
  labels.emplace_back(kElementLabel, element.name);
  if (position) labels.emplace_back(kPositionLabel, fmt::format("{}", *position));
  labels.insert(labels.end(), element.attributes.begin(), element.attributes.end());
}

std::string_view text_of(const XmlElement& element, std::string_view attribute) {
  const std::string* value = element.find(attribute);
  return value == nullptr ? std::string_view{} : std::string_view{*value};
}

// The NVLink generation of a GPU (nccl-model §1.2).
int nvlink_generation(std::int64_t sm) { return sm >= 100 ? 5 : sm >= 90 ? 4 : sm >= 80 ? 3 : sm >= 70 ? 2 : 1; }

// More than any GPU has; they bound the width and rate of a link.
constexpr std::int64_t kMostNvlinks = kMaxLinkWidth;
constexpr std::int64_t kMostC2cMegabytesPerSecond = 10'000'000;

class Importer {
 public:
  Importer(const SourceText& source, const Profile& profile) : source_{source}, profile_{profile} {}

  Imported run(const XmlElement& system, const std::string& name) {
    host_.name = name;
    if (system.name != "system") {
      fail(system, fmt::format("expected the root element 'system' of an NCCL topology, got '{}'", system.name));
      throw ConfigError(errors_);
    }
    const std::string* version = system.find("version");
    if (version == nullptr || *version != "1") {
      fail(system, fmt::format("system.version: expected 1, got {}", version == nullptr ? "none" : "'" + *version + "'"),
           "version");
    }
    refuse_reserved(system);
    append_labels(host_.labels, system);
    std::vector<std::size_t> path;
    for (std::size_t i = 0; i < system.children.size(); ++i) {
      path.assign(1, i);
      const XmlElement& child = system.children[i];
      if (child.name == "cpu") {
        add_cpu(child, path);
      } else {
        keep_raw(child, path, fmt::format("element '{}' is unknown here", child.name));
      }
    }
    const bool any_gpu = std::ranges::any_of(placed_, [](const Placed& p) { return p.gpu != nullptr; });
    if (!any_gpu && errors_.empty()) fail(system, "system: no GPU with a rank; NCCL ignores a gpu without one");
    check_peers();
    if (!errors_.empty()) throw ConfigError(errors_);
    name_devices();
    for (std::uint32_t i = 0; i < placed_.size(); ++i) add_links(i);
    std::ranges::sort(raw_);
    for (const auto& [path_of_raw, text] : raw_)
      host_.labels.emplace_back(fmt::format("raw {}", fmt::join(path_of_raw, "/")), text);
    builder_.add_host(builder_.add_template(std::move(host_)));
    return {std::move(builder_).freeze(), std::move(warnings_)};
  }

 private:
  static constexpr std::uint32_t kNone = 0xFFFF'FFFF;

  // What a device was made from.
  struct Placed {
    const XmlElement* element = nullptr;
    const XmlElement* gpu = nullptr;
    std::uint32_t parent = kNone;
    std::int64_t system = 0;  // which OS host
    std::vector<std::size_t> path;
  };

  // The NVLinks (or PCIe peer links) of one device to one target.
  struct Peer {
    std::int64_t count = 0;
    Labels labels;
    std::size_t offset = 0;
    std::uint32_t link = kNone;
  };
  using Peers = std::vector<std::pair<std::uint32_t, Peer>>;  // in file order of first mention

  // ---- messages

  // Byte offset of an attribute of the element, for the caret; the element itself where it has none of that name.
  [[nodiscard]] std::size_t offset_of(const XmlElement& element, std::string_view attribute) const {
    if (attribute.empty()) return element.offset;
    const std::string_view text = source_.text();
    const std::size_t end = std::min(text.find('>', element.offset), text.size());
    for (std::size_t at = text.find(attribute, element.offset); at < end; at = text.find(attribute, at + 1)) {
      const char before = text[at - 1];
      const std::size_t after = at + attribute.size();
      if ((before == ' ' || before == '\t' || before == '\n') && after < end && (text[after] == '=' || text[after] == ' '))
        return at;
    }
    return element.offset;
  }
  Diagnostic locate(const XmlElement& element, std::string message, std::string_view attribute) const {
    const std::size_t length =
        attribute.empty() || element.find(attribute) == nullptr ? element.name.size() + 1 : attribute.size();
    return source_.at(offset_of(element, attribute), std::move(message), static_cast<int>(length));
  }
  void fail(const XmlElement& element, std::string message, std::string_view attribute = {}) {
    errors_.push_back(locate(element, std::move(message), attribute));
  }
  void warn(const XmlElement& element, std::string message, std::string_view attribute = {}) {
    warnings_.push_back(locate(element, std::move(message), attribute));
  }

  // ---- attributes

  // Labels tell elements apart by keys of their own.
  void refuse_reserved(const XmlElement& element) {
    for (const std::string_view reserved : {kElementLabel, kPositionLabel}) {
      if (element.find(reserved) != nullptr)
        fail(element, fmt::format("{}.{}: no attribute of an NCCL topology", element.name, reserved), reserved);
    }
    for (const XmlElement& child : element.children) refuse_reserved(child);
  }

  std::optional<std::int64_t> number(const XmlElement& element, std::string_view attribute, std::int64_t least,
                                     std::int64_t most) {
    const std::string* text = element.find(attribute);
    if (text == nullptr) return std::nullopt;
    const auto value = parse_attribute_integer(*text);
    if (!value) {
      fail(element, fmt::format("{}.{}: expected a whole number, got '{}'", element.name, attribute, *text), attribute);
    } else if (*value < least || *value > most) {
      fail(element, fmt::format("{}.{}: expected {} to {}, got {}", element.name, attribute, least, most, *value), attribute);
    } else {
      return value;
    }
    return std::nullopt;
  }
  std::int64_t required_number(const XmlElement& element, std::string_view attribute, std::int64_t least, std::int64_t most) {
    if (element.find(attribute) == nullptr) fail(element, fmt::format("{}.{}: missing", element.name, attribute));
    return number(element, attribute, least, most).value_or(least);
  }

  // ---- devices

  void keep_raw(const XmlElement& element, const std::vector<std::size_t>& path, const std::string& why) {
    if (!why.empty()) warn(element, why + "; kept for export, not part of the topology");
    raw_.emplace_back(path, to_text(element));
  }

  std::uint32_t place(DeviceKind kind, const XmlElement& element, std::uint32_t parent, std::int64_t system,
                      const std::vector<std::size_t>& path) {
    TemplateDevice device;
    device.kind = kind;
    append_labels(device.labels, element);
    host_.devices.push_back(std::move(device));
    placed_.push_back({.element = &element, .gpu = nullptr, .parent = parent, .system = system, .path = path});
    return static_cast<std::uint32_t>(placed_.size() - 1);
  }

  void add_cpu(const XmlElement& cpu, std::vector<std::size_t>& path) {
    required_number(cpu, "numaid", -1, 255);
    number(cpu, "familyid", 0, 1 << 16);
    number(cpu, "modelid", 0, 1 << 16);
    const std::string_view arch = text_of(cpu, "arch");
    if (arch != "x86_64" && arch != "arm64" && arch != "ppc64") {
      warn(cpu,
           fmt::format("cpu.arch: '{}' is not one of x86_64, arm64, ppc64; the link to other CPUs is taken as never limiting",
                       arch),
           "arch");
    } else if (arch == "x86_64" && cpu_class(cpu).vendor == CpuVendor::kUnknown) {
      warn(
          cpu,
          fmt::format("cpu.vendor: '{}' is unknown; the link to other CPUs is taken as never limiting", text_of(cpu, "vendor")),
          "vendor");
    }
    const std::string hash{text_of(cpu, "host_hash")};
    const auto system = static_cast<std::int64_t>(systems_.try_emplace(hash, systems_.size()).first->second);
    const std::uint32_t self = place(DeviceKind::kCpu, cpu, kNone, system, path);
    for (std::size_t i = 0; i < cpu.children.size(); ++i) {
      path.push_back(i);
      const XmlElement& child = cpu.children[i];
      if (child.name == "pci") {
        add_pci(child, self, path);
      } else if (child.name == "nic") {
        add_nic(child, place(DeviceKind::kNic, child, self, system, path), path);
      } else {
        keep_raw(child, path, fmt::format("cpu: element '{}' is unknown here", child.name));
      }
      path.pop_back();
    }
  }

  void add_pci(const XmlElement& pci, std::uint32_t parent, std::vector<std::size_t>& path) {
    const XmlElement* gpu = pci.child("gpu");
    const XmlElement* nic = pci.child("nic");
    const std::string* bus_id = pci.find("busid");
    const std::string* pci_class = pci.find("class");
    if (bus_id == nullptr || !bus_id_number(*bus_id)) {
      fail(pci,
           bus_id == nullptr ? "pci.busid: missing"
                             : fmt::format("pci.busid: expected a bus id such as 0000:1b:00.0, got '{}'", *bus_id),
           "busid");
      return;
    }
    if (pci_class == nullptr || !pci_class->starts_with("0x")) {
      fail(pci,
           fmt::format("pci.class: expected a PCI class such as 0x030200, got {}",
                       pci_class == nullptr ? "none" : "'" + *pci_class + "'"),
           "class");
      return;
    }
    if (gpu != nullptr && gpu->find("rank") == nullptr) {
      return keep_raw(pci, path, fmt::format("gpu.rank: the GPU at {} has none, so NCCL ignores it", *bus_id));
    }
    const PciRole role = pci_role(*pci_class);
    if (gpu == nullptr && nic == nullptr && role != PciRole::kSwitch) {
      // An NVSwitch's own function is expected beside GPUs that name it as a target.
      return keep_raw(pci, path,
                      role == PciRole::kNvSwitch
                          ? ""
                          : fmt::format("pci.class: {} at {} holds no gpu or nic, so NCCL ignores it", *pci_class, *bus_id));
    }
    const std::int64_t system = placed_[parent].system;
    const DeviceKind kind = gpu != nullptr ? DeviceKind::kGpu : nic != nullptr ? DeviceKind::kNic : DeviceKind::kPcieSwitch;
    const std::uint32_t self = place(kind, pci, parent, system, path);
    const auto [first, is_new] = by_bus_.try_emplace({system, *bus_id_number(*bus_id)}, self);
    if (!is_new) fail(pci, fmt::format("pci.busid: {} is given twice", *bus_id), "busid");

    for (std::size_t i = 0; i < pci.children.size(); ++i) {
      path.push_back(i);
      const XmlElement& child = pci.children[i];
      if (&child == gpu) {
        add_gpu(child, self, path);
      } else if (&child == nic) {
        append_labels(host_.devices[self].labels, child);
        add_nic(child, self, path);
      } else if (child.name == "pci" && kind == DeviceKind::kPcieSwitch) {
        add_pci(child, self, path);
      } else if (child.name == "pcilink" && kind == DeviceKind::kPcieSwitch) {
        // Resolved when all bus ids are known.
      } else {
        keep_raw(child, path,
                 child.name == "gpu" ? "gpu: a second GPU on one PCI function (a partition) is not modelled"
                                     : fmt::format("pci: element '{}' is unknown here", child.name));
      }
      path.pop_back();
    }
  }

  void add_gpu(const XmlElement& gpu, std::uint32_t self, std::vector<std::size_t>& path) {
    placed_[self].gpu = &gpu;
    append_labels(host_.devices[self].labels, gpu);
    const std::int64_t dev = required_number(gpu, "dev", 0, 1 << 20);
    const std::int64_t rank = required_number(gpu, "rank", 0, 1 << 20);
    required_number(gpu, "sm", 30, 999);
    number(gpu, "gdr", 0, 1);
    if (!devs_.emplace(placed_[self].system, dev).second) fail(gpu, fmt::format("gpu.dev: {} is given twice", dev), "dev");
    if (!ranks_.insert(rank).second) fail(gpu, fmt::format("gpu.rank: {} is given twice", rank), "rank");
    for (std::size_t i = 0; i < gpu.children.size(); ++i) {
      const XmlElement& child = gpu.children[i];
      if (child.name == "c2c") {
        required_number(child, "bw", 1, kMostC2cMegabytesPerSecond);
        required_number(child, "count", 1, kMostNvlinks);
      }
      if (child.name == "nvlink" || child.name == "c2c") continue;  // resolved when all bus ids are known
      path.push_back(i);
      keep_raw(child, path, fmt::format("gpu: element '{}' is unknown here", child.name));
      path.pop_back();
    }
  }

  void add_nic(const XmlElement& nic, std::uint32_t self, std::vector<std::size_t>& path) {
    for (std::size_t i = 0; i < nic.children.size(); ++i) {
      const XmlElement& net = nic.children[i];
      if (net.name != "net" && net.name != "gin" && net.name != "rma") {
        path.push_back(i);
        keep_raw(net, path, fmt::format("nic: element '{}' is unknown here", net.name));
        path.pop_back();
        continue;
      }
      append_labels(host_.devices[self].labels, net);
      number(net, "dev", 0, 1 << 20);
      if (number(net, "speed", -1, 100'000'000).value_or(0) <= 0) {
        warn(net, fmt::format("{}.speed: unknown, taken as 10000 (Mb/s) as NCCL does", net.name), "speed");
      }
      for (const char* attribute : {"port", "maxconn", "coll", "gdr"}) number(net, attribute, -1, 1 << 30);
    }
  }

  void name_devices() {
    std::set<std::string> taken;
    std::map<DeviceKind, int> next;
    for (std::size_t i = 0; i < placed_.size(); ++i) {
      TemplateDevice& device = host_.devices[i];
      const char* stem = device.kind == DeviceKind::kGpu   ? "gpu"
                         : device.kind == DeviceKind::kNic ? "nic"
                         : device.kind == DeviceKind::kCpu ? "cpu"
                                                           : "pcie_switch";
      // NVML's and the plugin's numbers start again on every OS host.
      if (systems_.size() == 1 && (device.kind == DeviceKind::kGpu || device.kind == DeviceKind::kNic)) {
        for (const XmlElement& element : elements_of(device.labels)) {
          if (element.name != "gpu" && element.name != "net") continue;
          if (const auto dev = parse_attribute_integer(text_of(element, "dev"))) device.name = fmt::format("{}{}", stem, *dev);
          break;
        }
        if (!device.name.empty() && taken.insert(device.name).second) continue;
      }
      do {
        device.name = fmt::format("{}{}", stem, next[device.kind]++);
      } while (!taken.insert(device.name).second);
    }
  }

  // ---- links

  [[nodiscard]] std::uint32_t cpu_of(std::uint32_t device) const {
    while (placed_[device].parent != kNone) device = placed_[device].parent;
    return device;
  }

  std::uint32_t nv_switch() {
    if (nv_switch_ == kNone) {
      nv_switch_ = static_cast<std::uint32_t>(host_.devices.size());
      host_.devices.push_back({.name = "nvswitch0", .kind = DeviceKind::kNvSwitch, .forwarding = {}, .labels = {}});
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

  // Gathers the links to other devices by target, before any is made: the two ends must agree.
  void check_peers() {
    peers_.resize(placed_.size());
    for (std::uint32_t i = 0; i < placed_.size(); ++i) {
      const XmlElement& links = placed_[i].gpu != nullptr ? *placed_[i].gpu : *placed_[i].element;
      for (std::size_t k = 0; k < links.children.size(); ++k) {
        if (links.children[k].name == "nvlink") add_nvlink(links.children[k], i, k);
        if (links.children[k].name == "pcilink" && host_.devices[i].kind == DeviceKind::kPcieSwitch)
          add_pcilink(links.children[k], i, k);
      }
    }
    for (std::uint32_t i = 0; i < placed_.size(); ++i) {
      for (const auto& [target, there] : peers_[i]) {
        if (target >= placed_.size() || host_.devices[target].kind != host_.devices[i].kind) continue;
        const auto back = std::ranges::find(peers_[target], i, &Peers::value_type::first);
        const std::int64_t count = back == peers_[target].end() ? 0 : back->second.count;
        if (count == there.count || (count != 0 && target < i)) continue;
        const std::string_view element = placed_[i].gpu != nullptr ? "nvlink" : "pcilink";
        errors_.push_back(source_.at(
            there.offset,
            fmt::format("{}.count: {} from {} to {}, but {} back", element, there.count, bus_id(i), bus_id(target), count),
            static_cast<int>(element.size()) + 1));
      }
    }
  }

  [[nodiscard]] std::string_view bus_id(std::uint32_t device) const { return text_of(*placed_[device].element, "busid"); }

  void add_nvlink(const XmlElement& nvlink, std::uint32_t gpu, std::size_t position) {
    const std::int64_t count = required_number(nvlink, "count", 1, kMostNvlinks);
    const std::string* target_class = nvlink.find("tclass");
    const std::string* target_bus = nvlink.find("target");
    if (target_class == nullptr) return fail(nvlink, "nvlink.tclass: missing");
    if (target_bus == nullptr) return fail(nvlink, "nvlink.target: missing");
    std::uint32_t target = kNone;
    switch (pci_role(*target_class)) {
      case PciRole::kGpu: {
        const auto number_of_target = bus_id_number(*target_bus);
        if (!number_of_target)
          return fail(nvlink, fmt::format("nvlink.target: expected a bus id, got '{}'", *target_bus), "target");
        const auto found = by_bus_.find({placed_[gpu].system, *number_of_target});
        if (found == by_bus_.end() || placed_[found->second].gpu == nullptr) {
          std::vector<std::size_t> path = placed_[gpu].path;
          path.push_back(static_cast<std::size_t>(placed_[gpu].gpu - placed_[gpu].element->children.data()));
          path.push_back(position);
          return keep_raw(nvlink, path,
                          fmt::format("nvlink.target: no GPU with a rank at {}, so NCCL ignores the link", *target_bus));
        }
        if (found->second == gpu) return fail(nvlink, "nvlink.target: a GPU's NVLink to itself", "target");
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
    found.offset = nvlink.offset;
    append_labels(found.labels, nvlink, position);
  }

  void add_pcilink(const XmlElement& link, std::uint32_t from, std::size_t position) {
    const std::string* target_bus = link.find("target");
    const auto target_number = target_bus == nullptr ? std::nullopt : bus_id_number(*target_bus);
    if (!target_number) return fail(link, "pcilink.target: expected a bus id", "target");
    const auto found = by_bus_.find({placed_[from].system, *target_number});
    if (found == by_bus_.end() || found->second == from || host_.devices[found->second].kind != DeviceKind::kPcieSwitch) {
      std::vector<std::size_t> path = placed_[from].path;
      path.push_back(position);
      return keep_raw(link, path,
                      fmt::format("pcilink.target: no other PCIe switch at {}, so NCCL ignores the link", *target_bus));
    }
    Peer& there = peer(peers_[from], found->second);
    ++there.count;
    there.offset = link.offset;
    append_labels(there.labels, link, position);
  }

  std::uint32_t add_link(std::uint32_t from, std::uint32_t to, std::uint32_t spec, Labels labels) {
    host_.links.push_back({.from = from, .to = to, .spec = spec, .twin = 0, .labels = std::move(labels)});
    return static_cast<std::uint32_t>(host_.links.size() - 1);
  }
  void add_pair(std::uint32_t a, std::uint32_t b, const LinkSpec& link, Labels labels = {}) {
    const std::uint32_t spec = builder_.add_spec(link);
    const std::uint32_t there = add_link(a, b, spec, std::move(labels));
    const std::uint32_t back = add_link(b, a, spec, {});
    host_.links[there].twin = back;
    host_.links[back].twin = there;
  }

  // Switches pass packets on as fast as switches of the links they join, a CPU through its root complex (as node templates do).
  void forward_over(std::uint32_t device, const LinkSpec& link) {
    Forwarding& forwarding = host_.devices[device].forwarding;
    if (host_.devices[device].kind == DeviceKind::kCpu) {
      forwarding.latency = profile_.get(host_forwarding_params).root_complex_latency;
      return;
    }
    forwarding.latency = std::max(forwarding.latency, find_link_type(link.type)->switch_latency(profile_));
    forwarding.header = std::max(link.overhead, Bytes{16});  // the decision needs the packet's header only
  }

  void add_links(std::uint32_t device) {
    const Placed& placed = placed_[device];
    if (placed.parent == kNone) {
      for (std::uint32_t other = device + 1; other < placed_.size(); ++other) {
        if (placed_[other].parent == kNone && placed_[other].system == placed.system)
          add_pair(device, other, socket_link(device));
      }
      return;
    }
    const LinkSpec up = placed.element->name == "nic" ? make_link_spec("local", 1, profile_) : pcie_link(*placed.element);
    add_pair(device, placed.parent, up);
    forward_over(placed.parent, up);
    if (host_.devices[device].kind == DeviceKind::kPcieSwitch) forward_over(device, up);

    for (auto& [target, there] : peers_[device]) {
      const LinkSpec spec = peer_link(device, target, there.count);
      if (target >= placed_.size() || host_.devices[target].kind != host_.devices[device].kind) {
        add_pair(device, target, spec, std::move(there.labels));
        if (host_.devices[target].kind != DeviceKind::kGpu) forward_over(target, spec);
        continue;
      }
      // Each direction stands where its own GPU lists it, so that export finds both lists in order.
      there.link = add_link(device, target, builder_.add_spec(spec), std::move(there.labels));
      Peer& back = peer(peers_[target], device);
      if (back.link == kNone) continue;
      host_.links[there.link].twin = back.link;
      host_.links[back.link].twin = there.link;
    }
    if (placed.gpu == nullptr) return;
    for (std::size_t i = 0; i < placed.gpu->children.size(); ++i) {
      if (placed.gpu->children[i].name == "c2c") add_c2c(placed.gpu->children[i], device, i);
    }
  }

  [[nodiscard]] LinkSpec peer_link(std::uint32_t from, std::uint32_t to, std::int64_t count) {
    if (placed_[from].gpu == nullptr) return make_link_spec("local", 1, profile_);
    const auto sm = [&](std::uint32_t gpu) { return parse_attribute_integer(text_of(*placed_[gpu].gpu, "sm")).value_or(0); };
    std::int64_t least = sm(from);
    if (to < placed_.size() && placed_[to].gpu != nullptr) least = std::min(least, sm(to));
    LinkParams params{.width = count};
    // NVLink 3 of GA10x has 4 lanes a link at 28.125 Gb/s (network-models §1.1).
    if (least == 86) params.rate = Bandwidth::from_bits_per_second(count * 112'500'000'000);
    return make_link_spec(fmt::format("nvlink{}", nvlink_generation(least)), params, profile_);
  }

  void add_c2c(const XmlElement& c2c, std::uint32_t gpu, std::size_t position) {
    const std::int64_t megabytes_per_second = required_number(c2c, "bw", 1, kMostC2cMegabytesPerSecond);
    const std::int64_t count = required_number(c2c, "count", 1, kMostNvlinks);
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
      // Generations 1 and 2 send 2.5 and 5 GT/s in 8b/10b (network-models §1.4); their packets are those of generation 3.
      if (*lane_rate == 15) rate_per_lane = Bandwidth::from_bits_per_second(2'000'000'000);
      if (*lane_rate == 30) rate_per_lane = Bandwidth::from_bits_per_second(4'000'000'000);
    } else {
      warn(pci, fmt::format("pci.link_speed: '{}' at {} is unknown, taken as PCIe 3 (8.0 GT/s)", speed, text_of(pci, "busid")),
           "link_speed");
    }
    std::int64_t lanes = kDefaultPcieLanes;
    const std::string_view width = text_of(pci, "link_width");
    const auto given = parse_attribute_integer(width);
    constexpr std::int64_t kWidths[] = {1, 2, 4, 8, 12, 16, 32};
    if (given && std::ranges::find(kWidths, *given) != std::end(kWidths)) {
      lanes = *given;
    } else {
      warn(pci, fmt::format("pci.link_width: '{}' at {} is unknown, taken as x16", width, text_of(pci, "busid")), "link_width");
    }
    LinkParams params{.width = lanes};
    if (rate_per_lane) params.rate = *rate_per_lane * lanes;
    return make_link_spec(type, params, profile_);
  }

  // By what NCCL plans with between these CPUs (nccl-model §1.2). The types carry that value as raw rate times efficiency
  // (network-models §1.5); where none of them has it, the link states it itself.
  [[nodiscard]] LinkSpec socket_link(std::uint32_t cpu) const {
    const CpuClass c = cpu_class(*placed_[cpu].element);
    if (c.vendor == CpuVendor::kAmd) return make_link_spec("xgmi", 1, profile_);
    if (c.vendor == CpuVendor::kIntel && c.model == CpuModel::kBroadwell) return make_link_spec("qpi", 1, profile_);
    if (c.vendor == CpuVendor::kIntel && c.model == CpuModel::kSkylake) return make_link_spec("upi", 1, profile_);
    if (c.vendor == CpuVendor::kIntel && c.model == CpuModel::kSapphireRapids) return make_link_spec("upi2", 1, profile_);
    const bool unknown = c.arch == CpuArch::kUnknown || (c.arch == CpuArch::kX86 && c.vendor == CpuVendor::kUnknown);
    if (unknown) return make_link_spec("local", 1, profile_);
    const auto planned = static_cast<std::int64_t>(inter_socket_gigabytes_per_second(c));
    const LinkParams params{.rate = Bandwidth::from_bytes_per_second(planned * 1'000'000'000), .efficiency = 1.0};
    return make_link_spec(c.vendor == CpuVendor::kIntel ? "upi2" : "socket", params, profile_);
  }

  const SourceText& source_;
  const Profile& profile_;
  TopologyBuilder builder_;
  HostTemplate host_;
  std::vector<Placed> placed_;  // device i of the template, but for the NVSwitch, which comes last
  std::vector<Peers> peers_;
  std::map<std::string, std::size_t> systems_;  // host_hash -> OS host
  std::map<std::pair<std::int64_t, std::uint64_t>, std::uint32_t> by_bus_;
  std::set<std::pair<std::int64_t, std::int64_t>> devs_;
  std::set<std::int64_t> ranks_;
  std::vector<std::pair<std::vector<std::size_t>, std::string>> raw_;  // place in the file, text
  std::uint32_t nv_switch_ = kNone;
  std::vector<Diagnostic> errors_;
  std::vector<Diagnostic> warnings_;
};

// "topo_4gpu" of "a/b/topo_4gpu.xml".
std::string stem(const std::string& file) {
  const std::size_t slash = file.find_last_of('/');
  const std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
  return name.substr(0, name.find('.'));
}

}  // namespace

std::vector<XmlElement> elements_of(const Labels& labels) {
  std::vector<XmlElement> elements;
  for (const auto& [key, value] : labels) {
    if (key == kElementLabel) {
      elements.push_back({.name = value, .attributes = {}, .children = {}, .offset = kNoPosition});
    } else if (key == kPositionLabel && !elements.empty()) {
      elements.back().offset = static_cast<std::size_t>(parse_attribute_integer(value).value_or(0));
    } else if (!elements.empty()) {
      elements.back().attributes.emplace_back(key, value);
    }
  }
  return elements;
}

Imported import_nccl_xml(std::string_view text, const std::string& file, const Profile& profile) {
  const SourceText source{file, text};
  const XmlElement system = parse_xml(source);
  return Importer{source, profile}.run(system, stem(file));
}

Imported import_nccl_xml_file(const std::string& path, const Profile& profile) {
  return import_nccl_xml(read_text_file(path), path, profile);
}

}  // namespace weft::net
