#include "sim/planning/sweep/database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "sim/planning/sweep/export.h"
#include "sim/planning/sweep/row_text.h"
#include "sim/planning/sweep/work_sharing.h"
#include "tests/planning/sweep/sweep_files.h"

namespace weft::plan {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using How = SweepDatabase::Open;

// 40 points, every fourth of which names a host that does not exist.
const std::string kForty =
    kOneFlow + "grid:\n  simulation.seed: {from: 1, to: 10, step: 1}\n  workload.flows[0].to: [h1, h2, h3, h4]\n";

class SweepDatabaseTest : public SweepFiles {
 protected:
  struct Loaded {
    Sweep sweep;
    SweepPlan plan;
  };
  [[nodiscard]] Loaded load(const std::string& text) const {
    Sweep sweep{write(text), {}};
    SweepPlan plan = check_sweep(sweep);
    return {std::move(sweep), std::move(plan)};
  }
  [[nodiscard]] static std::string csv(const Loaded& loaded, const SweepDatabase& database) {
    std::ostringstream out;
    write_sweep_csv(out, loaded.plan, database);
    return std::move(out).str();
  }
  // All points on so many threads, as CSV.
  [[nodiscard]] std::string run(const Loaded& loaded, int threads) const {
    SweepDatabase database{path("run" + std::to_string(threads) + ".sqlite"), loaded.sweep, loaded.plan, How::kNew};
    SweepRunOptions options{.file = path("sweep.yaml"), .threads = threads};
    const SweepProgress progress = run_sweep_points(options, loaded.plan, database);
    EXPECT_EQ(progress.done, loaded.plan.points.size());
    return csv(loaded, database);
  }
};

PointRow row(std::uint64_t id) {
  return {.id = id,
          .axes = {std::int64_t{-5}, std::string{"h1"}},
          .configuration = "{}",
          .digest = "0123456789abcdef",
          .metrics = {0.1, std::monostate{}, std::int64_t{3}, std::string{"a, \"b\"\nc"}},
          .error = ""};
}

TEST(PointRowTest, ReadsBackFromItsMessage) {
  PointRow refused = row(7);
  refused.error = "no: 12:34";
  refused.digest.clear();
  for (const PointRow& one : {row(0), refused}) {
    const PointRow copy = row_of_message(to_message(one));
    EXPECT_EQ(copy.id, one.id);
    EXPECT_EQ(copy.axes, one.axes);
    EXPECT_EQ(copy.metrics, one.metrics);
    EXPECT_EQ(copy.configuration, one.configuration);
    EXPECT_EQ(copy.digest, one.digest);
    EXPECT_EQ(copy.error, one.error);
  }
  EXPECT_THROW(static_cast<void>(row_of_message("3:abc")), InternalError);
}

TEST_F(SweepDatabaseTest, ThreadsGiveWhatOneGives) {
  const Loaded loaded = load(kForty);
  const std::string serial = run(loaded, 1);
  EXPECT_EQ(std::ranges::count(serial, '\n'), 41);
  EXPECT_THAT(serial, HasSubstr("3,refused,1,h4,"));
  EXPECT_EQ(run(loaded, 2), serial);
  EXPECT_EQ(run(loaded, 7), serial);
}

TEST_F(SweepDatabaseTest, GoesOnWhereItWasStopped) {
  const Loaded loaded = load(kForty);
  const std::string whole = run(loaded, 1);
  SweepDatabase database{path("part.sqlite"), loaded.sweep, loaded.plan, How::kNew};
  std::atomic<bool> stop = false;
  SweepRunOptions options{.file = path("sweep.yaml"), .threads = 2, .stop = &stop};
  options.on_progress = [&](const SweepProgress& progress) { stop = progress.done > 0; };
  const SweepProgress first = run_sweep_points(options, loaded.plan, database);
  EXPECT_GT(first.done, 0U);
  stop = false;
  options.on_progress = [](const SweepProgress&) {};
  const SweepProgress second = run_sweep_points(options, loaded.plan, database);
  EXPECT_EQ(second.finished, 40 - first.done);
  EXPECT_EQ(csv(loaded, database), whole);
}

TEST_F(SweepDatabaseTest, RowsOfAnInterruptedTransactionAreNotThere) {
  const Loaded loaded = load(kForty);
  const std::atomic<bool> stop = false;
  SweepDatabase database{path("twice.sqlite"), loaded.sweep, loaded.plan, How::kNew};
  const PointRow first = *run_point(loaded.sweep, loaded.plan, 0, stop);
  const PointRow second = *run_point(loaded.sweep, loaded.plan, 1, stop);
  database.add({first});
  // A row that is there already ends the transaction, and the one before it in the same transaction is not kept.
  EXPECT_THROW(database.add({second, first}), ConfigError);
  const SweepDatabase again{path("twice.sqlite"), loaded.sweep, loaded.plan, How::kRead};
  EXPECT_EQ(std::ranges::count(again.finished(), true), 1);
}

TEST_F(SweepDatabaseTest, ASecondWriterIsRefusedAndAReaderIsNot) {
  const Loaded loaded = load(kForty);
  const auto open = [&](How how) {
    return message_of([&] { const SweepDatabase opened{path("one.sqlite"), loaded.sweep, loaded.plan, how}; });
  };
  {
    const SweepDatabase writer{path("one.sqlite"), loaded.sweep, loaded.plan, How::kNew};
    EXPECT_THAT(open(How::kEither), HasSubstr("another process writes"));
    EXPECT_THAT(open(How::kRead), HasSubstr("nothing was thrown"));
  }
  EXPECT_THAT(open(How::kEither), HasSubstr("nothing was thrown"));
}

TEST_F(SweepDatabaseTest, ReadingWritesNothing) {
  const Loaded loaded = load(kForty);
  const std::string whole = run(loaded, 1);
  const auto bytes = [&] {
    std::ostringstream text;
    text << std::ifstream{path("run1.sqlite"), std::ios::binary}.rdbuf();
    return text.str();
  };
  const std::string before = bytes();
  {
    const SweepDatabase reader{path("run1.sqlite"), loaded.sweep, loaded.plan, How::kRead};
    EXPECT_EQ(csv(loaded, reader), whole);
  }
  EXPECT_EQ(bytes(), before);
}

TEST_F(SweepDatabaseTest, ADamagedDatabaseIsCalledSo) {
  const Loaded loaded = load(kForty);
  static_cast<void>(run(loaded, 1));
  std::string bytes;
  {
    std::ostringstream text;
    text << std::ifstream{path("run1.sqlite"), std::ios::binary}.rdbuf();
    bytes = text.str();
  }
  // Behind the first page of 4096 bytes, which holds the tables' names, everything becomes one byte.
  ASSERT_GT(bytes.size(), 8192U);
  std::fill(bytes.begin() + 4096, bytes.end(), '\xA5');
  static_cast<void>(write(bytes, "damaged.sqlite"));
  EXPECT_THAT(message_of([&] {
                const SweepDatabase opened{path("damaged.sqlite"), loaded.sweep, loaded.plan, How::kRead};
                static_cast<void>(csv(loaded, opened));
              }),
              HasSubstr("is damaged"));
}

TEST_F(SweepDatabaseTest, ARowHoldsWhatItsPointSetsAndNotTheWholeConfiguration) {
  const Loaded loaded = load(kForty);
  const std::atomic<bool> stop = false;
  const std::string configuration = run_point(loaded.sweep, loaded.plan, 1, stop)->configuration;
  EXPECT_LT(configuration.size(), 200U);
  for (const SweepColumn& axis : loaded.plan.axes) EXPECT_THAT(configuration, HasSubstr("\"" + axis.path + "\": "));
  EXPECT_THAT(loaded.plan.configuration, HasSubstr("\"scenario\""));
}

TEST_F(SweepDatabaseTest, RefusesAnotherSweepAndAnotherFile) {
  const Loaded loaded = load(kForty);
  { const SweepDatabase made{path("a.sqlite"), loaded.sweep, loaded.plan, How::kNew}; }
  const auto open = [&](const Loaded& as, const std::string& name, How how) {
    return message_of([&] { const SweepDatabase opened{path(name), as.sweep, as.plan, how}; });
  };
  EXPECT_THAT(open(loaded, "a.sqlite", How::kNew), HasSubstr("exists already"));
  EXPECT_THAT(open(loaded, "a.sqlite", How::kExisting), HasSubstr("nothing was thrown"));
  EXPECT_THAT(open(loaded, "b.sqlite", How::kExisting), HasSubstr("there are no results"));
  const Loaded other = load(kForty + "metrics: [makespan_ns]\n");
  EXPECT_THAT(open(other, "a.sqlite", How::kExisting), HasSubstr("holds another sweep"));
  EXPECT_THAT(open(loaded, "no/such/folder.sqlite", How::kNew), HasSubstr("cannot write the results"));
  static_cast<void>(write("this is text, not a database, and long enough to tell\n", "c.sqlite"));
  EXPECT_THAT(open(loaded, "c.sqlite", How::kEither), HasSubstr("not a database"));
}

TEST_F(SweepDatabaseTest, CsvQuotesWhatNeedsIt) {
  const Loaded loaded = load(kForty + "metrics: [hottest_link]\n");
  SweepDatabase database{path("q.sqlite"), loaded.sweep, loaded.plan, How::kNew};
  PointRow one = *run_point(loaded.sweep, loaded.plan, 0, std::atomic<bool>{false});
  one.metrics = {std::string{"a, \"b\""}};
  database.add({one});
  EXPECT_THAT(csv(loaded, database), HasSubstr("0,done,1,h1,\"a, \"\"b\"\"\"," + one.digest + ",\n"));
}

// Two processes in one: messages go through queues.
class Wire {
 public:
  void push(int to, Message message) {
    const std::lock_guard lock{mutex_};
    queues_.at(static_cast<std::size_t>(to)).push_back(std::move(message));
  }
  std::optional<Message> pop(int at) {
    const std::lock_guard lock{mutex_};
    auto& queue = queues_.at(static_cast<std::size_t>(at));
    if (queue.empty()) return std::nullopt;
    Message message = std::move(queue.front());
    queue.erase(queue.begin());
    return message;
  }
  std::size_t waiting(int at) {
    const std::lock_guard lock{mutex_};
    return queues_.at(static_cast<std::size_t>(at)).size();
  }

 private:
  std::mutex mutex_;
  std::vector<std::vector<Message>> queues_ = std::vector<std::vector<Message>>(3);
};

class WireMessenger final : public Messenger {
 public:
  WireMessenger(Wire& wire, int rank) : wire_{wire}, rank_{rank} {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return 3; }
  void send(int to, const std::string& text) override { wire_.push(to, {rank_, text}); }
  [[nodiscard]] std::optional<Message> receive() override { return wire_.pop(rank_); }
  void abort(int) override { FAIL(); }

 private:
  Wire& wire_;
  int rank_;
};

TEST_F(SweepDatabaseTest, SeveralProcessesGiveWhatOneGives) {
  const Loaded loaded = load(kForty);
  const std::string serial = run(loaded, 1);
  Wire wire;
  const SweepRunOptions options{.file = path("sweep.yaml"), .threads = 1};
  std::vector<std::thread> others;
  for (const int rank : {1, 2}) {
    others.emplace_back([&, rank] {
      WireMessenger messenger{wire, rank};
      serve_sweep_points(options, loaded.plan, messenger);
    });
  }
  WireMessenger messenger{wire, 0};
  SweepDatabase database{path("several.sqlite"), loaded.sweep, loaded.plan, How::kNew};
  const SweepProgress progress = run_sweep_points(options, loaded.plan, database, &messenger);
  dismiss_others(messenger, std::atomic<bool>{false});
  for (std::thread& other : others) other.join();
  EXPECT_EQ(progress.done, 40U);
  EXPECT_EQ(csv(loaded, database), serial);
  EXPECT_EQ(wire.waiting(0), 0U);
}

// Both others fail; the first to say so is named, and neither leaves before rank 0 has heard both out.
TEST_F(SweepDatabaseTest, AProcessThatCannotReadTheSweepTellsProcess0) {
  const Loaded loaded = load(kForty);
  Wire wire;
  std::atomic<int> left = 0;
  std::vector<std::thread> others;
  for (const int rank : {1, 2}) {
    others.emplace_back([&, rank] {
      WireMessenger messenger{wire, rank};
      report_mistake("sweep.yaml:1:1: error: no such file", messenger);
      ++left;
    });
  }
  while (wire.waiting(0) < 2) std::this_thread::yield();
  WireMessenger messenger{wire, 0};
  SweepDatabase database{path("mistaken.sqlite"), loaded.sweep, loaded.plan, How::kNew};
  const SweepRunOptions options{.file = path("sweep.yaml"), .threads = 1};
  EXPECT_THAT(message_of([&] { run_sweep_points(options, loaded.plan, database, &messenger); }),
              ContainsRegex("process [12] cannot run points of this sweep:\n  sweep.yaml:1:1: error: no such file"));
  EXPECT_EQ(left, 0);
  dismiss_others(messenger, std::atomic<bool>{false});
  for (std::thread& other : others) other.join();
  EXPECT_EQ(wire.waiting(0), 0U);
}

TEST_F(SweepDatabaseTest, GoodbyesAreNotWaitedForAfterAnInterrupt) {
  Wire wire;
  WireMessenger messenger{wire, 0};
  dismiss_others(messenger, std::atomic<bool>{true});
  EXPECT_EQ(wire.waiting(1), 1U);
  EXPECT_EQ(wire.waiting(2), 1U);
}

TEST_F(SweepDatabaseTest, AProcessWithAnotherSweepIsRefused) {
  const Loaded loaded = load(kForty);
  Wire wire;
  wire.push(0, {1, "H0000000000000000 2"});
  WireMessenger messenger{wire, 0};
  SweepDatabase database{path("other.sqlite"), loaded.sweep, loaded.plan, How::kNew};
  const SweepRunOptions options{.file = path("sweep.yaml"), .threads = 1};
  EXPECT_THAT(message_of([&] { run_sweep_points(options, loaded.plan, database, &messenger); }),
              HasSubstr("process 1 reads another sweep than process 0"));
}

}  // namespace
}  // namespace weft::plan
