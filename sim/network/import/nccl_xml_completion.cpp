#include "sim/network/import/nccl_xml_completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace weft::net {
namespace {

void set_if_absent(XmlElement& element, std::string_view attribute, std::string value) {
  if (element.find(attribute) == nullptr) element.attributes.emplace_back(attribute, std::move(value));
}

XmlElement& child_of(XmlElement& parent, std::string_view name) {
  const auto found = std::ranges::find(parent.children, name, &XmlElement::name);
  if (found != parent.children.end()) return *found;
  parent.children.push_back({.name = std::string{name}, .attributes = {}, .children = {}, .offset = parent.offset});
  return parent.children.back();
}

class Completer {
 public:
  Completer(const ImportHints& hints, XmlChecks& checks) : hints_{hints}, checks_{checks} {}

  void run(XmlElement& system) {
    for (XmlElement& cpu : system.children) {
      if (cpu.name != "cpu") continue;
      if (cpu.find("arch") == nullptr) cpu.attributes.insert(cpu.attributes.end(), hints_.cpu.begin(), hints_.cpu.end());
      for (XmlElement& child : cpu.children) visit(child);
    }
    if (!has_ranks_) complete(system);
    if (!hints_.nic_rate) return;
    for (XmlElement* net : nets_) {
      std::erase_if(net->attributes,
                    [](const auto& a) { return a.first == "speed" && parse_attribute_integer(a.second).value_or(0) <= 0; });
      set_if_absent(*net, "speed", fmt::format("{}", hints_.nic_rate->bits_per_second() / 1'000'000));
    }
  }

 private:
  void visit(XmlElement& element) {
    if (element.name == "nic") {
      for (XmlElement& net : element.children) {
        if (net.name == "net") nets_.push_back(&net);
      }
      return;
    }
    if (element.name != "pci") return;
    ++functions_;
    const XmlElement* gpu = element.child("gpu");
    has_ranks_ |= gpu != nullptr && gpu->find("rank") != nullptr;
    const std::string_view pci_class = text_of(element, "class");
    classes_ += pci_class.empty() ? 0 : 1;
    if (gpu != nullptr || pci_role(pci_class) == PciRole::kGpu) {
      gpus_.push_back(&element);
      return;  // what is below it would move when it gets an element of its own
    }
    if (element.child("nic") == nullptr && pci_role(pci_class) == PciRole::kNic) {
      nics_.push_back(&element);
      return;
    }
    for (XmlElement& child : element.children) visit(child);
  }

  static void sort_by_bus(std::vector<XmlElement*>& functions) {
    std::ranges::stable_sort(functions, {},
                             [](const XmlElement* f) { return bus_id_number(text_of(*f, "busid")).value_or(0); });
  }

  void complete(XmlElement& system) {
    if (functions_ > 0 && classes_ == 0 && gpus_.empty()) {
      return checks_.fail(system,
                          "system: its functions have no class, so they are places that NCCL completes from the machine; "
                          "a dump of that machine is needed (NCCL_TOPO_DUMP_FILE)");
    }
    if (gpus_.empty()) return;
    if (!hints_.names_gpu()) {
      const bool any_element = std::ranges::any_of(gpus_, [](const XmlElement* f) { return f->child("gpu") != nullptr; });
      if (any_element) return;  // refused as a file without ranks
      return checks_.fail(system,
                          fmt::format("system: no GPU with a rank, but {} functions of class 0x03, which NCCL completes "
                                      "from the machine; say which GPU they are (--gpu h100), or import a dump of it "
                                      "(NCCL_TOPO_DUMP_FILE)",
                                      gpus_.size()));
    }
    sort_by_bus(gpus_);
    sort_by_bus(nics_);
    for (std::size_t i = 0; i < gpus_.size(); ++i) complete_gpu(*gpus_[i], i);
    for (std::size_t i = 0; i < nics_.size(); ++i) complete_nic(*nics_[i], i);
    const bool amd = !hints_.gcn.empty();
    checks_.warn(
        system, fmt::format("system: completed as NCCL does: {} GPUs and {} NICs in the order of their bus ids{}", gpus_.size(),
                            nics_.size(),
                            links_ || hints_.nvlinks > 0 ? ""
                            : amd                        ? ", without xGMI links, which are not in the file"
                                  : ", without NVLinks, which are not in the file (--nvlinks says how many go to NVSwitches)"));
  }

  void complete_gpu(XmlElement& function, std::size_t number) {
    XmlElement& gpu = child_of(function, "gpu");
    set_if_absent(gpu, "dev", fmt::format("{}", number));
    set_if_absent(gpu, "sm", fmt::format("{}", hints_.sm.value_or(90)));
    set_if_absent(gpu, "rank", fmt::format("{}", number));
    set_if_absent(gpu, "gdr", "1");
    if (!hints_.gcn.empty()) set_if_absent(gpu, "gcn", hints_.gcn);
    links_ |= !gpu.children.empty();
    if (hints_.nvlinks == 0 || !gpu.children.empty()) return;
    gpu.children.push_back({.name = "nvlink",
                            .attributes = {{"target", std::string{kInvisibleNvSwitch}},
                                           {"count", fmt::format("{}", hints_.nvlinks)},
                                           {"tclass", "0x068000"}},
                            .children = {},
                            .offset = function.offset});
  }

  void complete_nic(XmlElement& function, std::size_t number) {
    XmlElement& net = child_of(child_of(function, "nic"), "net");
    for (const auto& [key, value] : Labels{{"name", fmt::format("net{}", number)},
                                           {"dev", fmt::format("{}", number)},
                                           {"port", "1"},
                                           {"guid", fmt::format("{:#x}", number + 1)},
                                           {"maxconn", "131072"},
                                           {"gdr", "1"}}) {
      set_if_absent(net, key, value);
    }
    nets_.push_back(&net);
  }

  const ImportHints& hints_;
  XmlChecks& checks_;
  std::vector<XmlElement*> gpus_;  // functions
  std::vector<XmlElement*> nics_;
  std::vector<XmlElement*> nets_;
  std::size_t functions_ = 0;
  std::size_t classes_ = 0;
  bool has_ranks_ = false;
  bool links_ = false;
};

}  // namespace

void complete_topology(XmlElement& system, const ImportHints& hints, XmlChecks& checks) {
  if (system.name == "system") Completer{hints, checks}.run(system);
}

}  // namespace weft::net
