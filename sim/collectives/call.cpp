#include "sim/collectives/call.h"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/core/error.h"

namespace weft::coll {
namespace {

constexpr std::array<std::pair<std::string_view, Collective>, 9> kNames{{
    {"all_reduce", Collective::kAllReduce},
    {"all_gather", Collective::kAllGather},
    {"reduce_scatter", Collective::kReduceScatter},
    {"broadcast", Collective::kBroadcast},
    {"reduce", Collective::kReduce},
    {"alltoall", Collective::kAllToAll},
    {"sendrecv", Collective::kSendRecv},
    {"gather", Collective::kGather},
    {"scatter", Collective::kScatter},
}};

// In the order of Reduction.
constexpr std::array<std::string_view, 6> kReductions{"sum", "prod", "min", "max", "avg", "mulsum"};

}  // namespace

std::string_view to_string(Collective collective) {
  for (const auto& [name, kind] : kNames) {
    if (kind == collective) return name;
  }
  WEFT_CHECK(false);  // every collective stands in the table
  return {};
}

std::optional<Collective> collective_from(std::string_view name) {
  for (const auto& [known, kind] : kNames) {
    if (known == name) return kind;
  }
  return std::nullopt;
}

CollectiveCall all_to_allv(std::shared_ptr<const PairSizes> pairs) {
  CollectiveCall call{.kind = Collective::kAllToAll, .element_size = 1};
  call.bytes = Bytes{std::max(pairs->most_sent(), pairs->most_received())};
  call.pairs = std::move(pairs);
  return call;
}

std::string_view name_of(const CollectiveCall& call) { return call.pairs == nullptr ? to_string(call.kind) : "alltoallv"; }

std::string_view to_string(Reduction reduction) { return kReductions[static_cast<std::size_t>(reduction)]; }

std::optional<Reduction> reduction_from(std::string_view name) {
  const auto* const found = std::ranges::find(kReductions, name);
  if (found == kReductions.end()) return std::nullopt;
  return static_cast<Reduction>(found - kReductions.begin());
}

std::span<const std::string_view> reduction_names() { return kReductions; }

bool reduces(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kReduceScatter || collective == Collective::kReduce;
}

bool is_of_integers(const CollectiveCall& call) {
  return call.numbers == Numbers::kInteger || (call.numbers == Numbers::kUsual && call.element_size == 1);
}

std::int64_t kernel_element_size(const CollectiveCall& call) { return reduces(call.kind) ? call.element_size : 1; }

CallSizes sizes_of(const CollectiveCall& call, int ranks) {
  const std::int64_t element = call.element_size;
  WEFT_CHECK(ranks >= 1);
  WEFT_CHECK(call.bytes >= Bytes{0});
  WEFT_CHECK(element >= 1 && element <= 16 && (element & (element - 1)) == 0);

  if (call.pairs != nullptr) {
    WEFT_CHECK(call.kind == Collective::kAllToAll && call.pairs->ranks() == ranks);
    const Bytes input{call.pairs->most_sent()};
    const Bytes output{call.pairs->most_received()};
    const Bytes reported = std::max(input, output);
    return {.input = input, .output = output, .reported = reported, .count = reported.count() / element};
  }
  const std::int64_t elements = call.bytes.count() / element;
  // models/nccl §8.2: where the size column is the total of all ranks, each rank's share is cut to whole units of 16 bytes.
  const std::int64_t share = (elements / ranks) & ~(16 / element - 1);
  const Bytes whole{elements * element};
  const Bytes one{share * element};
  const Bytes all = ranks * one;
  CallSizes sizes{};
  switch (call.kind) {
    case Collective::kAllReduce:
    case Collective::kBroadcast:
    case Collective::kReduce:
    case Collective::kSendRecv:
      sizes = {.input = whole, .output = whole, .reported = {}, .count = elements};
      break;
    case Collective::kAllGather:
    case Collective::kGather:
      sizes = {.input = one, .output = all, .reported = {}, .count = share};
      break;
    case Collective::kReduceScatter:
    case Collective::kScatter:
      sizes = {.input = all, .output = one, .reported = {}, .count = share};
      break;
    case Collective::kAllToAll:
      sizes = {.input = all, .output = all, .reported = {}, .count = share};
      break;
  }
  sizes.reported = std::max(sizes.input, sizes.output);
  return sizes;
}

double bus_factor(Collective collective, int ranks) {
  WEFT_CHECK(ranks >= 1);
  const double n = ranks;
  switch (collective) {  // models/nccl §8.2
    case Collective::kAllReduce:
      return 2 * (n - 1) / n;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
    case Collective::kGather:
    case Collective::kScatter:
      return (n - 1) / n;
    case Collective::kBroadcast:
    case Collective::kReduce:
    case Collective::kSendRecv:
      break;
  }
  return 1;
}

}  // namespace weft::coll
