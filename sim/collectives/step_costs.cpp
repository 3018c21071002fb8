#include "sim/collectives/step_costs.h"

#include <algorithm>
#include <cmath>

#include "sim/core/portable_math.h"

namespace weft::coll {
namespace {

// NCCL loads so many times `host_pass` from its own memory before it stores: 8 loads by a thread on GPUs since Ampere
// (src/include/device.h, ncclCollUnroll(); 2.28.9), where host_pass counts 4.
constexpr double kPassesAtOnce = 2;

Duration scaled(Duration time, double by) { return Duration::whole_ps(static_cast<double>(time.ps()) * by); }

}  // namespace

std::string_view to_string(Transport transport) {
  constexpr std::string_view kNames[] = {"NVLink", "host memory", "network"};
  return kNames[static_cast<std::size_t>(transport)];
}

Bytes StepCosts::slice_bytes(Bytes chunk, int index) const {
  if (slices == 1) return chunk;
  constexpr std::int64_t kUnit = 16;  // slices are cut at NCCL's alignment unit (models/nccl §4.2)
  const std::int64_t even = (chunk.count() + slices - 1) / slices;
  const std::int64_t size = std::max((even + kUnit - 1) / kUnit * kUnit, min_slice.count());
  return Bytes{std::clamp<std::int64_t>(chunk.count() - index * size, 0, size)};
}

Bytes StepCosts::on_wire(Bytes data) const { return Bytes{(data.count() * wire_bytes + per_data_bytes - 1) / per_data_bytes}; }

Bandwidth StepCosts::data_rate(Bandwidth wire) const {
  return Bandwidth::from_bits_per_second(wire.bits_per_second() / wire_bytes * per_data_bytes);
}

Bandwidth StepCosts::pace(Bytes wire, Duration busy) {
  if (busy <= Duration{}) return {};
  return Bandwidth::from_bits_per_second(static_cast<std::int64_t>(static_cast<double>(wire.count()) / busy.seconds() * 8.0));
}

// Model: loads and stores of a step cost a thread block time one after another, each its own share, whatever its peers do;
// where loads are issued at once, the shorter ones cost nothing. Few warps mostly wait: they load one operand after the other,
// as much at once as they have registers for.
double StepCosts::effort(const StepWork& work) const {
  if (memory == MemoryCosts{}) return 1.0;
  const double receive = memory.receive * work.received;
  const double source = memory.source * work.sourced;
  const double loads = memory.loads_at_once ? std::max(receive, source) : receive + source;
  const double moved =
      loads + (1.0 - memory.source) * work.sent + std::max(memory.store * work.stored, memory.far * work.sourced);
  if (host_pass.count() == 0) return moved;
  const double at_once = kPassesAtOnce * static_cast<double>(host_pass.count());
  const double wait = static_cast<double>((load_wait + far_wait).ps()) * rate.bytes_per_ps() / at_once;
  return std::max(moved, wait * (work.received + work.sourced));
}

Duration StepCosts::work(Bytes data, double share, double effort, double busy_share) const {
  if (!takes_time(data) || effort <= 0.0) return {};
  const double rate_of_lane = rate.bytes_per_ps() * share / effort;
  double amount = static_cast<double>(data.count());
  if (pass.count() > 0) {
    // A pass is what the lane's warps move at once. Less than one pass costs in proportion; in the last of several only the
    // warps that still have data work, which are faster for it.
    const double of_lane = static_cast<double>(pass.count()) * share;
    const double passes = amount / of_lane;
    const double whole = std::floor(passes);
    const double last = passes > whole ? portable_pow(passes - whole, thread_exponent) : 0.0;
    amount = (passes <= 1 ? passes * first_pass : whole - 1 + first_pass + last) * of_lane;
  }
  if (busy_share < 1.0) amount *= portable_pow(busy_share, thread_exponent);
  return Duration::whole_ps(std::ceil(amount / rate_of_lane));
}

double StepCosts::blocks_worth(double share) const {
  if (share <= 0.0 || share >= 1.0) return std::clamp(share, 0.0, 1.0);
  return portable_pow(share, 1.0 - thread_exponent);
}

Duration StepCosts::before_slice(Bytes data, int index) const {
  if (data.count() == 0) return {};
  if (index > 0) return slice;
  return slice + scaled(load_wait, part_of_pass(data));
}

Duration StepCosts::before_peers(int peers, Bytes data) const { return scaled(peers * peer_slice, part_of_pass(data)); }

double StepCosts::part_of_pass(Bytes data) const {
  return data >= load_pass ? 1.0 : static_cast<double>(data.count()) / static_cast<double>(load_pass.count());
}

Duration StepCosts::before_slices(double copies) const { return slices * slice + load_wait + scaled(copy_wait, copies); }

// Model: thread blocks of a kernel start one after another within a time that grows with the logarithm of their number, and in
// this order.
Duration StepCosts::start_of(int block) const {
  static const double two = portable_log(2.0);
  return block == 0 ? Duration{} : scaled(channel_start, portable_log(1.0 + block) / two);
}

Duration StepCosts::host_wait(Bytes data, double share, bool reads) const {
  if (host_pass.count() == 0 || data.count() == 0) return {};
  const double loads = static_cast<double>(data.count()) / (static_cast<double>(host_pass.count()) * share);
  const auto once = scaled(host_slice, std::min(loads, 1.0));
  return reads ? once + (static_cast<std::int64_t>(std::ceil(loads)) - 1) * host_read : once;
}

// Model: what is waited for outside the GPUs (host memory, PCIe, the network's proxies) takes as long at any clock.
void StepCosts::slow_down(double latency, double slower_rate) {
  const auto stretch = [&](Duration& time) { time = Duration::nearest_ps(static_cast<double>(time.ps()) * latency); };
  for (Duration* time : {&start, &channel_start, &hop[static_cast<std::size_t>(Transport::kNvlink)], &slice, &peer_slice,
                         &after_slice, &operand_wait, &load_wait, &far_wait, &copy_wait})
    stretch(*time);
  rate = Bandwidth::from_bits_per_second(std::llround(static_cast<double>(rate.bits_per_second()) / slower_rate));
}

Duration StepCosts::message_overhead(Transport transport, double copies) const {
  return hop[static_cast<std::size_t>(transport)] + before_slices(copies);
}

}  // namespace weft::coll
