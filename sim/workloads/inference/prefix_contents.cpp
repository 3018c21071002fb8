#include "sim/workloads/inference/prefix_contents.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace weft::work {

PrefixContents::PrefixContents(const RequestSpec& spec, std::int64_t block, const std::vector<Request>& requests) {
  constexpr ContentId kNothing = std::numeric_limits<ContentId>::max();
  ContentId next = 0;
  const std::int64_t shared = spec.shared_prefix / block;
  const ContentId shared_content = shared > 0 ? next++ : kNothing;
  // A hash stands for its block and for all before it; where a trace's do not, the piece before tells them apart.
  std::map<std::tuple<ContentId, std::int64_t, std::int64_t>, ContentId> hashed;
  begins_.push_back(0);
  ContentId own = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Request& request = requests[i];
    if (shared > 0) pieces_.push_back({shared_content, shared});
    ContentId before = kNothing;
    std::int64_t left = request.prompt;
    for (const std::int64_t hash : request.hashes) {
      const std::int64_t blocks = std::min(left, kHashedTokens) / block;
      if (blocks <= 0) break;
      const auto [known, is_new] = hashed.try_emplace({before, hash, blocks}, next);
      if (is_new) ++next;
      pieces_.push_back({known->second, blocks});
      before = known->second;
      left -= kHashedTokens;
    }
    if (i % static_cast<std::size_t>(spec.sessions.turns) == 0) own = next++;
    pieces_.push_back({own, PrefixPiece::kOpen});
    begins_.push_back(pieces_.size());
  }
}

}  // namespace weft::work
