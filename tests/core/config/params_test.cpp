#include "sim/core/config/params.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace weft {
namespace {

using namespace weft::literals;

// Reads `text` by `read` and returns all errors as the user sees them; "" if there are none.
std::string errors_of(const std::string& text, const std::function<void(ParamReader&)>& read,
                      const std::string& root = "cluster") {
  Diagnostics diagnostics;
  try {
    ParamReader reader{ConfigNode::parse(text, "pod.yaml", root), diagnostics};
    read(reader);
    reader.finish();
    diagnostics.throw_if_any();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

template <class T>
std::string error_of_value(const std::string& value, Range<T> range = {}) {
  const std::string all = errors_of("x: " + value + "\n", [&range](ParamReader& reader) { reader.required<T>("x", range); });
  return all.substr(0, all.find('\n')) + (all.find("note:") == std::string::npos
                                              ? ""
                                              : " | " + all.substr(all.find("note:"), all.size() - all.find("note:") - 1));
}

TEST(ParamReaderTest, ReadsEveryType) {
  const char* text =
      "{s: a b, b: true, i: 8, d: 0.5, t: 1.5 us, n: 64 KiB, w: 400 Gb/s, r: 5 %, l: [1 us, 2 us], e: [], c: eth, q: \"8\"}\n";
  const std::string errors = errors_of(text, [](ParamReader& reader) {
    EXPECT_EQ(reader.required<std::string>("s"), "a b");
    EXPECT_EQ(reader.required<bool>("b"), true);
    EXPECT_EQ(reader.required<std::int64_t>("i"), 8);
    EXPECT_EQ(reader.required<double>("d"), 0.5);
    EXPECT_EQ(reader.required<Duration>("t"), 1'500_ns);
    EXPECT_EQ(reader.required<Bytes>("n"), 64_KiB);
    EXPECT_EQ(reader.required<Bandwidth>("w"), 400_Gbps);
    EXPECT_EQ(reader.required<Ratio>("r").value, 0.05);
    EXPECT_EQ(reader.list<Duration>("l"), (std::vector<Duration>{1_us, 2_us}));
    EXPECT_TRUE(reader.required_list<Bytes>("e").empty());
    EXPECT_EQ(reader.choice("c", {"ib", "eth"}), "eth");
    EXPECT_EQ(reader.required<std::int64_t>("q"), 8) << "quotes change nothing";
  });
  EXPECT_EQ(errors, "");
}

TEST(ParamReaderTest, GivesDefaultsForWhatIsAbsent) {
  enum class Kind { kIb, kEth };
  const std::string errors = errors_of("{}", [](ParamReader& reader) {
    EXPECT_FALSE(reader.has("s"));
    EXPECT_EQ(reader.optional<std::string>("s", "x"), "x");
    EXPECT_EQ(reader.optional<std::int64_t>("i", 3), 3);
    EXPECT_EQ(reader.optional<Duration>("t", 500_ns), 500_ns);
    EXPECT_EQ(reader.optional<Duration>("u"), std::nullopt);
    EXPECT_EQ(reader.choice("c", {"ib", "eth"}, "ib"), "ib");
    EXPECT_EQ(reader.choice<Kind>("k", {{"ib", Kind::kIb}, {"eth", Kind::kEth}}, Kind::kEth), Kind::kEth);
    EXPECT_TRUE(reader.list<Bytes>("l").empty());
    EXPECT_TRUE(reader.maps("m").empty());
    EXPECT_FALSE(reader.optional_map("o").has_value());
    EXPECT_FALSE(reader.optional_raw("r").has_value());
    ParamReader empty = reader.map_or_empty("e");
    EXPECT_EQ(empty.optional<std::int64_t>("i", 4), 4);
    EXPECT_EQ(empty.path(), "cluster.e");
    empty.finish();
  });
  EXPECT_EQ(errors, "");
}

TEST(ParamReaderTest, ReportsAnUnknownKeyWithTheNearestOne) {
  const char* text =
      "fabric:\n"
      "  links:\n"
      "    - type: ib\n"
      "      bandwith: 900 GB/s\n"
      "      latency: 500\n";
  const std::string errors = errors_of(text, [](ParamReader& reader) {
    ParamReader fabric = reader.map("fabric");
    for (ParamReader& link : fabric.maps("links")) {
      link.optional<std::string>("type", "");
      link.optional<Bandwidth>("bandwidth", 1_Gbps);
      link.optional<Duration>("latency", 1_us);
      link.optional<Bytes>("mtu", 4_KiB);
      link.finish();
    }
    fabric.finish();
  });
  EXPECT_EQ(errors,
            "pod.yaml:4:7: error: unknown key 'bandwith' in cluster.fabric.links[0]\n"
            "   4 |       bandwith: 900 GB/s\n"
            "     |       ^~~~~~~~\n"
            "note: did you mean 'bandwidth'? keys here: bandwidth, latency, mtu, type\n"
            "pod.yaml:5:16: error: cluster.fabric.links[0].latency: expected a duration such as '500 ns', got '500'\n"
            "   5 |       latency: 500\n"
            "     |                ^~~\n");
}

TEST(ParamReaderTest, KeysThatWereOnlyLookedForAreAmongTheKeysHere) {
  const auto read = [](ParamReader& reader) {
    if (reader.has("overrides")) reader.map("overrides").finish();
    reader.optional<std::int64_t>("nodes", 1);
  };
  EXPECT_EQ(errors_of("overides: {}\n", read),
            "pod.yaml:1:1: error: unknown key 'overides' in cluster\n"
            "   1 | overides: {}\n"
            "     | ^~~~~~~~\n"
            "note: did you mean 'overrides'? keys here: nodes, overrides\n");
  EXPECT_EQ(errors_of("overrides: {}\n", read), "");
}

TEST(ParamReaderTest, AKeyLookedForAndNotReadIsUnknownUnlessAnErrorEndedTheReading) {
  EXPECT_EQ(errors_of("a: 1\n", [](ParamReader& reader) { static_cast<void>(reader.has("a")); }),
            "pod.yaml:1:1: error: unknown key 'a' in cluster\n"
            "   1 | a: 1\n"
            "     | ^\n"
            "note: keys here: none\n");
  const std::string both = errors_of("a: 1\nb: 2\n", [](ParamReader& reader) {
    if (reader.has("a") && reader.has("b")) reader.error("a", "expected one of 'a' and 'b'");
  });
  EXPECT_EQ(both.find("unknown key"), std::string::npos) << both;
}

TEST(ParamReaderTest, ReportsAMissingKeyAtTheMapItIsMissingFrom) {
  EXPECT_EQ(errors_of("fabric:\n  type: x\n",
                      [](ParamReader& reader) {
                        ParamReader fabric = reader.map("fabric");
                        fabric.optional<std::string>("type", "");
                        EXPECT_EQ(fabric.required<Bandwidth>("rate"), Bandwidth{});
                        fabric.finish();
                      }),
            "pod.yaml:1:1: error: cluster.fabric: missing key 'rate'\n"
            "   1 | fabric:\n"
            "     | ^~~~~~\n"
            "note: expected a bandwidth such as '400 Gb/s'\n");
  EXPECT_EQ(errors_of(
                "a: 1\n", [](ParamReader& reader) { reader.required<std::int64_t>("nodes"), reader.raw("a"); }, ""),
            "pod.yaml:1:1: error: missing key 'nodes'\n"
            "   1 | a: 1\n"
            "     | ^\n"
            "note: expected an integer such as '8'\n");
}

TEST(ParamReaderTest, SaysWhatWasExpectedAndWhatWasFound) {
  EXPECT_EQ(error_of_value<Duration>("500"), "pod.yaml:1:4: error: cluster.x: expected a duration such as '500 ns', got '500'");
  EXPECT_EQ(error_of_value<Bytes>("64"),
            "pod.yaml:1:4: error: cluster.x: expected a size such as '64 KiB', got '64' | note: a size has a unit: 4096 B, 64 "
            "KiB or 1 GB");
  EXPECT_EQ(error_of_value<Bytes>("64 Kib"),
            "pod.yaml:1:4: error: cluster.x: expected a size such as '64 KiB', got '64 Kib' | note: b is bits, B is bytes; "
            "sizes are in bytes");
  EXPECT_EQ(error_of_value<Bandwidth>("400 gb/s"),
            "pod.yaml:1:4: error: cluster.x: expected a bandwidth such as '400 Gb/s', got '400 gb/s' | note: case matters: "
            "Gb/s (or Gbps) "
            "counts bits, GB/s counts bytes");
  EXPECT_EQ(error_of_value<Bandwidth>("400"),
            "pod.yaml:1:4: error: cluster.x: expected a bandwidth such as '400 Gb/s', got '400'");
  EXPECT_EQ(error_of_value<std::int64_t>("010"),
            "pod.yaml:1:4: error: cluster.x: expected an integer such as '8', got '010' | note: a leading zero is refused: "
            "some programs read "
            "010 as 8");
  EXPECT_EQ(
      error_of_value<bool>("on"),
      "pod.yaml:1:4: error: cluster.x: expected true or false, got 'on' | note: only the words true and false are read so");
  EXPECT_EQ(error_of_value<double>("fast"), "pod.yaml:1:4: error: cluster.x: expected a number such as '0.5', got 'fast'");
  EXPECT_EQ(error_of_value<Ratio>("5 percent"),
            "pod.yaml:1:4: error: cluster.x: expected a ratio such as '0.05' or '5 %', got '5 percent'");
  EXPECT_EQ(error_of_value<std::string>("[a]"), "pod.yaml:1:4: error: cluster.x: expected a text, got a list");
  EXPECT_EQ(error_of_value<Duration>("{a: 1}"),
            "pod.yaml:1:4: error: cluster.x: expected a duration such as '500 ns', got a map");
  EXPECT_EQ(error_of_value<Duration>(""), "pod.yaml:1:1: error: cluster.x: expected a duration such as '500 ns', got nothing");
}

TEST(ParamReaderTest, ChecksRangesFromBothSides) {
  EXPECT_EQ(error_of_value<std::int64_t>("1", at_least(1)), "");
  EXPECT_EQ(error_of_value<std::int64_t>("0", at_least(1)), "pod.yaml:1:4: error: cluster.x: expected at least 1, got '0'");
  EXPECT_EQ(error_of_value<std::int64_t>("8", at_most(8)), "");
  EXPECT_EQ(error_of_value<std::int64_t>("9", at_most(8)), "pod.yaml:1:4: error: cluster.x: expected at most 8, got '9'");
  EXPECT_EQ(error_of_value<Bytes>("64 B", between(64_B, 4_KiB)), "");
  EXPECT_EQ(error_of_value<Bytes>("4 KiB", between(64_B, 4_KiB)), "");
  EXPECT_EQ(error_of_value<Bytes>("63 B", between(64_B, 4_KiB)),
            "pod.yaml:1:4: error: cluster.x: expected between 64 B and 4 KiB, got '63 B'");
  EXPECT_EQ(error_of_value<Bytes>("4097 B", between(64_B, 4_KiB)),
            "pod.yaml:1:4: error: cluster.x: expected between 64 B and 4 KiB, got '4097 B'");
  EXPECT_EQ(error_of_value<Bandwidth>("1 b/s", positive), "");
  EXPECT_EQ(error_of_value<Bandwidth>("0 b/s", positive),
            "pod.yaml:1:4: error: cluster.x: expected more than 0 b/s, got '0 b/s'");
  EXPECT_EQ(error_of_value<double>("0", positive), "pod.yaml:1:4: error: cluster.x: expected more than 0, got '0'");
}

TEST(ParamReaderTest, RefusesNegativeQuantitiesUnlessARangeAllowsThem) {
  EXPECT_EQ(error_of_value<Bandwidth>("-400 Gb/s"), "pod.yaml:1:4: error: cluster.x: must not be negative, got '-400 Gb/s'");
  EXPECT_EQ(error_of_value<Duration>("-1 ps", at_most(1_us)),
            "pod.yaml:1:4: error: cluster.x: must not be negative, got '-1 ps'");
  EXPECT_EQ(error_of_value<Duration>("-1 ns", at_least(Duration::from_ns(-1))), "");
  EXPECT_EQ(error_of_value<Duration>("0 ps"), "");
  EXPECT_EQ(error_of_value<std::int64_t>("-1"), "");
}

TEST(ParamReaderTest, NamesTheChoices) {
  const auto read = [](ParamReader& reader) {
    EXPECT_EQ(reader.choice("routing", {"static", "adaptive", "ecmp"}, "ecmp"), "ecmp");
  };
  EXPECT_EQ(errors_of("routing: adaptve\n", read),
            "pod.yaml:1:10: error: cluster.routing: unknown value 'adaptve'\n"
            "   1 | routing: adaptve\n"
            "     |          ^~~~~~~\n"
            "note: did you mean 'adaptive'? choices: adaptive, ecmp, static\n");
  EXPECT_EQ(errors_of("routing: [ecmp]\n", read),
            "pod.yaml:1:10: error: cluster.routing: expected one of static, adaptive, ecmp, got a list\n"
            "   1 | routing: [ecmp]\n"
            "     |          ^\n");
}

TEST(ParamReaderTest, RefusesAListForAMapAndAMapForAList) {
  const std::string errors = errors_of("a: [1]\nb: {c: 1}\nd: [{}, 5]\n", [](ParamReader& reader) {
    ParamReader a = reader.map("a");
    EXPECT_EQ(a.required<std::int64_t>("x"), 0) << "a refused map stays silent";
    a.finish();
    EXPECT_TRUE(reader.list<std::int64_t>("b").empty());
    for (ParamReader& d : reader.maps("d")) d.finish();
  });
  EXPECT_EQ(errors,
            "pod.yaml:1:4: error: cluster.a: expected a map, got a list\n"
            "   1 | a: [1]\n"
            "     |    ^\n"
            "pod.yaml:2:4: error: cluster.b: expected a list, got a map\n"
            "   2 | b: {c: 1}\n"
            "     |    ^\n"
            "pod.yaml:3:9: error: cluster.d[1]: expected a map, got '5'\n"
            "   3 | d: [{}, 5]\n"
            "     |         ^\n");
}

TEST(ParamReaderTest, ReportsEveryItemOfAListThatDoesNotFit) {
  const std::string errors = errors_of("l: [1 us, 2, 3 us, 4]\n", [](ParamReader& reader) {
    EXPECT_EQ(reader.list<Duration>("l"), (std::vector<Duration>{1_us, 3_us}));
  });
  EXPECT_NE(errors.find("cluster.l[1]: expected a duration such as '500 ns', got '2'"), std::string::npos);
  EXPECT_NE(errors.find("cluster.l[3]: expected a duration such as '500 ns', got '4'"), std::string::npos);
}

TEST(ParamReaderTest, ReportsErrorsInTheOrderOfTheFile) {
  const std::string errors = errors_of("z: 1\nb: x\na: x\n", [](ParamReader& reader) {
    reader.required<std::int64_t>("a");
    reader.required<std::int64_t>("b");
  });
  const std::size_t z = errors.find("unknown key 'z'");
  const std::size_t b = errors.find("cluster.b:");
  const std::size_t a = errors.find("cluster.a:");
  EXPECT_LT(z, b);
  EXPECT_LT(b, a);
  EXPECT_NE(a, std::string::npos);
}

TEST(ParamReaderTest, LocatesErrorsAndWarningsOfItsCaller) {
  Diagnostics diagnostics;
  ParamReader reader{ConfigNode::parse("port: 9\n", "pod.yaml", "links[2]"), diagnostics};
  reader.required<std::int64_t>("port");
  reader.error("port", "joins port 9 of node 'leaf3', which has 8 ports (0 to 7)");
  reader.error("absent", "is needed for this");
  reader.warning("port", "is unusual", "most use 0");
  reader.error_here("is no good");
  reader.finish();
  ASSERT_EQ(diagnostics.errors().size(), 3U);
  EXPECT_EQ(format(diagnostics.errors()[0]),
            "pod.yaml:1:7: error: links[2].port: joins port 9 of node 'leaf3', which has 8 ports (0 to 7)\n"
            "   1 | port: 9\n"
            "     |       ^\n");
  EXPECT_EQ(diagnostics.errors()[1].message, "links[2].absent: is needed for this");
  EXPECT_EQ(diagnostics.errors()[2].message, "links[2]: is no good");
  ASSERT_EQ(diagnostics.warnings().size(), 1U);
  EXPECT_EQ(format(diagnostics.warnings()[0], "warning"),
            "pod.yaml:1:7: warning: links[2].port: is unusual\n"
            "   1 | port: 9\n"
            "     |       ^\n"
            "note: most use 0\n");
}

TEST(ParamReaderTest, CollectsErrorsOfReferencedFilesWithItsOwn) {
  const std::string errors = errors_of("node: no_such.yaml\nfast: 1\n", [](ParamReader& reader) {
    ParamReader node = reader.map_or_file("node");
    EXPECT_EQ(node.required<std::int64_t>("gpus"), 0);
    node.finish();
  });
  EXPECT_NE(errors.find("pod.yaml:1:7: error: cluster.node: cannot read 'no_such.yaml': no such file\n"), std::string::npos)
      << errors;
  EXPECT_NE(errors.find("pod.yaml:2:1: error: unknown key 'fast' in cluster\n"), std::string::npos) << errors;
}

TEST(ParamReaderTest, ReadsAnInlineMapWhereAFileCouldStand) {
  EXPECT_EQ(errors_of("node: {gpus: 8}\n",
                      [](ParamReader& reader) {
                        ParamReader node = reader.map_or_file("node");
                        EXPECT_EQ(node.required<std::int64_t>("gpus"), 8);
                        node.finish();
                        EXPECT_FALSE(reader.optional_map_or_file("other").has_value());
                      }),
            "");
}

TEST(ParamReaderTest, RefusesATopThatIsNoMap) {
  EXPECT_EQ(errors_of(
                "- 1\n", [](ParamReader& reader) { reader.required<bool>("x"); }, ""),
            "pod.yaml:1:1: error: expected a map, got a list\n"
            "   1 | - 1\n"
            "     | ^\n");
}

TEST(ParamReaderTest, RemembersWhatWasAskedFor) {
  Diagnostics diagnostics;
  ParamReader reader{ConfigNode::parse("{a: 1 us}", "pod.yaml"), diagnostics};
  reader.required<Duration>("a");
  reader.optional<Bytes>("mtu", 4_KiB);
  reader.choice("kind", {"x", "y"}, "y");
  reader.finish();
  ASSERT_EQ(reader.declared().size(), 3U);
  EXPECT_EQ(reader.declared().at("a").type, "duration");
  EXPECT_TRUE(reader.declared().at("a").required);
  EXPECT_EQ(reader.declared().at("mtu").type, "size");
  EXPECT_EQ(reader.declared().at("mtu").default_value, "4 KiB");
  EXPECT_EQ(reader.declared().at("kind").type, "choice of x, y");
  EXPECT_EQ(reader.declared().at("kind").default_value, "y");
}

TEST(ParamReaderTest, CallsItABugWhenNobodyLooksForLeftoverKeys) {
  Diagnostics diagnostics;
  { ParamReader reader{ConfigNode::parse("{a: 1}", "pod.yaml", "cluster"), diagnostics}; }
  EXPECT_THROW(diagnostics.throw_if_any(), InternalError);
}

TEST(ParamReaderTest, MovesWithoutForgetting) {
  Diagnostics diagnostics;
  {
    ParamReader first{ConfigNode::parse("{a: 1, b: 2}", "pod.yaml"), diagnostics};
    first.raw("a");
    ParamReader second = std::move(first);
    second.raw("b");
    second.finish();
  }
  EXPECT_NO_THROW(diagnostics.throw_if_any());
}

}  // namespace
}  // namespace weft
