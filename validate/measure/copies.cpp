// Copies: host memory and peers, one at a time and in patterns, by copy engine and by kernels.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "device_points.h"
#include "kernels.h"
#include "timing.h"

namespace weft::measure {
namespace {

constexpr int kHost = -1;
constexpr int kCopyBlocks = 64;  // of a kernel; enough to fill NVLink from one GPU
using Transfers = std::vector<std::pair<int, int>>;

int endpoint(const std::string& text) { return text == "h" ? kHost : std::stoi(text); }

// "h>0+0>1"
Transfers parse_transfers(std::string text) {
  Transfers transfers;
  while (!text.empty()) {
    const std::string one = text.substr(0, text.find('+'));
    const std::size_t arrow = one.find('>');
    transfers.emplace_back(endpoint(one.substr(0, arrow)), endpoint(one.substr(arrow + 1)));
    text.erase(0, one.size() + 1);
  }
  return transfers;
}

class HostBuffer {
 public:
  explicit HostBuffer(std::int64_t bytes) {
    check(cudaHostAlloc(&data_, static_cast<std::size_t>(bytes), cudaHostAllocPortable), "pinned host memory");
  }
  ~HostBuffer() { cudaFreeHost(data_); }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  [[nodiscard]] void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

// Both ends of a transfer, and a stream on the GPU that acts: the source of a peer copy unless it reads.
struct Ends {
  std::unique_ptr<Buffer> source;
  std::unique_ptr<Buffer> target;
  std::unique_ptr<HostBuffer> host;
  std::unique_ptr<Stream> stream;
  int device = 0;
};

void enable_peers(int from, int to) {
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, from, to), "peer access");
  if (can == 0) return;
  check(cudaSetDevice(from), "device");
  const cudaError_t status = cudaDeviceEnablePeerAccess(to, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled)
    static_cast<void>(cudaGetLastError());
  else
    check(status, "peer access");
}

Ends make_ends(int from, int to, std::int64_t bytes, bool reads) {
  Ends ends;
  if (from != kHost) {
    check(cudaSetDevice(from), "device");
    ends.source = std::make_unique<Buffer>(bytes);
  }
  if (to != kHost) {
    check(cudaSetDevice(to), "device");
    ends.target = std::make_unique<Buffer>(bytes);
  }
  if (from == kHost || to == kHost) ends.host = std::make_unique<HostBuffer>(bytes);
  if (from != kHost && to != kHost) enable_peers(from, to), enable_peers(to, from);
  ends.device = from == kHost || reads ? to : from;
  check(cudaSetDevice(ends.device), "device");
  ends.stream = std::make_unique<Stream>();
  return ends;
}

Enqueue make_copy(const Ends& ends, int from, int to, std::int64_t bytes, const std::string& engine) {
  const void* source = from == kHost ? ends.host->data() : ends.source->data();
  void* target = to == kHost ? ends.host->data() : ends.target->data();
  const cudaStream_t stream = ends.stream->get();
  if (engine != "copy_engine") return [=](int) { copy_kernel(source, target, bytes, kCopyBlocks, stream); };
  const auto size = static_cast<std::size_t>(bytes);
  if (from == kHost || to == kHost) {
    return [=](int) { check(cudaMemcpyAsync(target, source, size, cudaMemcpyDefault, stream), "host copy"); };
  }
  return [=](int) { check(cudaMemcpyPeerAsync(target, to, source, from, size, stream), "peer copy"); };
}

bool all_peers(const Transfers& transfers) {
  return std::all_of(transfers.begin(), transfers.end(), [](const auto& transfer) {
    int can = 1;
    if (transfer.first != kHost && transfer.second != kHost) {
      check(cudaDeviceCanAccessPeer(&can, transfer.first, transfer.second), "peer access");
    }
    return can != 0;
  });
}

}  // namespace

Measurement measure_copy(const Point& point) {
  const Transfers transfers = parse_transfers(point.text_of("transfers"));
  const std::string engine = point.text_of("engine");
  const std::int64_t bytes = point.number_of("bytes");
  const bool peers = all_peers(transfers);
  if (!peers && engine != "copy_engine") throw std::runtime_error("no access to the peer's memory");
  std::vector<Ends> ends;
  std::vector<Lane> lanes;
  std::set<int> gpus;
  for (const auto& [from, to] : transfers) {
    ends.push_back(make_ends(from, to, bytes, engine == "sm_read"));
    lanes.push_back({ends.back().device, ends.back().stream->get(), make_copy(ends.back(), from, to, bytes, engine)});
    for (const int gpu : {from, to}) {
      if (gpu != kHost) gpus.insert(gpu);
    }
  }
  check(cudaSetDevice(lanes.front().device), "device");
  const Stream main;
  Measurement measurement = lanes.size() == 1 ? time_in_stream(lanes[0].stream, lanes[0].enqueue, {.max_inner = 20})
                                              : time_together(lanes[0].device, main.get(), lanes);
  check(cudaGetLastError(), "copy");
  measurement.gpus.assign(gpus.begin(), gpus.end());
  measurement.what.add("engine", engine).add("pattern", point.text_of("pattern")).add("transfers", transfers);
  const double total = static_cast<double>(bytes) * static_cast<double>(transfers.size());
  measurement.what.add("bytes", bytes).add("GBps", total / measurement.median_us() / 1e3);
  const std::string pattern = point.text_of("pattern");
  if (pattern != "h2d" && pattern != "d2h" && pattern != "h2d_d2h") measurement.what.add("peer_access", peers);
  if (engine != "copy_engine") measurement.what.add("blocks", kCopyBlocks);
  return measurement;
}

}  // namespace weft::measure
