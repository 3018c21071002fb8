#include "sim/collectives/nccl/planner.h"

#include <algorithm>

#include "sim/collectives/nccl/channel_split.h"
#include "sim/collectives/nccl/chunking.h"
#include "sim/collectives/nccl/release_rules.h"
#include "sim/core/error.h"

namespace weft::coll::nccl {
namespace {

constexpr int kWarp = 32;
constexpr int kLeastThreads = 3 * kWarp;
constexpr int kMostThreads = 640;

// Reads a number of threads from NCCL's environment as NCCL does: out of range or not whole warps, it warns and takes a bound.
int asked_threads(const Settings& settings, const char* key, int least, int most, int otherwise) {
  const auto asked = settings.raw_integer(key);
  if (!asked || *asked <= 0) return otherwise;
  if (*asked % kWarp != 0 || *asked > most) return most;
  return std::max(least, static_cast<int>(*asked));
}

// models/nccl §4.5.
int max_threads(const CommInfo& comm, const Settings& settings, Algo algo, Proto proto) {
  constexpr int kSimpleThreads = 512;
  constexpr float kPciGBps = 12;  // rings no faster than PCIe do with half the threads
  if (algo != Algo::kRing && algo != Algo::kTree) return kMostThreads;
  if (proto == Proto::kLl128) {
    return asked_threads(settings, "LL128_NTHREADS", kMostThreads / 4, kMostThreads, kMostThreads);
  }
  const Graph& ring = comm.ring;
  const bool slow = algo == Algo::kRing && proto == Proto::kSimple &&
                    ring.bandwidth_intra * static_cast<float>(ring.channel_count()) <= kPciGBps;
  return asked_threads(settings, "NTHREADS", 2 * kWarp, kSimpleThreads, slow ? kSimpleThreads / 2 : kSimpleThreads);
}

// Bytes that one thread should have to do (models/nccl §4.5).
std::int64_t threshold(const CommInfo& comm, const Settings& settings, Algo algo, Proto proto) {
  if (algo == Algo::kTree || algo == Algo::kRing) {
    const std::vector<std::int64_t> given = settings.integers("THREAD_THRESHOLDS");
    const std::size_t index = (algo == Algo::kRing ? kProtos : 0) + static_cast<std::size_t>(proto);
    if (index < given.size() && given[index] >= 0) return given[index];
  }
  if (algo == Algo::kCollNetDirect || algo == Algo::kCollNetChain) return 512;
  if (proto == Proto::kSimple) return 64;
  return algo == Algo::kRing && proto == Proto::kLl ? 8 * static_cast<std::int64_t>(comm.ranks) : 8;
}

// CollNetDirect gives channels up in stages, each at half the bytes (models/nccl §4.5).
int collnet_direct_channels(const CommInfo& comm, std::int64_t bytes, int channels, int threads, std::int64_t per_thread) {
  const std::int64_t heads = heads_of(comm, Algo::kCollNetDirect);
  const auto small = [&] { return bytes < channels * threads * heads * per_thread; };
  for (int stage = 16; stage >= 1 && small(); stage /= 2) {
    while (channels > stage && small()) {
      if (channels == stage + stage / 2) per_thread /= 2;
      --channels;
    }
  }
  return channels;
}

std::int64_t traffic_per_byte(const CommInfo& comm, Collective kind, Proto proto) {
  const std::int64_t per_byte = kind == Collective::kAllReduce ? 2 : is_gather(kind) ? comm.ranks : 1;
  return proto == Proto::kLl ? split_ll_factor(comm.version) * per_byte : per_byte;
}

// Bytes of the whole call for `block` bytes of each rank's part.
Bytes whole(const CommInfo& comm, Collective kind, Bytes block) { return is_gather(kind) ? comm.ranks * block : block; }

// Even, because a loop gives every channel a chunk for each head; only the last loop is cut short (models/nccl §4.6).
std::vector<ChannelShare> strided_shares(const CommInfo& comm, Algo algo, Bytes bytes, Bytes chunk, int channels) {
  const std::int64_t lane = heads_of(comm, algo) * chunk.count();
  const std::int64_t loops = bytes.count() / (lane * channels);
  std::int64_t left = bytes.count() % (lane * channels);
  std::vector<ChannelShare> shares;
  for (int c = 0; c < channels; ++c) {
    const std::int64_t last = std::min(left, lane);
    left -= last;
    if (loops > 0 || last > 0 || c == 0) shares.push_back({.bytes = Bytes{loops * lane + last}, .chunk = chunk});
  }
  return shares;
}

}  // namespace

LaunchShape launch_shape(const TuningModel& model, Collective kind, Algo algo, Proto proto, Bytes bytes) {
  WEFT_CHECK(tuned_index(kind).has_value());
  const CommInfo& comm = model.comm();
  const Settings& settings = model.settings();
  const std::int64_t size = bytes.count();
  LaunchShape shape;
  shape.channels = std::max(1, comm.channels);
  shape.threads = max_threads(comm, settings, algo, proto);
  const std::int64_t per_thread = threshold(comm, settings, algo, proto);
  if (is_nvls(algo)) {
    shape.channels = std::max(1, runs_collnet(comm, algo) ? std::min(comm.nvls_channels, comm.channels) : comm.nvls_channels);
  } else if (algo == Algo::kCollNetDirect) {
    shape.channels = collnet_direct_channels(comm, size, shape.channels, shape.threads, per_thread);
  } else if (algo != Algo::kPat) {
    const auto small = [&] { return size < shape.channels * shape.threads * per_thread; };
    while (shape.channels >= 2 && small()) --shape.channels;
    while (shape.threads % (4 * kWarp) == 0 && small()) shape.threads /= 2;
  }
  if (proto == Proto::kSimple && algo == Algo::kRing) shape.threads += kWarp;  // posts while the others copy
  if (proto == Proto::kSimple && algo == Algo::kTree) shape.threads += 4 * kWarp;
  shape.threads = std::max(shape.threads, kLeastThreads);
  const bool full = algo == Algo::kPat || (algo == Algo::kTree && comm.version >= kFirstWithFullTreeBlocks);
  if (full) shape.threads = kMostThreads;
  return shape;
}

Choice plan(const TuningModel& model, const CollectiveCall& call, const Selection& selection, const UserBuffers& buffers) {
  const CommInfo& comm = model.comm();
  const CallSizes sizes = sizes_of(call, comm.ranks);
  Algo algo = selection.algo;
  Proto proto = selection.proto;
  LaunchShape shape = launch_shape(model, call.kind, algo, proto, sizes.reported);
  if (takes_nvls_for_few_blocks(model, call.kind, shape.channels, buffers)) {
    algo = Algo::kNvls;
    proto = Proto::kSimple;
    shape = launch_shape(model, call.kind, algo, proto, sizes.reported);
  }
  Choice choice;
  choice.registration = registration(model, call, algo, proto, shape.channels, buffers);
  const RegisteredBuffers& registered = choice.registration;
  if (registered.channels > 0) shape.channels = registered.channels;
  const auto chunk_for = [&](Bytes bytes, int channels) {
    if (registered.in_switch && is_gather(call.kind)) return slot_data(model.settings(), proto);
    if (registered.of_network && call.kind == Collective::kAllGather) return kLargestMessage;
    return chunk_of(model, call.kind, algo, proto, bytes, channels);
  };

  choice.algorithm = registered_name(algo);
  choice.protocol = to_string(proto);
  choice.warps = shape.warps();
  const Bytes block{sizes.count * call.element_size};
  if (block == Bytes{0}) {
    choice.shares = {{.bytes = Bytes{0}, .chunk = chunk_for(Bytes{0}, 1)}};
  } else if (runs_collnet(comm, algo)) {
    choice.shares = strided_shares(comm, algo, block, chunk_for(sizes.reported, shape.channels), shape.channels);
  } else {
    const SplitTask task{.elements = sizes.count,
                         .element_size = call.element_size,
                         .traffic_per_byte = traffic_per_byte(comm, call.kind, proto),
                         .channels = shape.channels};
    const int most = std::max(1, is_nvls(algo) ? std::max(comm.nvls_channels, registered.channels) : comm.channels);
    const auto parts = split_over_channels({&task, 1}, most, comm.version);
    for (const ChannelPart& part : parts.front()) {
      const Bytes bytes{part.elements * call.element_size};
      choice.shares.push_back({.bytes = bytes, .chunk = chunk_for(whole(comm, call.kind, bytes), 1)});
    }
  }
  choice.channels = static_cast<int>(choice.shares.size());
  choice.chunk = std::ranges::max(choice.shares, {}, &ChannelShare::chunk).chunk;
  return choice;
}

Choice plan(const TuningModel& model, const CollectiveCall& call) {
  return plan(model, call, model.select(call.kind, sizes_of(call, model.comm().ranks).reported, 1, call));
}

}  // namespace weft::coll::nccl
