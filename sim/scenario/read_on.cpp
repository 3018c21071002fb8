#include "sim/scenario/read_on.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "sim/core/error.h"

namespace weft::scenario {
namespace {

constexpr std::string_view kStandIn = "weft.stand_in";  // a label that no file can give a host
constexpr std::uint32_t kGpus = 1'000;                  // of a host that stands in

auto said_by(const Diagnostic& error) {
  return std::tie(error.where.file, error.where.line, error.where.column, error.message, error.note);
}

net::Topology make_stand_in(std::uint32_t hosts) {
  net::TopologyBuilder builder;
  net::HostTemplate host;
  host.name = kStandIn;
  host.labels = {{std::string{kStandIn}, ""}};
  for (std::uint32_t i = 0; i < kGpus; ++i)
    host.devices.push_back({.name = fmt::format("stand_in{}", i), .forwarding = {}, .labels = {}});
  const std::uint32_t spec =
      builder.add_spec({.type = host.name, .rate = Bandwidth::from_bits_per_second(1'000'000'000), .latency = {}});
  host.links.push_back({.from = 0, .to = 1, .spec = spec, .twin = 1, .labels = {}});
  host.links.push_back({.from = 1, .to = 0, .spec = spec, .twin = 0, .labels = {}});
  const std::uint32_t made = builder.add_template(std::move(host));
  for (std::uint32_t i = 0; i < hosts; ++i) static_cast<void>(builder.add_host(made));
  return std::move(builder).freeze();
}

}  // namespace

void read_part(Diagnostics& diagnostics, const std::function<void()>& read) {
  try {
    read();
  } catch (const ConfigError& error) {
    diagnostics.absorb(error);
  }
}

void add_common_errors(Diagnostics& diagnostics, const ReadUnder& first, const ReadUnder& second) {
  Diagnostics one = diagnostics;
  Diagnostics other = diagnostics;
  read_part(one, [&] { first(one); });
  read_part(other, [&] { second(other); });
  const std::size_t known = diagnostics.errors().size();
  for (std::size_t i = known; i < one.errors().size(); ++i) {
    const Diagnostic& error = one.errors()[i];
    const bool in_both = std::any_of(other.errors().begin() + static_cast<std::ptrdiff_t>(known), other.errors().end(),
                                     [&](const Diagnostic& found) { return said_by(found) == said_by(error); });
    if (in_both) diagnostics.error(error);
  }
}

const net::Topology& stand_in_topology(StandIn which) {
  // Sweeps may ask for them at many points.
  static const net::Topology some = make_stand_in(100);
  static const net::Topology others = make_stand_in(101);
  return which == StandIn::kSome ? some : others;
}

// Differs from one stand-in to the other, so that the error is of neither.
std::string stand_in_note(const net::Topology& topology) {
  const bool stands_in = topology.host_count() > 0 && net::find_label(topology.template_of_host(0).labels, kStandIn) != nullptr;
  return stands_in ? fmt::format("{} hosts that stand in", topology.host_count()) : std::string{};
}

}  // namespace weft::scenario
