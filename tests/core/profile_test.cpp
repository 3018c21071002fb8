#include "sim/core/profile.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temp_folder.h"

namespace weft {
namespace {

using namespace weft::literals;

struct NicTimings {
  Duration post = 600_ns;
  double efficiency = 0.95;
  Bytes inline_size = 220_B;
  Bandwidth engine = 400_Gbps;
  std::int64_t queues = 4;
};

struct Latencies {
  std::array<Duration, 2> base = {6_us, 14_us};
};

const ParamGroup<NicTimings> kNicTimings{
    "network.nic",
    "what a NIC adds to a message",
    {
        param("post", &NicTimings::post,
              {.max = 100_us,
               .source = ParamSource::kLiterature,
               .reference = "models/network §3.2",
               .description = "doorbell to wire"}),
        param("efficiency", &NicTimings::efficiency, {.unit = "ratio", .min = 0.1, .max = 1.0}),
        param("inline_size", &NicTimings::inline_size, {}),
        param("engine", &NicTimings::engine, {.source = ParamSource::kDatasheet}),
        param("queues", &NicTimings::queues, {.min = 1}),
    }};

const ParamGroup<Latencies> kLatencies{
    "collectives.latency",
    "per step",
    {
        param_at<Latencies, Duration>("ll", [](Latencies& s) -> Duration& { return s.base[0]; }, {}),
        param_at<Latencies, Duration>("simple", [](Latencies& s) -> Duration& { return s.base[1]; }, {}),
    }};

const ParamGroups kGroups = {&kNicTimings, &kLatencies};

const std::string kProfile =
    "kind: profile\n"
    "name: h200\n"
    "description: a test\n"
    "parameters:\n"
    "  network.nic.post: {value: 550 ns, source: measured, calibration: ping}\n"
    "  network.nic.efficiency: {value: 93 %, source: literature, reference: \"models/network §3.2\"}\n"
    "  collectives.latency.simple: {value: 45.2 us, source: assumed}\n"
    "calibrations:\n"
    "  ping:\n"
    "    date: 2025-11-21\n"
    "    tool: weft calibrate 0.1.0\n"
    "    machine: h200x4\n"
    "    samples: 3\n"
    "    fit_error: 1.2 %\n"
    "    training:\n"
    "      - {file: ping.txt, digest: 5d0c2f81, collective: sendrecv, ranks: 2, bytes: [8 B, 1 MiB]}\n"
    "validation:\n"
    "  - {data: far.txt, points: 12, median_error: 0.8 %, max_error: 3 %}\n";

Profile profile(const std::string& text) { return Profile::from_node(ConfigNode::parse(text, "p.yaml"), kGroups); }

// The first line of the error, and its note.
std::string refusal_by(const auto& action) {
  try {
    action();
  } catch (const ConfigError& error) {
    std::string text;
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      Diagnostic bare = diagnostic;
      bare.source_line.clear();
      text += format(bare);
    }
    return text;
  }
  return "";
}

std::string error_of_parameters(const std::string& lines) {
  return refusal_by([&lines] { (void)profile("kind: profile\nname: x\nparameters:\n" + lines); });
}

TEST(ProfileTest, GivesEachModelItsStruct) {
  const Profile p = profile(kProfile);
  const NicTimings nic = p.get(kNicTimings);
  EXPECT_EQ(nic.post, 550_ns);
  EXPECT_EQ(nic.efficiency, 0.93);
  EXPECT_EQ(nic.inline_size, 220_B);
  EXPECT_EQ(nic.engine, 400_Gbps);
  EXPECT_EQ(nic.queues, 4);
  const Latencies latencies = p.get(kLatencies);
  EXPECT_EQ(latencies.base[0], 6_us);
  EXPECT_EQ(latencies.base[1], 45'200_ns);
  EXPECT_EQ(p.name(), "h200");
  EXPECT_EQ(p.description(), "a test");
}

TEST(ProfileTest, StartsFromTheDeclaredDefaultsAndTheirSources) {
  const Profile p = Profile::defaults(kGroups);
  EXPECT_EQ(p.get(kNicTimings).post, 600_ns);
  EXPECT_TRUE(p.provenance("network.nic.post").is_default);
  EXPECT_EQ(p.provenance("network.nic.post").source, ParamSource::kLiterature);
  EXPECT_EQ(p.provenance("network.nic.post").reference, "models/network §3.2");
  EXPECT_EQ(p.provenance("network.nic.engine").source, ParamSource::kDatasheet);
  EXPECT_EQ(p.stated_error(), "not validated");
  EXPECT_EQ(p.keys(), (std::vector<std::string>{"collectives.latency.ll", "collectives.latency.simple",
                                                "network.nic.efficiency", "network.nic.engine", "network.nic.inline_size",
                                                "network.nic.post", "network.nic.queues"}));
  EXPECT_EQ(p.info("network.nic.post").description, "doorbell to wire");
  EXPECT_EQ(to_string(*p.info("network.nic.post").max), "100 us");
}

TEST(ProfileTest, CarriesProvenance) {
  const Profile p = profile(kProfile);
  const Provenance& post = p.provenance("network.nic.post");
  EXPECT_EQ(post.source, ParamSource::kMeasured);
  EXPECT_EQ(post.calibration, "ping");
  EXPECT_FALSE(post.is_default);
  EXPECT_EQ(post.where.file, "p.yaml");
  EXPECT_EQ(post.where.line, 5);
  EXPECT_EQ(p.provenance("network.nic.efficiency").reference, "models/network §3.2");
  ASSERT_EQ(p.calibrations().size(), 1U);
  const Calibration& ping = p.calibrations()[0];
  EXPECT_EQ(ping.id, "ping");
  EXPECT_EQ(ping.machine, "h200x4");
  EXPECT_EQ(ping.samples, 3);
  EXPECT_EQ(ping.fit_error, 0.012);
  ASSERT_EQ(ping.training.size(), 1U);
  EXPECT_EQ(ping.training[0].bytes, (std::vector<Bytes>{8_B, 1_MiB}));
}

TEST(ProfileTest, KnowsThePointsItWasFittedOn) {
  const Profile p = profile(kProfile);
  EXPECT_TRUE(p.trained_on("5d0c2f81", "sendrecv", 2, 8_B));
  EXPECT_TRUE(p.trained_on("5d0c2f81", "sendrecv", 2, 1_MiB));
  EXPECT_FALSE(p.trained_on("5d0c2f81", "sendrecv", 2, 16_B));
  EXPECT_FALSE(p.trained_on("5d0c2f81", "sendrecv", 4, 8_B));
  EXPECT_FALSE(p.trained_on("5d0c2f81", "all_reduce", 2, 8_B));
  EXPECT_FALSE(p.trained_on("00000000", "sendrecv", 2, 8_B));
}

TEST(ProfileTest, StatesItsErrorOnDataItWasNotFittedTo) {
  EXPECT_EQ(profile(kProfile).stated_error(), "median 0.8 %, max 3 % over 12 points of far.txt");
  EXPECT_EQ(profile("kind: profile\nname: x\n").stated_error(), "not validated");
}

TEST(ProfileTest, NamesTheNearestParameter) {
  EXPECT_EQ(error_of_parameters("  network.nic.pots: {value: 1 us, source: assumed}\n"),
            "p.yaml:4:3: error: unknown parameter 'network.nic.pots'\n"
            "note: did you mean 'network.nic.post'?\n");
  EXPECT_EQ(
      error_of_parameters("  network.nic.doorbell_to_wire: {value: 1 us, source: assumed}\n"),
      "p.yaml:4:3: error: unknown parameter 'network.nic.doorbell_to_wire'\n"
      "note: parameters of network.nic: network.nic.efficiency, network.nic.engine, network.nic.inline_size, network.nic.post, "
      "network.nic.queues\n");
  EXPECT_EQ(error_of_parameters("  storage.disk.seek: {value: 1 us, source: assumed}\n"),
            "p.yaml:4:3: error: unknown parameter 'storage.disk.seek'\n"
            "note: groups of parameters: collectives.latency, network.nic\n");
}

TEST(ProfileTest, ChecksRangesFromBothSides) {
  const std::string prefix = "p.yaml:4:37: error: parameters.network.nic.efficiency.value: ";
  const auto error = [](const std::string& value) {
    return error_of_parameters("  network.nic.efficiency: {value:   " + value + ", source: assumed}\n");
  };
  EXPECT_EQ(error("0.1"), "");
  EXPECT_EQ(error("1"), "");
  EXPECT_EQ(error("0.0999"), prefix + "expected between 0.1 and 1, got '0.0999'\n");
  EXPECT_EQ(error("101 %"), prefix + "expected between 0.1 and 1, got '101 %'\n");
  EXPECT_EQ(error("fast"), prefix + "expected a ratio such as '0.05' or '5 %', got 'fast'\n");
  EXPECT_EQ(error_of_parameters("  network.nic.post: {value: 100 us, source: assumed}\n"), "");
  EXPECT_EQ(error_of_parameters("  network.nic.post: {value: 101 us, source: assumed}\n"),
            "p.yaml:4:29: error: parameters.network.nic.post.value: expected between 0 s and 100 us, got '101 us'\n");
  EXPECT_EQ(error_of_parameters("  network.nic.queues: {value: 0, source: assumed}\n"),
            "p.yaml:4:31: error: parameters.network.nic.queues.value: expected at least 1, got '0'\n");
  EXPECT_EQ(error_of_parameters("  network.nic.engine: {value: -1 b/s, source: assumed}\n"),
            "p.yaml:4:31: error: parameters.network.nic.engine.value: expected at least 0 b/s, got '-1 b/s'\n");
}

TEST(ProfileTest, WantsASourceForEveryValue) {
  EXPECT_EQ(error_of_parameters("  network.nic.post: {value: 1 us}\n"),
            "p.yaml:4:3: error: parameters.network.nic.post: missing key 'source'\n"
            "note: expected one of datasheet, literature, fitted, measured, assumed\n");
  EXPECT_EQ(error_of_parameters("  network.nic.post: {source: assumed}\n"),
            "p.yaml:4:3: error: parameters.network.nic.post: missing key 'value'\n");
  EXPECT_EQ(error_of_parameters("  network.nic.post: [1 us]\n"),
            "p.yaml:4:21: error: parameters.network.nic.post: expected a map, got a list\n");
  EXPECT_EQ(error_of_parameters("  network.nic.post: {value: 1 us, source: guess}\n"),
            "p.yaml:4:43: error: parameters.network.nic.post.source: unknown value 'guess'\n"
            "note: choices: assumed, datasheet, fitted, literature, measured\n");
}

TEST(ProfileTest, WantsAReferenceForLiteratureAndOneOrACalibrationForMeasurements) {
  EXPECT_EQ(error_of_parameters("  network.nic.post: {value: 1 us, source: literature}\n"),
            "p.yaml:4:43: error: parameters.network.nic.post.source: literature needs a 'reference'\n");
  EXPECT_EQ(error_of_parameters("  network.nic.post: {value: 1 us, source: measured}\n"),
            "p.yaml:4:43: error: parameters.network.nic.post.source: measured needs a 'calibration' or a 'reference'\n"
            "note: the entry of 'calibrations' that holds the fit, or which measurement it is\n");
  EXPECT_EQ(error_of_parameters("  network.nic.post: {value: 1 us, source: fitted}\n"),
            "p.yaml:4:43: error: parameters.network.nic.post.source: fitted needs a 'calibration' or a 'reference'\n"
            "note: the entry of 'calibrations' that holds the fit, or which measurement it is\n");
  EXPECT_EQ(error_of_parameters("  network.nic.post: {value: 1 us, source: fitted, reference: a log}\n"), "");
  EXPECT_EQ(error_of_parameters("  network.nic.post: {value: 1 us, source: measured, reference: a log}\n"), "");
  EXPECT_EQ(refusal_by([] {
              std::string text = kProfile;
              (void)profile(text.replace(text.find("calibration: ping"), 17, "calibration: pong"));
            }),
            "p.yaml:5:68: error: parameters.network.nic.post.calibration: unknown calibration 'pong'\n"
            "note: did you mean 'ping'? calibrations here: ping\n");
}

// Key paths of --set, of a sweep's axes and of overrides have dots as names of parameters do.
TEST(ProfileTest, TakesPlainValuesAndNamesWrittenPartByPart) {
  const auto parameters = [](const std::string& text) {
    return Profile::from_node(ConfigNode::parse("kind: profile\nname: x\nparameters:\n" + text, "p.yaml"), kGroups);
  };
  const Profile plain = parameters("  network.nic.post: 2 us\n");
  EXPECT_EQ(plain.get(kNicTimings).post, 2_us);
  EXPECT_EQ(plain.provenance("network.nic.post").source, ParamSource::kAssumed);
  EXPECT_FALSE(plain.provenance("network.nic.post").is_default);
  const Profile nested = parameters("  network: {nic: {post: 2 us, efficiency: {value: 0.5, source: assumed}}}\n");
  EXPECT_EQ(nested.get(kNicTimings).post, 2_us);
  EXPECT_EQ(nested.get(kNicTimings).efficiency, 0.5);
  const ConfigNode file = ConfigNode::parse("kind: profile\nname: x\nparameters: {network.nic.post: 2 us}\n", "p.yaml");
  const auto set = [&](const char* key, const char* value) {
    return Profile::from_node(file.with_override(key, value, "--set"), kGroups).get(kNicTimings);
  };
  EXPECT_EQ(set("parameters.network.nic.post", "3 us").post, 3_us);
  EXPECT_EQ(set("parameters.network.nic.queues", "7").queues, 7);
  EXPECT_EQ(set("parameters.network.nic.queues", "7").post, 2_us);
  EXPECT_EQ(error_of_parameters("  network.nic.post: 1 s\n"),
            "p.yaml:4:21: error: parameters.network.nic.post: expected between 0 s and 100 us, got '1 s'\n");
  EXPECT_EQ(error_of_parameters("  network: 5\n"),
            "p.yaml:4:12: error: network: expected a map of its parameters, got '5'\nnote: such as network.nic.efficiency\n");
  EXPECT_EQ(error_of_parameters("  network: {nic: {pots: 1 us}}\n"),
            "p.yaml:4:19: error: unknown parameter 'network.nic.pots'\nnote: did you mean 'network.nic.post'?\n");
  EXPECT_EQ(error_of_parameters("  network.nic.post: 1 us\n  network: {nic: {post: 2 us}}\n"),
            "p.yaml:5:19: error: parameter 'network.nic.post' is given twice\n");
}

struct Supply {
  double limit = 0;
  double work = 1;
};
const ParamGroup<Supply> kSupply{"gpu",
                                 "a supply",
                                 {param("limit", &Supply::limit, {.unit = "W", .min = 0.0, .max = 10'000.0}),
                                  param("work", &Supply::work, {.unit = "FLOP", .min = 1.0, .max = 2.0})}};

TEST(ProfileTest, ReadsPlainNumbersWithTheirUnitsAndNamesThemInErrors) {
  const Profile p = Profile::defaults({&kSupply});
  const auto limit = [&](const char* text) { return p.with_value("gpu.limit", text, "--set").get(kSupply).limit; };
  EXPECT_EQ(limit("500"), 500);
  EXPECT_EQ(limit("500 W"), 500);
  EXPECT_EQ(limit("500W"), 500);
  EXPECT_EQ(limit("0.5 kW"), 500);
  EXPECT_EQ(p.with_value("gpu.work", "1.5 FLOP", "--set").get(kSupply).work, 1.5);
  const auto error = [&](const char* key, const char* text) {
    return refusal_by([&] { (void)p.with_value(key, text, "--set"); });
  };
  for (const char* wrong : {"500 w", "500 kw", "500 V", "W", "1 k"}) {
    EXPECT_EQ(error("gpu.limit", wrong),
              "--set: error: gpu.limit: expected a power such as '500 W' or '0.5 kW', got '" + std::string{wrong} + "'\n");
  }
  EXPECT_EQ(error("gpu.limit", "11 kW"), "--set: error: gpu.limit: expected between 0 and 10000 W, got '11 kW'\n");
  EXPECT_EQ(error("gpu.work", "2 kFLOP"), "--set: error: gpu.work: expected a number such as '0.5', in FLOP, got '2 kFLOP'\n");
}

// The file has two of seven parameters of its own GPU and one of another; a default is of H200, three are no GPU's.
TEST(ProfileTest, SaysWhichValuesAreOfAnotherGpu) {
  const ParamGroup<NicTimings> nic{
      "network.nic",
      "what a NIC adds to a message",
      {param("post", &NicTimings::post, {.max = 100_us}), param("efficiency", &NicTimings::efficiency, {.unit = "ratio"}),
       param("inline_size", &NicTimings::inline_size, {}), param("engine", &NicTimings::engine, {}),
       from_origin(param("queues", &NicTimings::queues, {.min = 1}),
                   {.source = ParamSource::kFitted, .reference = "a log", .gpu = "H200"})}};
  const ParamGroups groups = {&nic, &kLatencies};
  const auto of = [&](const std::string& gpu) {
    return Profile::from_node(ConfigNode::parse("kind: profile\nname: x\n" + gpu +
                                                    "parameters:\n"
                                                    "  network.nic.post: {value: 1 us, source: fitted, reference: a log}\n"
                                                    "  network.nic.efficiency: {value: 0.9, source: assumed}\n"
                                                    "  network.nic.engine: {value: 1 Gb/s, source: measured, gpu: B200, "
                                                    "reference: a log}\n",
                                                "p.yaml"),
                              groups);
  };
  const Profile a100 = of("gpu: A100\n");
  EXPECT_EQ(a100.gpu(), "A100");
  EXPECT_EQ(a100.owners(), "2 values of its own, 1 of B200, 1 of H200, 3 of no GPU in particular");
  EXPECT_EQ(a100.other_gpu("network.nic.queues"), "H200");
  EXPECT_EQ(a100.other_gpu("network.nic.engine"), "B200");
  EXPECT_EQ(a100.other_gpu("network.nic.post"), "");
  EXPECT_EQ(of("gpu: H200\n").owners(), "3 values of its own, 1 of B200, 3 of no GPU in particular");
  EXPECT_EQ(of("").owners(), "");
  EXPECT_NE(a100.to_yaml().find("gpu: A100\n"), std::string::npos);
  EXPECT_NE(a100.to_yaml().find("source: measured, gpu: B200, reference: a log}"), std::string::npos);
}

TEST(ProfileTest, ReportsEveryErrorAtOnce) {
  const std::string errors = refusal_by([] {
    (void)profile(
        "kind: profil\n"
        "nam: x\n"
        "parameters: {network.nic.post: {value: 1, source: assumed, extra: 1}}\n"
        "calibrations: {a: {date: d, tool: t, machine: m, samples: 0, fit_error: 1 %, training: [{file: f, digest: XY}]}}\n"
        "validation: [{data: d, points: 0, median_error: 1 %, max_error: 1 %}]\n");
  });
  for (const char* expected :
       {"p.yaml:1:7: error: kind: unknown value 'profil'", "p.yaml:2:1: error: unknown key 'nam'", "missing key 'name'",
        "parameters.network.nic.post.value: expected a duration such as '500 ns', got '1'",
        "unknown key 'extra' in parameters.network.nic.post", "calibrations.a.samples: expected at least 1, got '0'",
        "calibrations.a.training[0].digest: expected lower-case hexadecimal digits",
        "validation[0].points: expected at least 1, got '0'"}) {
    EXPECT_NE(errors.find(expected), std::string::npos) << expected << "\n" << errors;
  }
}

TEST(ProfileTest, TakesValuesFromTheCommandLine) {
  const Profile p = profile(kProfile).with_value("network.nic.post", "2 us", "--set");
  EXPECT_EQ(p.get(kNicTimings).post, 2_us);
  EXPECT_EQ(p.provenance("network.nic.post").source, ParamSource::kAssumed);
  EXPECT_EQ(p.provenance("network.nic.post").reference, "--set");
  const auto error = [&p](const char* key, const char* value) {
    return refusal_by([&] { (void)p.with_value(key, value, "--set"); });
  };
  EXPECT_EQ(error("network.nic.pots", "2 us"),
            "--set: error: unknown parameter 'network.nic.pots'\nnote: did you mean 'network.nic.post'?\n");
  EXPECT_EQ(error("network.nic.post", "2"), "--set: error: network.nic.post: expected a duration such as '500 ns', got '2'\n");
  EXPECT_EQ(error("network.nic.post", "1 s"), "--set: error: network.nic.post: expected between 0 s and 100 us, got '1 s'\n");
}

TEST(ProfileTest, WritesWhatItReads) {
  const Profile p = profile(kProfile);
  const std::string expected =
      "kind: profile\n"
      "name: h200\n"
      "description: a test\n"
      "parameters:\n"
      "  collectives.latency.simple: {value: 45.2 us, source: assumed}\n"
      "  network.nic.efficiency: {value: 0.93, source: literature, reference: \"models/network §3.2\"}\n"
      "  network.nic.post: {value: 550 ns, source: measured, calibration: ping}\n"
      "calibrations:\n"
      "  ping:\n"
      "    date: 2025-11-21\n"
      "    tool: weft calibrate 0.1.0\n"
      "    machine: h200x4\n"
      "    samples: 3\n"
      "    fit_error: 1.2 %\n"
      "    training:\n"
      "      - {file: ping.txt, digest: 5d0c2f81, collective: sendrecv, ranks: 2, bytes: [8 B, 1 MiB]}\n"
      "validation:\n"
      "  - {data: far.txt, points: 12, median_error: 0.8 %, max_error: 3 %}\n";
  EXPECT_EQ(p.to_yaml(), expected);
  EXPECT_EQ(profile(p.to_yaml()).to_yaml(), expected);
}

// Returns a profile that is fitted to one log, with these lines of uncertainty.
std::string with_uncertainty(const std::string& entries) {
  return "kind: profile\nname: x\nparameters: {}\ncalibrations:\n"
         "  a: {date: d, tool: t, machine: m, samples: 1, fit_error: 1 %, uncertainty: [" +
         entries + "], training: []}\n";
}

Provenance measured_by(const std::string& calibration) {
  Provenance measured;
  measured.source = ParamSource::kMeasured;
  measured.calibration = calibration;
  return measured;
}

TEST(ProfileTest, CarriesWhatAFitSaysOfItsValues) {
  const Profile p =
      profile(with_uncertainty("{parameter: network.nic.post, std_error: 2.5 %}, "
                               "{parameter: network.nic.engine, std_error: 0.12, correlations: [-0.75]}"));
  const auto& known = p.calibrations()[0].uncertainty;
  ASSERT_EQ(known.size(), 2U);
  EXPECT_EQ(known[0].std_error, 0.025);
  EXPECT_EQ(known[1].parameter, "network.nic.engine");
  EXPECT_EQ(known[1].std_error, 0.12);
  EXPECT_EQ(known[1].correlations, std::vector<double>{-0.75});
  EXPECT_EQ(p.std_error("network.nic.post"), std::nullopt) << "its value is not from this calibration";
  EXPECT_EQ(p.with_value("network.nic.post", ParamValue{1_us}, measured_by("a")).std_error("network.nic.post"), 0.025);
  EXPECT_EQ(profile(p.to_yaml()).to_yaml(), p.to_yaml());
  EXPECT_EQ(profile(p.to_yaml()).calibrations()[0].uncertainty[1].correlations, std::vector<double>{-0.75});
}

TEST(ProfileTest, RefusesUncertaintyOfNothingKnown) {
  const auto refused = [](const std::string& entries) { return refusal_by([&] { (void)profile(with_uncertainty(entries)); }); };
  EXPECT_NE(refused("{parameter: network.nic.psot, std_error: 1 %}").find("did you mean 'network.nic.post'"),
            std::string::npos);
  EXPECT_NE(refused("{parameter: network.nic.post, std_error: -1 %}").find("std_error"), std::string::npos);
  EXPECT_NE(refused("{parameter: network.nic.post, std_error: 1 %, correlations: [0.5]}").find("expected 0 values, got 1"),
            std::string::npos);
  EXPECT_NE(refused("{parameter: network.nic.post, std_error: 1 %}, "
                    "{parameter: network.nic.engine, std_error: 1 %, correlations: [1.5]}")
                .find("correlations"),
            std::string::npos);
}

TEST(ProfileTest, TakesWhatACalibrationFound) {
  Calibration fit;
  fit.id = "ring";
  fit.date = "2025-11-21";
  fit.tool = "weft calibrate 0.1.0";
  fit.machine = "h200x4";
  fit.samples = 2;
  fit.fit_error = 0.01;
  const Profile p = Profile::defaults(kGroups)
                        .with_name("new", "")
                        .with_calibration(fit)
                        .with_value("collectives.latency.ll", ParamValue{3_us}, measured_by("ring"))
                        .with_validations({{.data = "d", .points = 1, .median_error = 0.02, .max_error = 0.02}});
  const Profile read = profile(p.to_yaml());
  EXPECT_EQ(read.get(kLatencies).base[0], 3_us);
  EXPECT_EQ(read.provenance("collectives.latency.ll").calibration, "ring");
  EXPECT_EQ(read.stated_error(), "median 2 %, max 2 % over 1 point of d");
  EXPECT_TRUE(read.calibrations()[0].training.empty());
}

TEST(ProfileTest, LaysAProfileOverAnother) {
  namespace fs = std::filesystem;
  const weft::test::TempFolder folder;
  std::ofstream{folder / "base.yaml"} << kProfile;
  std::ofstream{folder / "good.yaml"} << "extends: base.yaml\nname: good\nparameters:\n"
                                         "  network.nic.efficiency: {value: 0.5, source: assumed}\n";
  std::ofstream{folder / "bad.yaml"} << "extends: base.yaml\nname: bad\nparameters:\n"
                                        "  network.nic.efficiency: {value: 0.5}\n";
  const Profile good = Profile::load(folder / "good.yaml", kGroups);
  EXPECT_EQ(good.get(kNicTimings).post, 550_ns);
  EXPECT_EQ(good.get(kNicTimings).efficiency, 0.5);
  EXPECT_EQ(good.provenance("network.nic.efficiency").reference, "") << "the reference belonged to the other value";
  const std::string error = refusal_by([&folder] { (void)Profile::load(folder / "bad.yaml", kGroups); });
  EXPECT_NE(error.find("parameters.network.nic.efficiency.source: the value comes from another file"), std::string::npos)
      << error;
}

TEST(ProfileTest, CallsABadDeclarationABug) {
  EXPECT_THROW((ParamGroup<NicTimings>{"a", "", {param("x", &NicTimings::post, {.max = 1_ns})}}), InternalError);
  EXPECT_THROW((ParamGroup<NicTimings>{"a", "", {param("x", &NicTimings::post, {}), param("x", &NicTimings::engine, {})}}),
               InternalError);
  EXPECT_THROW((void)Profile::defaults({&kNicTimings, &kNicTimings}), InternalError);
  EXPECT_THROW((void)Profile::defaults({&kNicTimings}).get(kLatencies), InternalError);
}

}  // namespace
}  // namespace weft
