#include "sim/workloads/training/weave.h"

#include <gtest/gtest.h>

#include "tests/workloads/training/training_support.h"

namespace weft::work::test {
namespace {

// Two passes of the same shape: a kernel, its tokens' way out and back, a kernel that waits for them.
TEST(WeaveTest, AlternatesThePiecesBetweenAllToAlls) {
  RankProgramBuilder builder;
  const std::uint8_t compute = builder.stream("compute");
  const std::uint8_t experts = builder.stream("ep");
  const auto pass = [&] {
    const OpIndex before = builder.add({.stream = compute}, "before");
    Operation tokens{.kind = OpKind::kCollective, .category = Category::kCommExpert};
    tokens.stream = experts;
    const OpIndex moved = builder.add(tokens, "tokens", std::vector<OpIndex>{before});
    builder.add({.stream = compute}, "after", std::vector<OpIndex>{moved});
  };
  pass();
  pass();
  builder.allocate(5, 8);
  const std::vector<OpIndex> to = weave(builder, 0, 3);
  // before, tokens | before, tokens | after | after
  EXPECT_EQ(to, (std::vector<OpIndex>{0, 1, 4, 2, 3, 5}));
  EXPECT_EQ(builder.last(compute), 5U);
  EXPECT_EQ(builder.last(experts), 3U);
  const RankProgram program = builder.take();
  EXPECT_EQ(program.waits_of(program.operations[4]).front(), 1U);
  EXPECT_EQ(program.waits_of(program.operations[5]).front(), 3U);
  EXPECT_EQ(program.memory.front().op, 5U);
}

TEST(WeaveTest, DropsWaitsOfTheSecondPassOnTheFirst) {
  RankProgramBuilder builder;
  const std::uint8_t compute = builder.stream("compute");
  const std::uint8_t tensor = builder.stream("tp");
  const OpIndex first = builder.add({.stream = compute}, "first");
  Operation gather{.kind = OpKind::kCollective, .category = Category::kCommTensor};
  gather.stream = tensor;
  builder.add(gather, "gather", std::vector<OpIndex>{first});
  static_cast<void>(weave(builder, 0, 1));
  EXPECT_TRUE(builder.program().waits_of(builder.program().operations[1]).empty());
}

}  // namespace
}  // namespace weft::work::test
