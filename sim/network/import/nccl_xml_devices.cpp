#include "sim/network/import/nccl_xml_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/network/import/nccl_xml.h"
#include "sim/network/import/nccl_xml_reader.h"

namespace weft::net {
namespace {

class DevicePlacer {
 public:
  explicit DevicePlacer(XmlChecks& checks) : checks_{checks} {}

  XmlDevices run(const XmlElement& system, const std::string& name) {
    made_.host.name = name;
    if (system.name != "system") {
      checks_.fail(system, fmt::format("expected the root element 'system' of an NCCL topology, got '{}'", system.name));
      checks_.throw_if_failed();
    }
    const std::string* version = system.find("version");
    if (version == nullptr || (*version != "1" && *version != "2")) {
      checks_.fail(system,
                   fmt::format("system.version: expected 1 (NCCL) or 2 (RCCL), got {}",
                               version == nullptr ? "none" : "'" + *version + "'"),
                   "version");
    }
    refuse_reserved(system);
    append_labels(made_.host.labels, system);
    std::vector<std::size_t> path;
    for (std::size_t i = 0; i < system.children.size(); ++i) {
      path.assign(1, i);
      const XmlElement& child = system.children[i];
      if (child.name == "cpu") {
        add_cpu(child, path);
      } else {
        keep_raw(child, path, fmt::format("element '{}' is outside every cpu", child.name));
      }
    }
    const bool any_gpu = std::ranges::any_of(made_.placed, [](const PlacedElement& p) { return p.gpu != nullptr; });
    if (!any_gpu && !checks_.failed()) checks_.fail(system, "system: no GPU with a rank; NCCL ignores a gpu without one");
    name_devices();
    return std::move(made_);
  }

 private:
  // Labels tell elements apart by keys of their own.
  void refuse_reserved(const XmlElement& element) {
    for (const std::string_view reserved : {kElementLabel, kPositionLabel}) {
      if (element.find(reserved) != nullptr)
        checks_.fail(element, fmt::format("{}.{}: no attribute of an NCCL topology", element.name, reserved), reserved);
    }
    for (const XmlElement& child : element.children) refuse_reserved(child);
  }

  void keep_raw(const XmlElement& element, const std::vector<std::size_t>& path, const std::string& why) {
    made_.keep_raw(element, path, why, checks_);
  }

  std::uint32_t place(DeviceKind kind, const XmlElement& element, std::uint32_t parent, std::int64_t system,
                      const std::vector<std::size_t>& path) {
    TemplateDevice device;
    device.kind = kind;
    append_labels(device.labels, element);
    made_.host.devices.push_back(std::move(device));
    made_.placed.push_back({.element = &element, .gpu = nullptr, .parent = parent, .system = system, .path = path});
    return static_cast<std::uint32_t>(made_.placed.size() - 1);
  }

  void add_cpu(const XmlElement& cpu, std::vector<std::size_t>& path) {
    checks_.required_number(cpu, "numaid", -1, 255);
    checks_.number(cpu, "familyid", 0, 1 << 16);
    checks_.number(cpu, "modelid", 0, 1 << 16);
    const std::string_view arch = text_of(cpu, "arch");
    if (arch != "x86_64" && arch != "arm64" && arch != "ppc64") {
      checks_.warn(
          cpu,
          fmt::format("cpu.arch: '{}' is not one of x86_64, arm64, ppc64; the link to other CPUs is taken as never limiting",
                      arch),
          "arch");
    } else if (arch == "x86_64" && cpu_class(cpu).vendor == CpuVendor::kUnknown) {
      checks_.warn(
          cpu,
          fmt::format("cpu.vendor: '{}' is unknown; the link to other CPUs is taken as never limiting", text_of(cpu, "vendor")),
          "vendor");
    }
    const std::string hash{text_of(cpu, "host_hash")};
    const auto system = static_cast<std::int64_t>(systems_.try_emplace(hash, systems_.size()).first->second);
    const std::uint32_t self = place(DeviceKind::kCpu, cpu, kNoDevice, system, path);
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

  // NVLinks name GPUs by their bus ids, which therefore differ. Others are two devices, as for NCCL: models of machines that
  // were put together by hand repeat switches.
  void repeat_bus_id(const XmlElement& pci, std::uint32_t& known, std::uint32_t self) {
    const bool is_gpu = made_.host.devices[self].kind == DeviceKind::kGpu;
    const std::string message = fmt::format("pci.busid: {} is given twice", text_of(pci, "busid"));
    if (is_gpu && made_.host.devices[known].kind == DeviceKind::kGpu) return checks_.fail(pci, message, "busid");
    checks_.warn(pci, message + ": taken as two devices", "busid");
    if (is_gpu) known = self;
  }

  void add_pci(const XmlElement& pci, std::uint32_t parent, std::vector<std::size_t>& path) {
    const XmlElement* gpu = pci.child("gpu");
    const XmlElement* nic = pci.child("nic");
    const std::string* bus_id = pci.find("busid");
    const std::string* pci_class = pci.find("class");
    if (bus_id == nullptr || !bus_id_number(*bus_id)) {
      checks_.fail(pci,
                   bus_id == nullptr ? "pci.busid: missing"
                                     : fmt::format("pci.busid: expected a bus id such as 0000:1b:00.0, got '{}'", *bus_id),
                   "busid");
      return;
    }
    if (pci_class == nullptr || !pci_class->starts_with("0x")) {
      checks_.fail(pci,
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
    const std::int64_t system = made_.placed[parent].system;
    const DeviceKind kind = gpu != nullptr ? DeviceKind::kGpu : nic != nullptr ? DeviceKind::kNic : DeviceKind::kPcieSwitch;
    const std::uint32_t self = place(kind, pci, parent, system, path);
    const auto [first, is_new] = made_.by_bus.try_emplace({system, *bus_id_number(*bus_id)}, self);
    if (!is_new) repeat_bus_id(pci, first->second, self);

    for (std::size_t i = 0; i < pci.children.size(); ++i) {
      path.push_back(i);
      const XmlElement& child = pci.children[i];
      if (&child == gpu) {
        add_gpu(child, self, path);
      } else if (&child == nic) {
        append_labels(made_.host.devices[self].labels, child);
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
    made_.placed[self].gpu = &gpu;
    append_labels(made_.host.devices[self].labels, gpu);
    const std::int64_t dev = checks_.required_number(gpu, "dev", 0, 1 << 20);
    const std::int64_t rank = checks_.required_number(gpu, "rank", 0, 1 << 20);
    checks_.required_number(gpu, "sm", 30, 999);
    checks_.number(gpu, "gdr", 0, 1);
    if (!devs_.emplace(made_.placed[self].system, dev).second)
      checks_.fail(gpu, fmt::format("gpu.dev: {} is given twice", dev), "dev");
    if (!ranks_.insert(rank).second) checks_.fail(gpu, fmt::format("gpu.rank: {} is given twice", rank), "rank");
    for (std::size_t i = 0; i < gpu.children.size(); ++i) {
      const XmlElement& child = gpu.children[i];
      if (child.name == "c2c") {
        checks_.required_number(child, "bw", 1, kMostC2cMegabytesPerSecond);
        checks_.required_number(child, "count", 1, kMostNvlinks);
      }
      if (is_gpu_link(child) || child.name == "c2c") continue;  // resolved when all bus ids are known
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
      append_labels(made_.host.devices[self].labels, net);
      const auto dev = checks_.number(net, "dev", 0, 1 << 20);
      if (dev && net.name == "net" && number_of_net_is_taken(self, *dev))
        checks_.warn(net, fmt::format("net.dev: {} is given twice", *dev), "dev");
      if (checks_.number(net, "speed", -1, 1 << 30).value_or(0) <= 0) {
        checks_.warn(net, fmt::format("{}.speed: unknown, taken as 10000 (Mb/s) as NCCL does", net.name), "speed");
      }
      for (const char* attribute : {"port", "maxconn", "coll", "gdr"}) checks_.number(net, attribute, -1, 1 << 30);
    }
  }

  // Network plugins count ports on each OS host; ports of one NIC may be one device.
  bool number_of_net_is_taken(std::uint32_t nic, std::int64_t dev) {
    const auto [first, is_new] = nets_.try_emplace({made_.placed[nic].system, dev}, nic);
    return !is_new && first->second != nic;
  }

  void name_devices() {
    std::set<std::string> taken;
    std::map<DeviceKind, int> next;
    for (std::size_t i = 0; i < made_.placed.size(); ++i) {
      TemplateDevice& device = made_.host.devices[i];
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

  XmlChecks& checks_;
  XmlDevices made_;
  std::map<std::string, std::size_t> systems_;  // host_hash -> OS host
  std::set<std::pair<std::int64_t, std::int64_t>> devs_;
  std::set<std::int64_t> ranks_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> nets_;  // OS host and number -> NIC
};

const XmlElement* gpu_with_rank(const XmlElement& element) {
  if (element.name == "gpu" && element.find("rank") != nullptr) return &element;
  for (const XmlElement& child : element.children) {
    if (const XmlElement* found = gpu_with_rank(child)) return found;
  }
  return nullptr;
}

}  // namespace

void XmlDevices::keep_raw(const XmlElement& element, const std::vector<std::size_t>& path, const std::string& why,
                          XmlChecks& checks) {
  if (const XmlElement* gpu = gpu_with_rank(element)) {
    return checks.fail(*gpu, fmt::format("gpu.rank: rank {} stands where NCCL finds no GPU: {}", text_of(*gpu, "rank"), why),
                       "rank");
  }
  if (!why.empty()) checks.warn(element, why + "; kept for export, not part of the topology");
  raw.emplace_back(path, to_text(element));
}

bool is_gpu_link(const XmlElement& element) { return element.name == "nvlink" || element.name == "xgmi"; }

void append_labels(Labels& labels, const XmlElement& element, std::optional<std::size_t> position) {
  labels.emplace_back(kElementLabel, element.name);
  if (position) labels.emplace_back(kPositionLabel, fmt::format("{}", *position));
  labels.insert(labels.end(), element.attributes.begin(), element.attributes.end());
}

XmlDevices place_devices(const XmlElement& system, const std::string& name, XmlChecks& checks) {
  return DevicePlacer{checks}.run(system, name);
}

}  // namespace weft::net
