#include "sim/collectives/expected_result.h"

namespace weft::coll {

Data expected_result(const CollectiveCall& call, int ranks, Rank rank, std::int64_t bytes, ContributorTable& table) {
  const std::int64_t block = bytes / ranks;
  Data data;
  switch (call.kind) {
    case Collective::kAllReduce:
    case Collective::kReduce:
      data = {{.bytes = bytes, .source = 0, .from = table.each_once(ranks)}};
      break;
    case Collective::kReduceScatter:
      data = {{.bytes = bytes, .source = rank * bytes, .from = table.each_once(ranks)}};
      break;
    case Collective::kAllGather:
    case Collective::kGather:
      for (Rank from = 0; from < ranks; ++from) data.push_back({.bytes = block, .source = 0, .from = table.one(from)});
      break;
    case Collective::kAllToAll:
      for (Rank from = 0; from < ranks; ++from) {
        const PairSizes* pairs = call.pairs.get();
        const Piece piece{.bytes = pairs == nullptr ? block : pairs->bytes(from, rank),
                          .source = pairs == nullptr ? rank * block : pairs->input_offset(from, rank),
                          .from = table.one(from)};
        if (piece.bytes > 0) data.push_back(piece);
      }
      break;
    case Collective::kBroadcast:
      data = {{.bytes = bytes, .source = 0, .from = table.one(call.root)}};
      break;
    case Collective::kScatter:
      data = {{.bytes = bytes, .source = rank * bytes, .from = table.one(call.root)}};
      break;
    case Collective::kSendRecv:
      data = {{.bytes = bytes, .source = 0, .from = table.one((rank + ranks - 1) % ranks)}};
      break;
  }
  return data;
}

}  // namespace weft::coll
