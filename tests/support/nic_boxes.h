// Clusters of small boxes with NVLink whose GPUs have several NICs, or share some: text for tests of which NIC is taken.
#pragma once

#include <fmt/format.h>

#include <string>

namespace weft::testing {

// Nodes of GPUs joined by NVLink, each GPU under a PCIe switch with `nics` NICs of `gbps` Gb/s, on one switch.
struct NicBoxes {
  int nodes = 2;
  int gpus = 2;
  int nics = 2;  // of each GPU
  int gbps = 200;
  std::string fabric = "type: single_switch, switch: {latency: 600 ns}";
  std::string link = fmt::format(", link: {{type: ethernet, rate: {} Gb/s, latency: 300 ns}}", gbps);

  [[nodiscard]] std::string yaml() const {
    return fmt::format(R"(
nodes: {0}
node:
  name: box
  devices:
    - {{name: gpu0..{4}, kind: gpu, sm: 90, gdr: true}}
    - {{name: pcie0..{4}, kind: pcie_switch}}
    - {{name: cpu0, kind: cpu}}
    - {{name: nic0..{1}, kind: nic, gdr: true}}
  links:
    - {{between: [gpu0..{4}], type: nvlink4, width: 6}}
    - {{between: [gpu0..{4}, pcie0..{4}], type: pcie5, lanes: 16, pairing: zip}}
    - {{between: [nic0..{1}, pcie0..{4}], type: pcie5, lanes: 16, pairing: block}}
    - {{between: [pcie0..{4}, cpu0], type: pcie5, lanes: 16}}
fabric: {{{2}{3}}}
)",
                       nodes, gpus * nics - 1, fabric, link, gpus - 1);
  }
};

// Two nodes of four such GPUs with one NIC of 400 Gb/s beside every second GPU.
inline std::string half_the_nics_yaml(bool nvlink) {
  return fmt::format(R"(
nodes: 2
node:
  name: half
  devices:
    - {{name: gpu0..3, kind: gpu, sm: 90, gdr: true}}
    - {{name: pcie0..3, kind: pcie_switch}}
    - {{name: cpu0..1, kind: cpu}}
    - {{name: nic0..1, kind: nic, gdr: true}}
  links:
    {}- {{between: [gpu0..3, pcie0..3], type: pcie5, lanes: 16, pairing: zip}}
    - {{between: [pcie0..3, cpu0..1], type: pcie5, lanes: 16, pairing: block}}
    - {{between: [cpu0, cpu1], type: upi}}
    - {{between: [nic0, pcie0], type: pcie5, lanes: 16}}
    - {{between: [nic1, pcie2], type: pcie5, lanes: 16}}
fabric: {{type: single_switch, switch: {{latency: 600 ns}}, link: {{type: ethernet, rate: 400 Gb/s, latency: 300 ns}}}}
)",
                     nvlink ? "- {between: [gpu0..3], type: nvlink4, width: 4}\n    " : "");
}

}  // namespace weft::testing
