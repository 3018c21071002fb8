#include "sim/workloads/flow_reader.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <utility>

#include "sim/network/infiniband_reader.h"
#include "sim/network/packet_settings_reader.h"
#include "sim/workloads/endpoint_names.h"
#include "sim/workloads/way_reader.h"

namespace weft::work {
namespace {

constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMaxMessages = 100'000'000'000;
constexpr std::int64_t kMaxAtOnce = 1'000'000;

bool states_unlimited(const ParamReader& item) {
  const auto written = item.node().find("bytes");
  return written && written->is_scalar() && written->scalar() == "unlimited";
}

void read_arrivals(ParamReader& item, FlowItem& flow, FlowOptions& options) {
  std::optional<ParamReader> arrivals = item.optional_map("arrivals");
  if (!arrivals) return;
  static_cast<void>(arrivals->choice("process", {"poisson"}, "poisson"));
  if (arrivals->has("load") == arrivals->has("rate")) {
    arrivals->error_here("expected either 'load', a share of the narrowest link on the way, or 'rate'");
  }
  options.load = arrivals->optional<Ratio>("load", Ratio{}, at_most(Ratio{10.0})).value;
  options.rate = arrivals->optional<Bandwidth>("rate", positive).value_or(Bandwidth{});
  if (const auto message = arrivals->optional<Bytes>("message", positive)) {
    if (item.has("bytes")) arrivals->error("message", "the flow's 'bytes' give the size already");
    flow.bytes = *message;
  } else if (!item.has("bytes")) {
    arrivals->error_here("missing key 'message'", "the size of one message");
  }
  options.seed = static_cast<std::uint64_t>(arrivals->optional<std::int64_t>("seed", 0, at_least(0)));
  arrivals->finish();
}

// When a flow posts what; keeps `bytes` in `flow`.
void read_timing(ParamReader& item, FlowItem& flow, FlowOptions& options, bool states_bytes) {
  options.unlimited = states_unlimited(item);
  if (options.unlimited) {
    static_cast<void>(item.optional_raw("bytes"));
    flow.bytes = kUnlimited;
  } else if (states_bytes && (!item.has("arrivals") || item.has("bytes"))) {
    flow.bytes = item.required<Bytes>("bytes");
  }
  read_arrivals(item, flow, options);
  options.every = item.optional<Duration>("every", Duration{}, positive);
  const bool repeats = item.has("every") || item.has("arrivals");
  options.messages = item.optional<std::int64_t>("count", repeats ? kNoEnd : 1, between(std::int64_t{1}, kNoEnd));
  if (item.has("count") && options.messages > kMaxMessages) {
    item.error("count", fmt::format("expected at most {} messages, got {}", kMaxMessages, options.messages));
  }
  if (!repeats && options.messages > kMaxAtOnce) {
    item.error("count", fmt::format("{} messages at once are over the limit of {}", options.messages, kMaxAtOnce),
               "'every' puts time between them");
  }
  if (const auto stop = item.optional<Duration>("stop", positive)) {
    options.stop = Time{} + *stop;
    if (options.stop <= flow.start) item.error("stop", "must come after 'start'");
  }
  if (options.unlimited) {
    for (const char* key : {"count", "every", "arrivals"}) {
      if (item.has(key)) item.error(key, "has no effect on a flow of unlimited bytes");
    }
  }
  if (item.has("every") && item.has("arrivals")) item.error("every", "'arrivals' says when messages come");
}

void read_verb(ParamReader& item, FlowOptions& options) {
  options.read = item.choice<bool>("verb", {{"write", false}, {"read", true}}, false);
  options.request = item.optional<Bytes>("request", options.request, positive);
  options.reads = item.optional<std::int64_t>("reads", options.reads, between(1, 1'000'000));
  if (options.read) return;
  for (const char* key : {"request", "reads"}) {
    if (item.has(key)) item.error(key, "is of RDMA READs", "state verb: read");
  }
}

bool states_options(const ParamReader& item) {
  if (states_unlimited(item)) return true;
  for (const char* key : {"stop", "count", "every", "arrivals", "verb"}) {
    if (item.has(key)) return true;
  }
  return false;
}

}  // namespace

bool read_flow_transport(ParamReader& item, const WorkloadContext& context, net::FlowTransport& out) {
  out.payload = item.optional<Bytes>("packet", positive);
  out.window = item.optional<Bytes>("window", positive);
  out.rate = item.optional<Bandwidth>("rate", positive);
  out.open_loop = item.optional<bool>("open_loop", false);
  if (const auto control = item.optional_raw("congestion_control")) {
    out.override_congestion = true;
    out.congestion = net::read_congestion_control(*control, item.diagnostics());
  }
  {
    const net::TransportSettings fabric = context.packet == nullptr ? net::TransportSettings{} : context.packet->transport;
    const net::CongestionNeeds own = out.congestion == nullptr ? net::CongestionNeeds{} : out.congestion->needs();
    out.settings = net::read_own_transport(item, out.window || own.acks || own.telemetry, own, fabric);
  }
  if (context.packet != nullptr) {
    const net::TransportSettings& transport = out.settings == nullptr ? context.packet->transport : *out.settings;
    net::CongestionNeeds needs = out.congestion == nullptr ? net::CongestionNeeds{} : out.congestion->needs();
    const std::string missing = net::missing_for(needs, transport);
    if (!missing.empty()) {
      item.error("congestion_control", fmt::format("the fabric's transport gives no {}", missing),
                 "state it in the cluster's fabric");
    }
    if (out.window && transport.acks == net::AckMode::kNone) {
      item.error("window", "the fabric's transport gives no acknowledgements",
                 "state acks: free, or packets, in the flow or in the cluster's fabric.transport");
    }
  }
  return out.payload || out.window || out.rate || out.open_loop || out.override_congestion || out.settings != nullptr;
}

FlowItem read_flow(ParamReader& item, const WorkloadContext& context, Workload& out, bool states_bytes) {
  FlowItem made;
  FlowOptions options;
  made.start = Time{} + item.optional<Duration>("start", Duration{});
  made.rate_cap = item.optional<Bandwidth>("rate_cap", positive).value_or(Bandwidth{});
  made.priority = net::read_lane(item, context.packet);
  const bool timed = states_options(item);
  read_timing(item, made, options, states_bytes);
  read_verb(item, options);
  options.has_transport = read_flow_transport(item, context, options.transport);
  options.way = read_way(item, context);
  if (options.read && options.way.stated()) {
    item.error(options.way.complete ? "route" : "via", "names the way of what the flow sends, and a READ brings data back",
               "state a flow from its 'to' to its 'from' with verb: write");
  }
  if (options.unlimited && options.transport.open_loop) {
    item.error("open_loop", "a flow of unlimited bytes cannot queue them all at once");
  }
  if (timed || options.has_transport || options.way.stated()) {
    made.options = static_cast<std::uint32_t>(out.options.size());
    out.options.push_back(std::move(options));
  }
  return made;
}

void read_flows(ParamReader& workload, const WorkloadContext& context, Workload& out) {
  for (ParamReader& item : workload.maps("flows")) {
    const DeviceId from = read_endpoint(item, "from", context.topology);
    const DeviceId to = read_endpoint(item, "to", context.topology);
    FlowItem made = read_flow(item, context, out);
    made.from = from;
    made.to = to;
    if (made.options != 0) check_way(item, context, made, out.options[made.options].way);
    item.finish();
    out.flows.push_back(made);
  }
}

void read_jobs(ParamReader& workload, const WorkloadContext& context, Workload& out) {
  const auto read_transfer = [&](ParamReader& item) {
    JobTransfer transfer;
    transfer.from = read_endpoint(item, "from", context.topology);
    transfer.to = read_endpoint(item, "to", context.topology);
    transfer.bytes = item.required<Bytes>("bytes");
    return transfer;
  };
  for (ParamReader& item : workload.maps("jobs")) {
    JobItem job;
    job.name = item.optional<std::string>("name", fmt::format("job{}", out.jobs.size()));
    if (item.has("transfers")) {
      for (ParamReader& transfer : item.required_maps("transfers")) {
        job.transfers.push_back(read_transfer(transfer));
        transfer.finish();
      }
    } else {
      job.transfers.push_back(read_transfer(item));
    }
    job.compute = item.optional<Duration>("compute", Duration{});
    job.iterations = item.optional<std::int64_t>("iterations", 1, between(1, 10'000'000));
    job.start = Time{} + item.optional<Duration>("start", Duration{});
    job.priority = net::read_lane(item, context.packet);
    job.rate_cap = item.optional<Bandwidth>("rate_cap", positive).value_or(Bandwidth{});
    job.has_transport = read_flow_transport(item, context, job.transport);
    item.finish();
    out.jobs.push_back(std::move(job));
  }
}

}  // namespace weft::work
