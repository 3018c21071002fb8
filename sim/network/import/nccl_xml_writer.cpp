#include "sim/network/import/nccl_xml_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "sim/core/config/quantity.h"
#include "sim/core/error.h"
#include "sim/network/builtin.h"
#include "sim/network/import/nccl_xml_links.h"
#include "sim/network/import/nccl_xml_reader.h"
#include "sim/network/link_type.h"

namespace weft::net {
namespace {

constexpr std::uint32_t kAbsent = 0xFFFF'FFFF;

bool came_from_file(const Labels& labels) { return !labels.empty() && labels.front().first == kElementLabel; }

LinkMedium medium_of(const LinkSpec& spec) {
  const LinkType* type = find_link_type(spec.type);
  return type == nullptr ? LinkMedium::kLocal : type->medium();
}

int trailing_number(std::string_view type) {
  const std::size_t digits = type.find_last_not_of("0123456789") + 1;
  int value = 0;
  std::from_chars(type.data() + digits, type.data() + type.size(), value);
  return value;
}

// By generation. An attachment that is not PCIe is unknown to NCCL, which writes so.
constexpr const char* kPcieSpeeds[] = {
    "", "2.5 GT/s PCIe", "5.0 GT/s PCIe", "8.0 GT/s PCIe", "16.0 GT/s PCIe", "32.0 GT/s PCIe", "64.0 GT/s PCIe"};

class Writer {
 public:
  Writer(const Topology& topology, std::size_t host)
      : topology_{topology}, host_{host}, tmpl_{topology.template_of_host(host)} {
    out_.resize(tmpl_.devices.size());
    for (std::uint32_t i = 0; i < tmpl_.links.size(); ++i) out_[tmpl_.links[i].from].push_back(i);
  }

  XmlElement write() {
    if (tmpl_.of_kind(DeviceKind::kGpu).empty()) {
      throw ConfigError(fmt::format("host '{}' has no GPU: NCCL's topology file cannot describe it", tmpl_.name));
    }
    if (!came_from_file(tmpl_.labels)) refuse_nvswitch_groups();
    find_parents();
    find_systems();
    invent_bus_ids();
    XmlElement system = element("system", {{"version", has_xgmi() ? "2" : "1"}});
    if (came_from_file(tmpl_.labels)) system.attributes = elements_of_host().attributes;
    for (std::uint32_t i = 0; i < tmpl_.devices.size(); ++i) {
      if (tmpl_.devices[i].kind == DeviceKind::kCpu) system.children.push_back(cpu(i));
    }
    if (system.children.empty()) system.children.push_back(made_up_cpu());
    for (const auto& [key, text] : tmpl_.labels) {
      if (key.starts_with("raw ")) insert_raw(system, std::string_view{key}.substr(4), text);
    }
    return system;
  }

  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

  std::vector<NcclNet> nets() {
    find_parents();
    find_systems();
    invent_bus_ids();
    std::vector<NcclNet> found;
    const auto collect = [&](const auto& self, const XmlElement& at, std::uint32_t nic) -> void {
      const std::string* dev = at.name == "net" ? at.find("dev") : nullptr;
      if (const auto number = dev == nullptr ? std::nullopt : parse_attribute_integer(*dev))
        found.push_back({nic, static_cast<int>(system_[nic]), *number});
      for (const XmlElement& child : at.children) self(self, child, nic);
    };
    for (const std::uint32_t nic : tmpl_.of_kind(DeviceKind::kNic)) collect(collect, device(nic), nic);
    return found;
  }

 private:
  static XmlElement element(std::string name, Labels attributes) {
    return {.name = std::move(name), .attributes = std::move(attributes), .children = {}, .offset = kNoPosition};
  }

  [[nodiscard]] const LinkSpec& spec(const TemplateLink& link) const { return topology_.spec_at(link.spec); }
  [[nodiscard]] DeviceKind kind(std::uint32_t device) const { return tmpl_.devices[device].kind; }
  [[nodiscard]] const Labels& labels(std::uint32_t device) const { return tmpl_.devices[device].labels; }
  // An attribute that a node template states as a label (wiring.h): its names and forms for what NCCL wants.
  [[nodiscard]] std::string label_or(std::uint32_t device, std::string_view attribute, std::string otherwise) const {
    constexpr std::pair<std::string_view, std::string_view> kLabelOf[] = {
        {"busid", "bus_id"}, {"numaid", "numa"}, {"familyid", "family"}, {"modelid", "model"}, {"name", "net_name"}};
    const auto renamed = std::ranges::find(kLabelOf, attribute, &std::pair<std::string_view, std::string_view>::first);
    const std::string* value = find_label(labels(device), renamed == std::end(kLabelOf) ? attribute : renamed->second);
    if (value == nullptr) return otherwise;
    if (*value == "true" || *value == "false") return *value == "true" ? "1" : "0";
    if (attribute == "speed") {
      if (const auto rate = parse_bandwidth(*value)) return fmt::format("{}", rate->bits_per_second() / 1'000'000);
    }
    return *value;
  }

  [[nodiscard]] XmlElement elements_of_host() const {
    Labels own;
    for (const auto& label : tmpl_.labels) {
      if (!label.first.starts_with("raw ")) own.push_back(label);
    }
    return elements_of(own).front();
  }

  [[noreturn]] void refuse(const std::string& what) const { throw ConfigError(fmt::format("host '{}': {}", tmpl_.name, what)); }

  // NCCL has one NVSwitch for all of a host, so that GPUs behind different ones would be joined.
  void refuse_nvswitch_groups() const {
    std::vector<bool> seen(tmpl_.devices.size(), false);
    std::vector<std::string> groups;
    for (const std::uint32_t first : tmpl_.of_kind(DeviceKind::kNvSwitch)) {
      if (seen[first]) continue;
      seen[first] = true;
      std::vector<std::uint32_t> queue{first};
      std::vector<std::string> gpus;
      for (std::size_t next = 0; next < queue.size(); ++next) {
        if (kind(queue[next]) == DeviceKind::kGpu) gpus.push_back(tmpl_.devices[queue[next]].name);
        for (const std::uint32_t link : out_[queue[next]]) {
          const std::uint32_t other = tmpl_.links[link].to;
          const bool through_switch = kind(queue[next]) == DeviceKind::kNvSwitch || kind(other) == DeviceKind::kNvSwitch;
          if (seen[other] || !through_switch) continue;
          seen[other] = true;
          queue.push_back(other);
        }
      }
      std::ranges::sort(gpus);
      if (!gpus.empty()) groups.push_back(fmt::format("{}", fmt::join(gpus, ", ")));
    }
    if (groups.size() < 2) return;
    refuse(
        fmt::format("its NVSwitches join {} groups of GPUs ({}), but NCCL's topology file has one NVSwitch for all of a host",
                    groups.size(), fmt::join(groups, "; ")));
  }

  // The tree NCCL wants: from the CPUs down over PCIe, level by level, lower device first. What PCIe does not reach hangs from
  // the CPU it is next to by another link, or from the first.
  void find_parents() {
    parent_.assign(tmpl_.devices.size(), kAbsent);
    up_link_.assign(tmpl_.devices.size(), kAbsent);
    std::vector<std::uint32_t> queue = tmpl_.of_kind(DeviceKind::kCpu);
    const std::vector<std::uint32_t> cpus = queue;
    const auto in_tree = [&](std::uint32_t device) {
      return kind(device) == DeviceKind::kGpu || kind(device) == DeviceKind::kNic || kind(device) == DeviceKind::kPcieSwitch;
    };
    std::vector<bool> reached(tmpl_.devices.size(), false);
    const auto grow = [&] {
      for (std::size_t next = 0; next < queue.size(); ++next) {
        const std::uint32_t device = queue[next];
        if (kind(device) != DeviceKind::kCpu && kind(device) != DeviceKind::kPcieSwitch) continue;
        for (const std::uint32_t link : out_[device]) {
          const std::uint32_t below = tmpl_.links[link].to;
          const LinkMedium medium = medium_of(spec(tmpl_.links[link]));
          if (!in_tree(below) || reached[below] || (medium != LinkMedium::kPcie && medium != LinkMedium::kLocal)) continue;
          reached[below] = true;
          parent_[below] = device;
          up_link_[below] = link;
          queue.push_back(below);
        }
      }
    };
    grow();
    for (std::uint32_t device = 0; device < tmpl_.devices.size(); ++device) {
      if (!in_tree(device) || reached[device]) continue;
      reached[device] = true;
      parent_[device] = cpus.empty() ? kAbsent : cpus.front();
      for (const std::uint32_t link : out_[device]) {
        if (kind(tmpl_.links[link].to) == DeviceKind::kCpu) parent_[device] = tmpl_.links[link].to;
      }
      queue.assign(1, device);
      grow();
    }
  }

  // CPUs that no link between sockets joins are of different OS hosts: the trays of a rack.
  void find_systems() {
    system_.assign(tmpl_.devices.size(), 0);
    std::vector<bool> seen(tmpl_.devices.size(), false);
    for (const std::uint32_t cpu : tmpl_.of_kind(DeviceKind::kCpu)) {
      if (seen[cpu]) continue;
      std::vector<std::uint32_t> queue{cpu};
      seen[cpu] = true;
      for (std::size_t next = 0; next < queue.size(); ++next) {
        system_[queue[next]] = systems_;
        for (const std::uint32_t link : out_[queue[next]]) {
          const std::uint32_t other = tmpl_.links[link].to;
          if (kind(other) != DeviceKind::kCpu || seen[other]) continue;
          seen[other] = true;
          queue.push_back(other);
        }
      }
      ++systems_;
    }
    for (std::uint32_t i = 0; i < tmpl_.devices.size(); ++i) {
      std::uint32_t root = i;
      while (parent_[root] != kAbsent) root = parent_[root];
      if (kind(root) == DeviceKind::kCpu) system_[i] = system_[root];
    }
  }

  void invent_bus_ids() {
    std::set<std::optional<std::uint64_t>> taken;
    bus_id_.resize(tmpl_.devices.size());
    for (std::uint32_t i = 0; i < tmpl_.devices.size(); ++i) {
      for (const char* key : {"busid", "bus_id"}) {
        const std::string* given = find_label(labels(i), key);
        if (given == nullptr) continue;
        bus_id_[i] = *given;
        taken.insert(bus_id_number(*given));
      }
    }
    unsigned next = 0;
    for (std::uint32_t i = 0; i < tmpl_.devices.size(); ++i) {
      const bool wanted = kind(i) == DeviceKind::kGpu || kind(i) == DeviceKind::kNic || kind(i) == DeviceKind::kPcieSwitch;
      if (!wanted || !bus_id_[i].empty()) continue;
      do {
        ++next;
        bus_id_[i] = fmt::format("{:04x}:{:02x}:00.0", next / 256, next % 256);
      } while (!taken.insert(bus_id_number(bus_id_[i])).second);
    }
  }

  // NCCL's search goes by the order of a file. Of a node that is described otherwise it does not depend on which kind of device
  // the description names first: GPUs come first, then bridges and what is below them, then NICs.
  void add_children(XmlElement& to, std::uint32_t parent) {
    std::vector<std::uint32_t> children;
    for (std::uint32_t i = 0; i < tmpl_.devices.size(); ++i) {
      if (parent_[i] == parent && kind(i) != DeviceKind::kCpu) children.push_back(i);
    }
    const auto rank = [&](std::uint32_t i) {
      return kind(i) == DeviceKind::kGpu ? 0 : kind(i) == DeviceKind::kPcieSwitch ? 1 : 2;
    };
    if (!came_from_file(tmpl_.labels)) std::ranges::stable_sort(children, {}, rank);
    for (const std::uint32_t i : children) to.children.push_back(device(i));
  }

  // ---- one element for each kind of device

  [[nodiscard]] XmlElement cpu(std::uint32_t self) {
    XmlElement result;
    if (came_from_file(labels(self))) {
      result = elements_of(labels(self)).front();
    } else {
      const std::string number = fmt::format("{}", number_of(self, DeviceKind::kCpu));
      result = element("cpu", Labels{{"numaid", label_or(self, "numaid", number)}});
      if (systems_ > 1)
        result.attributes.emplace_back("host_hash", label_or(self, "host_hash", fmt::format("{:#x}", system_[self] + 1)));
      for (auto& [key, value] : cpu_identity(self)) result.attributes.emplace_back(key, label_or(self, key, std::move(value)));
    }
    add_children(result, self);
    return result;
  }

  // The class of CPU that NCCL would give the same bandwidth between sockets (models/nccl §1.2).
  [[nodiscard]] Labels cpu_identity(std::uint32_t self) const {
    const auto intel = [](int model) {
      return Labels{{"arch", "x86_64"}, {"vendor", "GenuineIntel"}, {"familyid", "6"}, {"modelid", fmt::format("{}", model)}};
    };
    for (const std::uint32_t link : out_[self]) {
      const TemplateLink& l = tmpl_.links[link];
      if (kind(l.to) == DeviceKind::kGpu && medium_of(spec(l)) == LinkMedium::kC2c) return {{"arch", "arm64"}};
    }
    for (const std::uint32_t link : out_[self]) {
      const LinkSpec& between = spec(tmpl_.links[link]);
      if (kind(tmpl_.links[link].to) != DeviceKind::kCpu) continue;
      if (between.type == "xgmi" || between.type == "infinity_fabric")
        return {{"arch", "x86_64"}, {"vendor", "AuthenticAMD"}, {"familyid", "25"}, {"modelid", "1"}};
      if (between.type == "qpi") return intel(79);
      if (between.type == "upi") return intel(85);
      if (between.type == "upi2") return intel(between.rate.gigabytes_per_second() * between.efficiency < 31 ? 143 : 207);
    }
    return intel(143);
  }

  [[nodiscard]] XmlElement made_up_cpu() {
    XmlElement result = element(
        "cpu", {{"numaid", "0"}, {"arch", "x86_64"}, {"vendor", "GenuineIntel"}, {"familyid", "6"}, {"modelid", "143"}});
    add_children(result, kAbsent);
    return result;
  }

  [[nodiscard]] XmlElement device(std::uint32_t self) {
    std::vector<XmlElement> own = came_from_file(labels(self)) ? elements_of(labels(self)) : made_up_elements(self);
    // From the file or made up, the first element is the device, a `gpu` or `nic` is inside it, and nets are inside the `nic`.
    XmlElement result = std::move(own.front());
    XmlElement* inner = &result;
    for (std::size_t i = 1; i < own.size(); ++i) {
      if (own[i].name == "gpu" || own[i].name == "nic") {
        result.children.push_back(std::move(own[i]));
        inner = &result.children.back();
      } else {
        inner->children.push_back(std::move(own[i]));
      }
    }
    if (kind(self) == DeviceKind::kGpu) {
      add_gpu_links(*inner, self);
    } else if (kind(self) == DeviceKind::kPcieSwitch) {
      add_children(result, self);
      for (XmlElement& link : link_elements(self)) {
        const std::size_t at = std::min(link.offset, result.children.size());
        result.children.insert(result.children.begin() + static_cast<std::ptrdiff_t>(at), std::move(link));
      }
    }
    return result;
  }

  [[nodiscard]] std::vector<XmlElement> made_up_elements(std::uint32_t self) const {
    const bool is_gpu = kind(self) == DeviceKind::kGpu;
    const bool is_nic = kind(self) == DeviceKind::kNic;
    std::vector<XmlElement> own;
    const bool virtual_nic =
        is_nic && up_link_[self] != kAbsent && medium_of(spec(tmpl_.links[up_link_[self]])) == LinkMedium::kLocal;
    if (!virtual_nic) {
      XmlElement pci = element("pci", {{"busid", bus_id_[self]},
                                       {"class", label_or(self, "class",
                                                          is_gpu   ? "0x030200"
                                                          : is_nic ? "0x020700"
                                                                   : "0x060400")}});
      for (const char* key : {"vendor", "device", "subsystem_vendor", "subsystem_device"}) {
        if (const std::string* value = find_label(labels(self), key)) pci.attributes.emplace_back(key, *value);
      }
      const int generation = pcie_generation(self);
      pci.attributes.emplace_back("link_speed", kPcieSpeeds[generation]);
      pci.attributes.emplace_back("link_width",
                                  generation == 0 ? "0" : fmt::format("{}", spec(tmpl_.links[up_link_[self]]).width));
      own.push_back(std::move(pci));
    }
    if (is_gpu) {
      const std::string number = fmt::format("{}", number_of(self, DeviceKind::kGpu));
      const std::string* sm = find_label(labels(self), "sm");
      own.push_back(element("gpu", {{"dev", label_or(self, "dev", fmt::format("{}", number_in_system(self)))},
                                    {"sm", sm != nullptr ? *sm : fmt::format("{}", compute_capability(self))},
                                    {"rank", label_or(self, "rank", number)},
                                    {"gdr", label_or(self, "gdr", "1")}}));
      if (const std::string gcn = gcn_of(self); !gcn.empty()) own.back().attributes.emplace_back("gcn", gcn);
    } else if (is_nic) {
      const std::size_t number = number_of(self, DeviceKind::kNic);
      own.push_back(element("nic", {}));
      XmlElement net = element("net", {{"name", label_or(self, "name", fmt::format("net{}", number))},
                                       {"dev", label_or(self, "dev", fmt::format("{}", number_in_system(self)))}});
      if (const std::string speed = label_or(self, "speed", speed_out(self)); !speed.empty())
        net.attributes.emplace_back("speed", speed);
      for (const auto& [key, value] :
           Labels{{"port", "1"}, {"guid", fmt::format("{:#x}", number + 1)}, {"maxconn", "131072"}, {"gdr", "1"}}) {
        net.attributes.emplace_back(key, label_or(self, key, value));
      }
      for (const char* key : {"coll", "rail", "plane", "latency"}) {
        if (std::string value = label_or(self, key, ""); !value.empty()) net.attributes.emplace_back(key, std::move(value));
      }
      own.push_back(std::move(net));
    }
    return own;
  }

  [[nodiscard]] std::size_t number_of(std::uint32_t self, DeviceKind of) const {
    return static_cast<std::size_t>(std::ranges::count_if(tmpl_.devices.begin(), tmpl_.devices.begin() + self,
                                                          [&](const TemplateDevice& d) { return d.kind == of; }));
  }

  // NVML and network plugins count from 0 on every OS host.
  [[nodiscard]] std::size_t number_in_system(std::uint32_t self) const {
    std::size_t count = 0;
    for (std::uint32_t i = 0; i < self; ++i) count += kind(i) == kind(self) && system_[i] == system_[self] ? 1 : 0;
    return count;
  }

  [[nodiscard]] int pcie_generation(std::uint32_t self) const {
    if (up_link_[self] == kAbsent) return 0;
    const LinkSpec& up = spec(tmpl_.links[up_link_[self]]);
    if (!up.type.starts_with("pcie")) return 0;
    const int generation = trailing_number(up.type);
    if (generation < 1 || generation >= std::ssize(kPcieSpeeds)) refuse(unknown_links(self, up));
    return generation;
  }

  [[nodiscard]] std::string unknown_links(std::uint32_t device, const LinkSpec& link) const {
    return fmt::format("'{}' has links of type '{}', which NCCL's topology file has no value for", tmpl_.devices[device].name,
                       link.type);
  }

  [[nodiscard]] int compute_capability(std::uint32_t self) const {
    constexpr int kByNvlink[] = {0, 60, 70, 80, 90, 100, 100};
    for (const std::uint32_t link : out_[self]) {
      const LinkSpec& nvlink = spec(tmpl_.links[link]);
      if (!nvlink.type.starts_with("nvlink")) continue;
      const int generation = trailing_number(nvlink.type);
      if (generation < 1 || generation >= std::ssize(kByNvlink)) refuse(unknown_links(self, nvlink));
      return kByNvlink[generation];
    }
    constexpr int kByPcie[] = {90, 60, 60, 70, 80, 90, 100};
    return kByPcie[pcie_generation(self)];
  }

  // A GPU of AMD is written as its template says, else by the rate of its links.
  [[nodiscard]] std::string gcn_of(std::uint32_t self) const {
    if (const std::string* gcn = find_label(labels(self), "gcn")) return *gcn;
    for (const std::uint32_t link : out_[self]) {
      const LinkSpec& s = spec(tmpl_.links[link]);
      if (is_xgmi(tmpl_.links[link]))
        return std::string{gcn_of_xgmi_rate(Bandwidth::from_bits_per_second(s.rate.bits_per_second() / s.width))};
    }
    return {};
  }

  // Mb/s of the NIC's cables, empty without any.
  [[nodiscard]] std::string speed_out(std::uint32_t self) const {
    Bandwidth total;
    for (const LinkId link : topology_.uplinks(topology_.device_of(host_, self))) total = total + topology_.spec(link).rate;
    return total > Bandwidth{} ? fmt::format("{}", total.bits_per_second() / 1'000'000) : std::string{};
  }

  // ---- links

  // The elements that a device's links came from, in the order of the file.
  [[nodiscard]] std::vector<XmlElement> link_elements(std::uint32_t self) const {
    std::vector<XmlElement> elements;
    for (const std::uint32_t link : out_[self]) {
      for (XmlElement& from_file : elements_of(tmpl_.links[link].labels)) elements.push_back(std::move(from_file));
    }
    std::ranges::sort(elements, {}, &XmlElement::offset);  // no two have one place
    return elements;
  }

  // NCCL knows NVLinks by their number and the GPU's compute capability only.
  void note_rate(const XmlElement& gpu, std::uint32_t self, const LinkSpec& link) {
    static const Profile profile = Profile::defaults(network_param_groups());
    const LinkSpec taken = nvlinks_of(parse_attribute_integer(*gpu.find("sm")).value_or(0), link.width, profile);
    if (taken.rate == link.rate) return;
    notes_.push_back(fmt::format("host '{}': {} x{} of {} at '{}' is written as {} of {}", tmpl_.name, link.type, link.width,
                                 to_string(link.rate), tmpl_.devices[self].name, taken.type, to_string(taken.rate)));
  }

  [[nodiscard]] bool is_xgmi(const TemplateLink& link) const { return spec(link).type == "infinity_fabric"; }
  [[nodiscard]] bool has_xgmi() const {
    return std::ranges::any_of(tmpl_.links, [&](const TemplateLink& link) { return is_xgmi(link); });
  }

  void add_gpu_links(XmlElement& gpu, std::uint32_t self) {
    for (XmlElement& link : link_elements(self)) gpu.children.push_back(std::move(link));
    if (came_from_file(labels(self))) return;
    // Made up: one element per peer, all NVSwitches together as the first.
    int to_switches = 0;
    std::map<std::uint32_t, int> to_gpus;
    std::map<std::uint32_t, int> over_xgmi;
    for (const std::uint32_t link : out_[self]) {
      const TemplateLink& l = tmpl_.links[link];
      const bool to_gpu = kind(l.to) == DeviceKind::kGpu && medium_of(spec(l)) != LinkMedium::kPcie;
      if (kind(l.to) == DeviceKind::kNvSwitch) to_switches += spec(l).width;
      if (to_gpu) (is_xgmi(l) ? over_xgmi : to_gpus)[l.to] += spec(l).width;
      if ((to_gpu && !is_xgmi(l)) || kind(l.to) == DeviceKind::kNvSwitch) note_rate(gpu, self, spec(l));
    }
    if (to_switches > 0) {
      gpu.children.push_back(element(
          "nvlink",
          {{"target", std::string{kInvisibleNvSwitch}}, {"count", fmt::format("{}", to_switches)}, {"tclass", "0x068000"}}));
    }
    for (const auto& [peer, count] : to_gpus) {
      gpu.children.push_back(
          element("nvlink", {{"target", bus_id_[peer]}, {"count", fmt::format("{}", count)}, {"tclass", "0x030200"}}));
    }
    for (const auto& [peer, count] : over_xgmi) {
      gpu.children.push_back(
          element("xgmi", {{"target", bus_id_[peer]}, {"count", fmt::format("{}", count)}, {"tclass", "0x030200"}}));
    }
    for (const std::uint32_t link : out_[self]) {
      const TemplateLink& l = tmpl_.links[link];
      if (kind(l.to) != DeviceKind::kCpu || medium_of(spec(l)) != LinkMedium::kC2c) continue;
      const std::int64_t per_link = spec(l).rate.bits_per_second() / 8'000'000 / spec(l).width;
      gpu.children.push_back(
          element("c2c", {{"bw", fmt::format("{}", per_link)}, {"count", fmt::format("{}", spec(l).width)}}));
    }
  }

  // Puts back an element that is no part of the topology: `place` is "i/j/k", the k-th child of the j-th of the i-th.
  static void insert_raw(XmlElement& system, std::string_view place, const std::string& text) {
    XmlElement* parent = &system;
    while (true) {
      std::size_t index = 0;
      const auto [end, error] = std::from_chars(place.data(), place.data() + place.size(), index);
      WEFT_CHECK(error == std::errc{});
      place.remove_prefix(static_cast<std::size_t>(end - place.data()));
      if (place.empty()) {
        index = std::min(index, parent->children.size());
        parent->children.insert(parent->children.begin() + static_cast<std::ptrdiff_t>(index),
                                parse_xml(SourceText{"label", text}));
        return;
      }
      place.remove_prefix(1);
      WEFT_CHECK(index < parent->children.size());
      parent = &parent->children[index];
    }
  }

  const Topology& topology_;
  std::size_t host_;
  const HostTemplate& tmpl_;
  std::vector<std::vector<std::uint32_t>> out_;  // local links out of a device, in template order
  std::vector<std::uint32_t> parent_;
  std::vector<std::uint32_t> up_link_;  // the template link parent -> device
  std::vector<std::string> bus_id_;
  std::vector<std::size_t> system_;  // OS host of each device
  std::size_t systems_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace

XmlElement nccl_xml_tree(const Topology& topology, std::size_t host, std::vector<std::string>* notes) {
  Writer writer{topology, host};
  XmlElement tree = writer.write();
  if (notes != nullptr) *notes = writer.notes();
  return tree;
}

std::vector<NcclNet> nccl_nets(const Topology& topology, std::size_t host) { return Writer{topology, host}.nets(); }

std::string export_nccl_xml(const Topology& topology, std::size_t host, std::vector<std::string>* notes) {
  return to_text(nccl_xml_tree(topology, host, notes));
}

}  // namespace weft::net
