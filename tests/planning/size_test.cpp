#include "sim/planning/sizing/size.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "sim/core/error.h"
#include "sim/workloads/model/model_reader.h"

namespace weft::plan {
namespace {

class Calm final : public PlanSearchObserver {
 public:
  void on_state(const PlanProgress&) override {}
  [[nodiscard]] bool stop() const override { return false; }
};

net::Cluster h100_nodes(std::int64_t nodes) {
  Diagnostics diagnostics;
  scenario::Overrides overrides;
  overrides.sets = {{"nodes", std::to_string(nodes > 0 ? nodes : 1)}};
  net::Cluster cluster = scenario::load_cluster(WEFT_SOURCE_DIR "/configs/clusters/dgx_h100.yaml", overrides, diagnostics);
  diagnostics.throw_if_any();
  return cluster;
}

// A model of 8 B parameters' width and four layers: nodes of 8 train it on 1e9 tokens.
SizeQuestion small_question() {
  Diagnostics diagnostics;
  SizeQuestion question;
  question.setup.model = work::read_model(work::load_model_file(WEFT_SOURCE_DIR "/configs/models/llama3_8b.yaml"), diagnostics);
  diagnostics.throw_if_any();
  question.setup.model.layers = 4;
  question.setup.batch = {.global = 64, .micro = 1, .sequence = 4096};
  question.tokens = 1e9;
  question.books = load_books("list_2024", "datasheets");
  question.failures = FailureBooks{load_failure_rates("llama3_2024")};
  question.checkpoint.blocking = LongTime::from_seconds(5);
  question.restart = LongTime::from_seconds(600);
  question.search.top = 1;
  question.search.budget_seconds = 0;
  question.search.budget_plans = 1;
  return question;
}

SizedCluster sized(const SizeQuestion& question) {
  Calm calm;
  const scenario::Scenario settings{"size", h100_nodes(1), {}, {}, {}, {}, {}, {}};
  return size_cluster(h100_nodes, "dgx_h100", question, settings, calm);
}

TEST(SizeTest, TimeIsTokensByTheSpeedThatFailuresLeave) {
  SizeQuestion question = small_question();
  question.gpus = 9;  // two nodes
  const SizedCluster made = sized(question);
  EXPECT_EQ(made.nodes, 2);
  EXPECT_EQ(made.limit, "as asked");
  EXPECT_NEAR(made.seconds.value, 1e9 / made.plan.tokens_per_second / made.useful.value, 1e-6 * made.seconds.value);
  EXPECT_LT(made.seconds.least, made.seconds.value);
  EXPECT_GT(made.seconds.most, made.seconds.value);
  // Owning, operating and powering two nodes for so long.
  const double hours = made.seconds.value / 3'600;
  EXPECT_NEAR(made.usd.value, made.plan.cost.usd_per_hour() * hours, 1e-9 * made.usd.value);
  const double owning = made.costed.cost->capital_per_hour + made.costed.cost->operation_per_hour;
  EXPECT_NEAR(made.plan.cost.usd_per_hour(), owning + made.megawatts * 1e3 * 0.08, 1e-6 * owning) << "0.08 USD/kWh";
}

// The quickest that it may be: no error of the step, failures as seldom as may be, and a plan better by all of the gap.
TEST(SizeTest, TheRangeHasTheGapToABetterPlan) {
  const SizedCluster made = sized(small_question());
  ASSERT_TRUE(made.gap && *made.gap > 0 && *made.gap < 1);
  const double quickest = 1e9 / made.plan.tokens_per_second * (1 - made.error.value_or(0)) * (1 - *made.gap) / made.useful.most;
  EXPECT_NEAR(made.seconds.least, quickest, 1e-6 * quickest);
  EXPECT_NEAR(made.usd.least, made.plan.cost.usd_per_hour() * quickest / 3'600, 1e-6 * made.usd.least);
}

// Owning costs as much a year however many of its hours are used: 90 % of them, or 70 %.
TEST(SizeTest, AClusterThatIsUsedLessCostsMoreAnHour) {
  const SizedCluster made = sized(small_question());
  const auto less = std::ranges::find(made.changes, "used 70 % of the time, not 90 %", &SizeChange::what);
  ASSERT_NE(less, made.changes.end());
  const double hours = made.seconds.value / 3'600;
  const double owning = (made.costed.cost->capital_per_hour + made.costed.cost->operation_per_hour) * hours;
  EXPECT_NEAR(less->usd - made.usd.value, owning * (90.0 / 70 - 1), 1e-6 * owning);
  EXPECT_EQ(less->seconds, made.seconds.value);
}

TEST(SizeTest, ADeadlineTakesTheNodesThatMeetIt) {
  SizeQuestion question = small_question();
  question.gpus = 8;
  const double one_node = sized(question).seconds.value;
  question.gpus = 0;
  question.deadline = LongTime::from_seconds(one_node * 0.75);  // not one node, and two at more than two thirds of its speed
  const SizedCluster made = sized(question);
  EXPECT_EQ(made.nodes, 2);
  EXPECT_EQ(made.limit, "deadline");
  EXPECT_TRUE(made.meets);
  EXPECT_LE(made.seconds.value, one_node * 0.75);
}

TEST(SizeTest, MoneyEndsTheSearchShortOfTheDeadline) {
  SizeQuestion question = small_question();
  question.deadline = LongTime::from_seconds(1);
  // A node is 310,000 USD and the network beside it some tens of thousands; two are over.
  question.capital_usd = 500'000;
  const SizedCluster made = sized(question);
  EXPECT_EQ(made.nodes, 1);
  EXPECT_EQ(made.limit, "money");
  EXPECT_FALSE(made.meets);
  question.capital_usd = 100'000;
  EXPECT_THROW(sized(question), ConfigError);
}

// A thousandth of a second takes millions of nodes, and a cluster has 200,000 at most.
TEST(SizeTest, ADeadlineThatTakesMoreNodesThanThereCanBeIsAnErrorThatSaysSo) {
  SizeQuestion question = small_question();
  question.deadline = LongTime::from_seconds(1e-3);
  try {
    static_cast<void>(sized(question));
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.diagnostics().front().message.find("--within: "), 0U) << error.what();
    EXPECT_NE(error.diagnostics().front().message.find("its file cannot have so many"), std::string::npos) << error.what();
  }
  question.capital_usd = 500'000;
  EXPECT_EQ(sized(question).limit, "money");
}

TEST(SizeTest, PowerLimitsLikeMoney) {
  SizeQuestion question = small_question();
  question.gpus = 64;
  const auto megawatts = [&](std::int64_t nodes) {
    const CostedCluster costed = cost_of(h100_nodes(nodes).topology, question.books);
    return costed.power->max_watts * costed.power->pue / 1e6;
  };
  question.megawatts = (megawatts(2) + megawatts(3)) / 2;
  const SizedCluster made = sized(question);
  EXPECT_EQ(made.nodes, 2);
  EXPECT_EQ(made.limit, "power");
  EXPECT_DOUBLE_EQ(made.most_megawatts, megawatts(2));
}

// 100 hours at 8 USD of owning and 2 of energy are 1,000 USD; 600 elsewhere are met at (600 - 200) / 800 of the capital.
TEST(SizeTest, TheDearerClusterCostsTheSameAtALowerPrice) {
  SizedCluster dear;
  dear.costed.cost = ClusterCost{.capital_per_hour = 7, .operation_per_hour = 1};
  dear.seconds.value = 100 * 3'600;
  dear.usd.value = 1'000;
  SizedCluster other;
  other.usd.value = 600;
  EXPECT_DOUBLE_EQ(*even_capital(dear, other), 0.5);
  other.usd.value = 150;
  EXPECT_FALSE(even_capital(dear, other)) << "its energy alone costs more";
}

}  // namespace
}  // namespace weft::plan
