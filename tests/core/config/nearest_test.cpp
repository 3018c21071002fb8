#include "sim/core/config/nearest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft {
namespace {

const std::vector<std::string> kKeys = {"type", "latency", "bandwidth", "mtu"};

TEST(NearestTest, CountsInsertionsDeletionsSubstitutionsAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("bandwith", "bandwidth"), 1U);
  EXPECT_EQ(edit_distance("latnecy", "latency"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("ca", "abc"), 3U);  // each place touched once: a swap and an insertion in between do not combine
}

TEST(NearestTest, FindsTheNameThatWasMeant) {
  EXPECT_EQ(nearest("bandwith", kKeys), "bandwidth");
  EXPECT_EQ(nearest("Latency", kKeys), "latency");
  EXPECT_EQ(nearest("mtv", kKeys), "mtu");
  EXPECT_EQ(nearest("tpye", kKeys), "type");
}

TEST(NearestTest, StaysSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest("colour", kKeys), "");
  EXPECT_EQ(nearest("x", kKeys), "");
  EXPECT_EQ(nearest("", kKeys), "");
  EXPECT_EQ(nearest(std::string(1'000'000, 'x'), kKeys), "");
  EXPECT_EQ(nearest("anything", {}), "");
  const std::vector<std::string> options = {"-G", "-n", "--cudagraph"};
  EXPECT_EQ(nearest("-m", options), "");
  EXPECT_EQ(nearest("-g", options), "-G");
}

TEST(NearestTest, AcceptsAThirdOfTheLengthAndNoMore) {
  // Nine letters: three edits are a typo, four are another name.
  const std::vector<std::string> names = {"abcdefghi"};
  EXPECT_EQ(nearest("abcdefxyz", names), "abcdefghi");
  EXPECT_EQ(nearest("abcdewxyz", names), "");
}

TEST(NearestTest, TakesTheFirstInByteOrderAmongEquals) {
  const std::vector<std::string> names = {"rate_c", "rate_a", "rate_b"};
  EXPECT_EQ(nearest("rate_x", names), "rate_a");
}

TEST(NearestTest, WritesTheNoteWithEveryNameInByteOrder) {
  EXPECT_EQ(did_you_mean("bandwith", kKeys, "keys here"), "did you mean 'bandwidth'? keys here: bandwidth, latency, mtu, type");
  EXPECT_EQ(did_you_mean("zzz", kKeys, "keys here"), "keys here: bandwidth, latency, mtu, type");
  EXPECT_EQ(did_you_mean("zzz", {}, "keys here"), "keys here: none");
}

// Names of other programs: no typo, but a known word with an end of its own.
TEST(NearestTest, NameThatBeginsWithAKnownWordIsToldWhichOne) {
  const std::vector<std::string> optimizers = {"sgd", "adam_fused", "adam_foreach"};
  EXPECT_EQ(did_you_mean("adamw", optimizers, "choices"),
            "did you mean 'adam_foreach'? choices: adam_foreach, adam_fused, sgd");
  const std::vector<std::string> batch = {"global", "micro", "sequence"};
  EXPECT_EQ(did_you_mean("microbatches", batch, "keys here"), "did you mean 'micro'? keys here: global, micro, sequence");
  EXPECT_EQ(did_you_mean("sgdmomentum", optimizers, "choices"), "choices: adam_foreach, adam_fused, sgd");  // three letters
}

TEST(NearestTest, CutsLongListsOfNames) {
  std::vector<std::string> names;
  for (int i = 100; i < 145; ++i) names.push_back("n" + std::to_string(i));
  const std::string note = did_you_mean("zzzzzz", names, "names");
  EXPECT_TRUE(note.ends_with("n138, n139, and 5 more")) << note;
}

}  // namespace
}  // namespace weft
