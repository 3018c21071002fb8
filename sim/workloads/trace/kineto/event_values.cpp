// Values of events, as any profiler may write them, checked and told apart.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "sim/workloads/trace/kineto/kineto_events.h"
#include "sim/workloads/trace/line_reader.h"

namespace weft::work::kineto {

std::int64_t OperatorInput::elements() const {
  const std::int64_t most = kLargestTask.count() / 16;  // the largest elements are of 16 B
  std::int64_t sum = 0;
  for (const std::vector<std::int64_t>& tensor : tensors) {
    std::int64_t product = 1;
    for (const std::int64_t side : tensor) product = side <= 0 ? 0 : std::min(product, most / side) * side;
    sum = std::min(most, sum + product);
  }
  return sum;
}

std::int64_t bytes_of(std::int64_t stated, OddValues& odd) {
  if (stated >= 0 && stated <= kLargestTask.count()) return stated;
  odd.add(std::to_string(stated));
  return 0;
}

std::int64_t blocks_of(std::span<const std::int64_t> sides, OddValues& odd) {
  constexpr std::int64_t kLongestSide = (std::int64_t{1} << 31) - 1;  // compute capability 3.0 and later
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  std::int64_t product = 1;
  for (const std::int64_t side : sides) {
    if (side >= 0 && side <= kLongestSide) {
      product = std::min(product * side, kMost);
      continue;
    }
    odd.add(fmt::format("[{}]", fmt::join(sides, ", ")));
    return 0;
  }
  return product;
}

HostCall::Kind call_kind(std::string_view name) {
  for (const std::string_view library : {"cuda", "cu", "hip"}) {
    if (!name.starts_with(library)) continue;
    name.remove_prefix(library.size());
    break;
  }
  if (name.starts_with("StreamWaitEvent")) return HostCall::Kind::kStreamWait;
  if (name.starts_with("EventRecord")) return HostCall::Kind::kEventRecord;
  if (name.starts_with("DeviceSynchronize") || name.starts_with("CtxSynchronize")) return HostCall::Kind::kDeviceSync;
  if (name.starts_with("StreamSynchronize")) return HostCall::Kind::kStreamSync;
  if (name.starts_with("EventSynchronize")) return HostCall::Kind::kEventSync;
  if (name.starts_with("GraphLaunch")) return HostCall::Kind::kGraphLaunch;
  return HostCall::Kind::kOther;
}

std::vector<std::int64_t> parse_rank_list(std::string_view text) {
  std::vector<std::int64_t> ranks;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    if (*at == '[' || *at == ']' || *at == ',' || *at == ' ') {
      ++at;
      continue;
    }
    std::int64_t rank = 0;
    const auto [next, error] = std::from_chars(at, end, rank);
    if (error != std::errc{} || rank < 0) return {};
    ranks.push_back(rank);
    at = next;
  }
  return ranks;
}

}  // namespace weft::work::kineto
