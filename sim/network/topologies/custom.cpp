// A fabric written out: switches and links listed one by one (wiring.h). Hosts' devices are named as the topology names them
// ("n3.nic0", or "h3" for a bare host), so that a link may join any of them. Switches that state a `group` are routed as those
// of a dragonfly: over as few links between groups as can be.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <memory>

#include "sim/network/builtin.h"
#include "sim/network/wiring.h"

namespace weft::net {
namespace {

class Custom final : public TopologyShape {
 public:
  explicit Custom(ParamReader& params) : fabric_{params.node()} {
    static_cast<void>(params.raw("devices"));
    static_cast<void>(params.raw("links"));
  }

  [[nodiscard]] bool states_links() const override { return true; }

  FabricSize plan(const FabricDemand& demand, Diagnostics& diagnostics) override {
    if (!fabric_.find("devices") || !fabric_.find("links")) return {};  // reported when the shape was made
    // The other keys were read by the loader; this reader is for the two lists, and never finishes as an owner of the map.
    ParamReader params{fabric_, diagnostics};
    for (const std::string& key : fabric_.keys()) {
      if (key != "devices" && key != "links") static_cast<void>(params.optional_raw(key));
    }
    constexpr std::array kSwitchesOnly{DeviceKind::kSwitch};
    switches_ = read_devices(params, kSwitchesOnly);
    std::map<std::string, std::uint32_t, std::less<>> index;
    std::vector<std::string> known;
    first_switch_ = static_cast<std::uint32_t>(demand.nodes) * static_cast<std::uint32_t>(demand.host->devices.size());
    for (std::size_t i = 0; i < switches_.size(); ++i) {
      const std::string& name = switches_[i].device.name;
      index.emplace(name, first_switch_ + static_cast<std::uint32_t>(i));
      known.push_back(name);
    }
    const bool bare = demand.host->devices.size() == 1;
    for (const TemplateDevice& device : demand.host->devices) {
      if (bare || device.kind == DeviceKind::kNic) known.push_back(bare ? device.name + "0" : "n0." + device.name);
    }
    links_ = read_links(
        params, *demand.profile,
        [&](std::string_view name) -> std::optional<std::uint32_t> {
          if (const auto found = index.find(name); found != index.end()) return found->second;
          return host_device(name, demand);
        },
        known);
    params.finish();
    check_ports(switches_, first_switch_, links_, diagnostics);
    check_ways_back(diagnostics);
    check_weights(diagnostics);
    FabricSize size{.switches = static_cast<std::int64_t>(switches_.size()), .cables = 0};
    for (const ListedLinks& entry : links_) size.cables += static_cast<std::int64_t>(entry.cables.size());
    return size;
  }

  void build(FabricSite& site) const override {
    std::vector<DeviceId> made;
    for (const ListedDevice& listed : switches_) {
      TemplateDevice device = listed.device;
      if (!listed.states_latency) device.forwarding.latency = site.forwarding().latency;
      device.forwarding.header = site.forwarding().header;
      device.forwarding.store_and_forward |= site.forwarding().store_and_forward;
      made.push_back(site.builder().add_switch(std::move(device)));
    }
    const auto per_host = static_cast<std::uint32_t>(site.demand().host->devices.size());
    const auto device_at = [&](std::uint32_t index) {
      if (index >= first_switch_) return made[index - first_switch_];
      return site.builder().device_of(index / per_host, index % per_host);
    };
    for (const ListedLinks& entry : links_) {
      const std::uint32_t spec = site.builder().add_spec(entry.spec);
      for (const auto& [a, b] : entry.cables) site.builder().add_cable(device_at(a), device_at(b), spec, entry.one_way);
    }
  }

 private:
  // Pauses and credits go back over the cable that the packets came by.
  void check_ways_back(Diagnostics& diagnostics) const {
    const auto is_on = [](const ConfigNode& holder, std::string_view section) {
      const auto stated = holder.find(section);
      if (!stated || !stated->is_map()) return false;
      const auto enabled = stated->find("enabled");
      return !enabled || !enabled->is_scalar() || enabled->scalar() != "false";
    };
    bool pauses = is_on(fabric_, "pfc");
    if (const auto own = fabric_.find("switches"); own && own->is_list()) {
      for (std::size_t i = 0; i < own->size(); ++i) pauses |= (*own)[i].is_map() && is_on((*own)[i], "pfc");
    }
    const bool credits = is_on(fabric_, "credits");
    if (!pauses && !credits) return;
    for (const ListedLinks& entry : links_) {
      if (!entry.one_way) continue;
      report(diagnostics, entry.node.find("direction").value_or(entry.node),
             fmt::format("a one-way link has no way back for {}", credits ? "credits" : "pauses"),
             credits ? "drop 'credits', or join the two both ways"
                     : "drop 'pfc', or join the two both ways; without pauses a full buffer drops packets");
    }
  }

  void check_weights(Diagnostics& diagnostics) const {
    const auto routing = fabric_.find("routing");
    const auto by = routing && routing->is_map() ? routing->find("weights") : std::nullopt;
    const bool is_read = by && by->is_scalar() && by->scalar() == "links";
    const auto stated =
        std::ranges::find_if(links_, [](const ListedLinks& entry) { return entry.node.find("weight").has_value(); });
    if (stated != links_.end() && !is_read) {
      report(diagnostics, *stated->node.find("weight"), "has no effect on these routes",
             "state routing: {type: ecmp, weights: links}");
    }
    if (stated == links_.end() && is_read) report(diagnostics, *by, "no link states a 'weight'");
  }

  // "n3.nic0", or "h3": host number times devices per host plus local index.
  static std::optional<std::uint32_t> host_device(std::string_view name, const FabricDemand& demand) {
    const HostTemplate& host = *demand.host;
    const auto per_host = static_cast<std::uint32_t>(host.devices.size());
    const auto number = [&](std::string_view digits) -> std::optional<std::uint32_t> {
      std::uint32_t value = 0;
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
      return static_cast<std::int64_t>(value) < demand.nodes ? std::optional{value} : std::nullopt;
    };
    if (per_host == 1) {
      const std::string& base = host.devices[0].name;
      return name.starts_with(base) ? number(name.substr(base.size())) : std::nullopt;
    }
    const std::size_t dot = name.find('.');
    if (!name.starts_with('n') || dot == std::string_view::npos) return std::nullopt;
    const auto node = number(name.substr(1, dot - 1));
    const auto local = host.find(name.substr(dot + 1));
    return node && local ? std::optional{*node * per_host + *local} : std::nullopt;
  }

  ConfigNode fabric_;
  std::vector<ListedDevice> switches_;
  std::vector<ListedLinks> links_;
  std::uint32_t first_switch_ = 0;
};

}  // namespace

const Registration<TopologyShape> custom_fabric{
    .name = "custom",
    .summary = "switches and links listed in the file",
    .make = [](ParamReader& params) -> std::unique_ptr<TopologyShape> { return std::make_unique<Custom>(params); },
    .model = {.assumes = "Exactly the devices and links listed. Where switches state a `group`, routes cross as few links "
                         "between groups as they can.",
              .sources = {"sim/network/wiring.h: the language of the lists"}},
};

}  // namespace weft::net
