// The topology: a directed multigraph of devices and links, from a GPU's NVLink to the core switch of the fabric.
//
// Hosts are instances of node templates (a DGX H100, an NVL72 rack: NCCL's "node", one NVLink domain). Devices and links of one
// host are contiguous and in template order, so what is the same in every host (names, labels, routes inside) is stored once
// per template, and a cluster of 65,536 GPUs costs what differs: 8 bytes a device, 16 a link.
//
//   DeviceId gpu = topology.device("n3.gpu5");
//   for (LinkId link : topology.out_links(gpu)) use(topology.spec(link).rate);
//
// Built by TopologyBuilder below, frozen afterwards. Not here: routes (router.h), bandwidth sharing (fabric.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/units.h"

namespace weft::net {

enum class DeviceKind : std::uint8_t {
  kGpu,
  kNvSwitch,  // crossbar of an NVLink domain; one device may stand for a group of chips
  kPcieSwitch,
  kCpu,  // socket with its root complex, or a NUMA domain
  kNic,
  kSwitch,  // of the fabric between hosts
  kHost,    // a bare host: an endpoint whose inside is not modelled
  kStorage,
};
[[nodiscard]] std::string_view to_string(
    DeviceKind kind);  // "gpu", "nvswitch", "pcie_switch", "cpu", "nic", "switch", "host", "storage"

// How a device passes packets on (models/network §2.2). Endpoints forward nothing.
struct Forwarding {
  Duration latency;                // port to port, processing only
  bool store_and_forward = false;  // else cut-through: the decision needs `header` only
  Bytes header{64};
  bool operator==(const Forwarding&) const = default;
};

// All links of one kind share this. `efficiency` is the share of `rate` left for payload (headers, flow control, coding), taken
// as capacity by flow fidelity (models/network §6.3).
struct LinkSpec {
  std::string type;         // registered link type: "nvlink4", "pcie5", "infiniband", ...
  Bandwidth rate;           // raw, per direction, all of `width` together
  double efficiency = 1.0;  // 0 < efficiency <= 1
  Duration latency;         // propagation and PHY
  int width = 1;            // bonded NVLinks, or PCIe lanes
  Bytes packet{4096};       // payload of one full packet, the unit of store-and-forward
  Bytes overhead{0};        // header bytes a packet adds on the wire
  double read_overhead =
      0;                   // bytes on the opposite direction per byte moved, when the mover reads (requests, acknowledgements)
  double read_factor = 1;  // time that a byte takes that answers a read, over that of one written
  double weight = 1;       // among equal-cost links, where the routing policy goes by it
  bool operator==(const LinkSpec&) const = default;

  // Payload bytes per picosecond and direction.
  [[nodiscard]] double capacity() const { return rate.bytes_per_ps() * efficiency; }
};

using Labels = std::vector<std::pair<std::string, std::string>>;                          // in file order; values as written
[[nodiscard]] const std::string* find_label(const Labels& labels, std::string_view key);  // null: none
// Empty: none.
[[nodiscard]] inline std::string_view label_of(const Labels& labels, std::string_view key) {
  const std::string* value = find_label(labels, key);
  return value == nullptr ? std::string_view{} : std::string_view{*value};
}

// One direction of a cable. `twin` is the other direction.
struct Link {
  DeviceId from;
  DeviceId to;
  std::uint32_t spec = 0;
  LinkId twin;
};

struct GpuSpec;  // gpu_spec.h

struct TemplateDevice {
  std::string name;  // unique within the template: "gpu0"
  DeviceKind kind = DeviceKind::kGpu;
  Forwarding forwarding;
  Labels labels;  // what importers and exporters must keep: bus id, sm, vendor; of models only routes read one, `group`
  std::shared_ptr<const GpuSpec> gpu = {};  // its data sheet; null: not said, or no GPU
};

struct TemplateLink {
  std::uint32_t from = 0;  // local device index
  std::uint32_t to = 0;
  std::uint32_t spec = 0;  // into the topology's spec table
  std::uint32_t twin = 0;  // local link index
  Labels labels;
};

struct HostTemplate {
  std::string name;
  std::vector<TemplateDevice> devices;
  std::vector<TemplateLink> links;
  Labels labels;

  [[nodiscard]] std::vector<std::uint32_t> of_kind(DeviceKind kind) const;  // local indices, ascending
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view device_name) const;
};

struct Host {
  std::uint32_t host_template = 0;
  std::uint32_t first_device = 0;
  std::uint32_t first_link = 0;
};

// How the fabric's switches add up and copy for collectives (SHARP), beside what their links do.
struct SwitchReduction {
  Bandwidth rate;    // that one collective's tree moves data at; 0: as fast as its links
  Duration latency;  // more of a message, however many switches add it up
};

class Topology {
 public:
  ~Topology();
  Topology(Topology&&) noexcept;
  Topology& operator=(Topology&&) noexcept;

  [[nodiscard]] std::size_t device_count() const { return devices_.size(); }
  [[nodiscard]] std::size_t link_count() const { return links_.size(); }
  [[nodiscard]] std::size_t host_count() const { return hosts_.size(); }

  [[nodiscard]] DeviceKind kind(DeviceId device) const { return devices_[device.index()].kind; }
  [[nodiscard]] std::int32_t host_of(DeviceId device) const { return devices_[device.index()].host; }  // -1: a fabric switch
  [[nodiscard]] const Forwarding& forwarding(DeviceId device) const;
  [[nodiscard]] std::string name(DeviceId device) const;  // "n3.gpu5" for a device of a host, the switch's own name otherwise
  [[nodiscard]] std::optional<DeviceId> find(std::string_view name) const;
  [[nodiscard]] const Labels& labels(DeviceId device) const;
  [[nodiscard]] const GpuSpec* gpu(DeviceId device) const;  // null: not said, or no GPU

  [[nodiscard]] const Link& link(LinkId link) const { return links_[link.index()]; }
  // The way back over a one-way link: it has a number, and carries nothing.
  [[nodiscard]] bool is_absent(LinkId link) const { return !absent_.empty() && absent_[link.index()]; }
  [[nodiscard]] bool has_one_way_links() const { return !absent_.empty(); }
  [[nodiscard]] const LinkSpec& spec(LinkId link) const { return specs_[links_[link.index()].spec]; }
  [[nodiscard]] const LinkSpec& spec_at(std::uint32_t index) const { return specs_[index]; }
  [[nodiscard]] std::string name(LinkId link) const;  // "n0.gpu0->n0.nvswitch0", with "#k" where parallel links need it
  [[nodiscard]] std::span<const LinkId> out_links(DeviceId device) const;

  [[nodiscard]] const Host& host(std::size_t index) const { return hosts_[index]; }
  [[nodiscard]] const HostTemplate& host_template(std::size_t index) const { return templates_[index]; }
  [[nodiscard]] const HostTemplate& template_of_host(std::size_t host) const { return templates_[hosts_[host].host_template]; }
  [[nodiscard]] DeviceId device_of(std::size_t host, std::uint32_t local) const {
    return DeviceId{hosts_[host].first_device + local};
  }
  [[nodiscard]] LinkId link_of(std::size_t host, std::uint32_t local) const { return LinkId{hosts_[host].first_link + local}; }
  [[nodiscard]] std::uint32_t local(DeviceId device) const;  // of a device of a host

  // Devices that can hold a rank, in host order: the GPUs, or a bare host itself.
  [[nodiscard]] const std::vector<DeviceId>& endpoints() const { return endpoints_; }
  // Fabric switches, in creation order.
  [[nodiscard]] std::span<const DeviceId> fabric_switches() const { return fabric_switches_; }
  [[nodiscard]] const SwitchReduction& switch_reduction() const { return switch_reduction_; }
  // The links that join hosts to the fabric, host side first.
  [[nodiscard]] std::span<const LinkId> uplinks(DeviceId nic) const;
  // Devices `from` reaches over links of the graph (a frozen graph question, answered by Boost.Graph).
  [[nodiscard]] std::vector<bool> reachable_from(DeviceId from) const;

 private:
  friend class TopologyBuilder;
  struct Graph;  // boost::compressed_sparse_row_graph, in topology.cpp
  Topology();

  struct DeviceRecord {
    std::int32_t host = -1;
    DeviceKind kind = DeviceKind::kGpu;
  };
  std::vector<DeviceRecord> devices_;
  std::vector<Link> links_;
  std::vector<bool> absent_;  // by link; empty: none
  std::vector<LinkSpec> specs_;
  std::vector<HostTemplate> templates_;
  std::vector<Host> hosts_;
  std::vector<DeviceId> endpoints_;
  std::vector<DeviceId> fabric_switches_;
  SwitchReduction switch_reduction_;
  std::vector<TemplateDevice> switches_;     // name, forwarding, labels of fabric switch i
  std::vector<std::uint32_t> switch_index_;  // device -> index in switches_, by offset from the first fabric switch
  std::unique_ptr<Graph> graph_;
};

// Adds templates, hosts, switches and links, then freezes. Order of calls: templates, all hosts, all switches, then links.
class TopologyBuilder {
 public:
  TopologyBuilder();
  ~TopologyBuilder();

  std::uint32_t add_spec(LinkSpec spec);  // interned: equal specs share an index
  std::uint32_t add_template(HostTemplate host_template);
  std::uint32_t add_host(std::uint32_t host_template);  // returns the host's index; its devices and links are made
  DeviceId add_switch(TemplateDevice device);           // a fabric switch
  // A cable outside hosts: both directions, or a -> b only. Returns the direction a -> b.
  LinkId add_cable(DeviceId a, DeviceId b, std::uint32_t spec, bool one_way = false);

  void set_switch_reduction(const SwitchReduction& reduction);

  [[nodiscard]] DeviceId device_of(std::uint32_t host, std::uint32_t local) const;
  [[nodiscard]] const HostTemplate& template_of_host(std::uint32_t host) const;
  [[nodiscard]] std::size_t host_count() const;
  [[nodiscard]] Topology freeze() &&;

 private:
  std::unique_ptr<Topology> topology_;
};

}  // namespace weft::net
