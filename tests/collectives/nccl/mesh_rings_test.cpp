#include "sim/collectives/nccl/mesh_rings.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

namespace weft::coll::nccl {
namespace {

// n(n-1) links a way, 2(n-1) rings of n hops: two on each.
TEST(MeshRingsTest, EveryLinkOfAFullMeshIsInTwoRings) {
  for (const int gpus : {4, 6, 8, 16}) {
    const std::vector<std::vector<int>> rings = mesh_rings(gpus);
    ASSERT_EQ(rings.size(), static_cast<std::size_t>(2 * (gpus - 1)));
    std::map<std::pair<int, int>, int> used;
    for (const std::vector<int>& ring : rings) {
      EXPECT_EQ(std::set<int>(ring.begin(), ring.end()).size(), static_cast<std::size_t>(gpus));
      ASSERT_EQ(ring.size(), static_cast<std::size_t>(gpus));
      for (std::size_t i = 0; i < ring.size(); ++i) ++used[{ring[i], ring[(i + 1) % ring.size()]}];
    }
    EXPECT_EQ(used.size(), static_cast<std::size_t>(gpus * (gpus - 1)));
    for (const auto& [link, count] : used) EXPECT_EQ(count, 2) << link.first << " to " << link.second << " of " << gpus;
  }
}

}  // namespace
}  // namespace weft::coll::nccl
