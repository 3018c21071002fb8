#include <gtest/gtest.h>

#include "tests/workloads/trace/trace_support.h"

namespace weft::work::test {
namespace {

using namespace weft::literals;

Trace read_goal(const std::string& text) { return trace_builtin::goal.read(std::vector{write_trace("a.goal", text)}, {}); }
std::string goal_error(const std::string& text) { return first_error(trace_builtin::goal, {write_trace("a.goal", text)}); }

// The sample of models/workloads §5.6.
constexpr std::string_view kSample = R"(num_ranks 2

rank 0 {
l1: calc 1500 cpu 0
l2: send 1048576b to 1 tag 7 cpu 0 nic 0
l2 requires l1
l3: calc 300 cpu 1
l3 irequires l2
}

rank 1 {
l1: recv 1048576b from 0 tag 7 cpu 0
l2: calc 800
l2 requires l1
}
)";

TEST(GoalTest, ReadsTheSampleAndRunsIt) {
  const TraceRun run{read_goal(std::string{kSample}).program};
  const RankProgram& sender = run.program().program_of(0);
  ASSERT_EQ(sender.operations.size(), 3U);
  EXPECT_EQ(sender.operations[0].duration, 1500_ns);
  // The order of a rank is by time: calc at 0, then l3 when the send is posted at 1500 ns, which moves at once as well.
  OpIndex send = 0;
  OpIndex other = 0;
  for (OpIndex i = 1; i < 3; ++i) (sender.operations[i].kind == OpKind::kSend ? send : other) = i;
  EXPECT_EQ(sender.operations[send].bytes, 1_MiB);
  EXPECT_EQ(run.of(0, send).start, Time{} + 1500_ns);
  EXPECT_EQ(run.of(0, other).start, Time{} + 1500_ns) << "starts with the send, not after it";
  EXPECT_EQ(run.of(0, other).end, Time{} + 1800_ns);
  // The receiver computes 800 ns after the message has arrived.
  EXPECT_EQ(run.of(1, 1).start, run.of(1, 0).end);
  EXPECT_EQ(run.of(1, 1).end, run.of(0, send).end + 800_ns);
  EXPECT_GE(run.of(0, send).end - run.of(0, send).start, transmission_time(1_MiB, 100_Gbps));
}

TEST(GoalTest, IsRecognisedBehindComments) {
  EXPECT_TRUE(trace_builtin::goal.recognises("a.txt", "// made by hand\n/* num_ranks 3 */ num_ranks 2\n"));
  EXPECT_FALSE(trace_builtin::goal.recognises("a.goal", "rank,op\n"));
}

TEST(GoalTest, ACpuRunsOneCalcAtATimeAndTwoCpusSideBySide) {
  const TraceRun run{read_goal("num_ranks 1\nrank 0 {\ncalc 100\ncalc 200\ncalc 250 cpu 1\n}\n").program};
  EXPECT_EQ(run.end(), Time{} + 300_ns);
}

TEST(GoalTest, ComputationDoesNotWaitForMessagesItDoesNotRequire) {
  // The receive is posted first on the same cpu; nothing requires it, and its sender takes 5 us.
  const TraceRun run{
      read_goal(
          "num_ranks 2\nrank 0 {\nrecv 8b from 1\ncalc 1000\n}\nrank 1 {\na: calc 5000\nb: send 8b to 0\nb requires a\n}\n")
          .program};
  const RankProgram& receiver = run.program().program_of(0);
  const OpIndex calc = receiver.operations[0].kind == OpKind::kKernel ? 0 : 1;
  EXPECT_EQ(run.of(0, calc).end, Time{} + 1000_ns);
}

TEST(GoalTest, ReceivesFromAnySourceTakeWhatIsLeftInOrder) {
  // Rank 0 names rank 2's message; its wild receives take rank 1's first and second.
  const Trace trace = read_goal(R"(num_ranks 3
rank 0 {
a: recv 16b from -1
b: recv 8b from 2 tag 1
c: recv 32b from -1 tag -1
b requires a
c requires b
}
rank 1 {
a: send 16b to 0
b: send 32b to 0 tag 9
b requires a
}
rank 2 {
send 8b to 0 tag 1
}
)");
  const Program& program = trace.program;
  const auto peer = [&](OpIndex op) { return program.ranks[0].peers.at(program.program_of(0).operations[op].slot); };
  EXPECT_EQ(peer(0), 1);
  EXPECT_EQ(peer(1), 2);
  EXPECT_EQ(peer(2), 1);
  EXPECT_NO_THROW(TraceRun{program});
}

TEST(GoalTest, SmallSendsThatBothGoFirstDoNotBlockEachOther) {
  const auto both = [](int bytes) {
    std::string text = "num_ranks 2\n";
    for (int r = 0; r < 2; ++r) {
      text += "rank " + std::to_string(r) + " {\na: send " + std::to_string(bytes) + "b to " + std::to_string(1 - r) +
              "\nb: recv " + std::to_string(bytes) + "b from " + std::to_string(1 - r) + "\nb requires a\n}\n";
    }
    return text;
  };
  const Trace trace = read_goal(both(65'535));
  ASSERT_EQ(trace.findings.size(), 1U);
  EXPECT_EQ(
      trace.findings[0].message,
      "rank 0, 'send': 1 send of at most 65535 B goes on before it is received, since ranks would else wait for each other");
  EXPECT_NO_THROW(TraceRun{trace.program});
  // One byte more is LogGOPSim's rendezvous, where the schedule never ends.
  EXPECT_EQ(
      goal_error(both(65'536)),
      "a.goal:3:0: rank 0, 'send': waits for itself: line 3 ('send') of rank 0, which waits for line 9 ('recv') of rank 1, "
      "which waits for line 8 ('send') of rank 1, which waits for line 4 ('recv') of rank 0, which waits for the first of "
      "them");
}

TEST(GoalTest, NamesWhatIsWrongAndWhere) {
  EXPECT_EQ(goal_error("num_rank 2\n"), "a.goal:1:1: expected 'num_ranks', found 'num_rank'");
  EXPECT_EQ(goal_error(""), "a.goal: expected 'num_ranks N', found nothing");
  EXPECT_EQ(goal_error("num_ranks 0\n"), "a.goal:1:11: expected a number of ranks from 1 to 1048576, found '0'");
  EXPECT_EQ(goal_error("num_ranks 2\nrank 0 {\n}\n"), "a.goal:3:0: num_ranks is 2, but rank 1 has no block");
  EXPECT_EQ(goal_error("num_ranks 1\nrank 0 {\n"), "a.goal:2:0: the block of rank 0 does not end with '}'");
  EXPECT_EQ(goal_error("num_ranks 1\nrank 0 {\nclac 5\n}\n"),
            "a.goal:3:1: expected 'calc', 'send', 'recv' or 'LABEL requires LABEL', found 'clac'");
  EXPECT_EQ(goal_error("num_ranks 1\nrank 0 {\ncalc 5 nic 0\n}\n"), "a.goal:3:8: expected the end of the line, found 'nic'");
  EXPECT_EQ(goal_error("num_ranks 1\nrank 0 {\na: calc 5\na requires b\n}\n"),
            "a.goal:4:12: no label 'b' stands above this line in rank 0");
  EXPECT_EQ(goal_error("num_ranks 2\nrank 0 {\nsend 5 to 1\n}\nrank 1 {\n}\n"), "a.goal:3:8: expected 'b', found 'to'");
  EXPECT_EQ(goal_error("num_ranks 2\nrank 0 {\nsend 5b to 1 tag -1\n}\nrank 1 {\n}\n"),
            "a.goal:3:18: expected a tag from 0 to 9223372036854775807, found '-1'");
  EXPECT_EQ(goal_error("num_ranks 2\nrank 0 {\nsend 5b to 1 tag 3\n}\nrank 1 {\nrecv 5b from 0 tag 4\n}\n"),
            "a.goal:6:0: rank 1, 'recv': nobody sends what this receives");
  EXPECT_EQ(goal_error("num_ranks 2\nrank 0 {\nsend 5b to 1\n}\nrank 1 {\nrecv 4b from 0\n}\n"),
            "a.goal:6:0: rank 1, 'recv': receives 4 B, but 5 B are sent to it");
  EXPECT_EQ(
      goal_error("num_ranks 1\nrank 0 {\na: calc 5\nb: calc 6\na requires b\nb requires a\n}\n"),
      "a.goal:3:0: rank 0, 'calc': waits for itself: line 3 ('calc') of rank 0, which waits for line 4 ('calc') of rank 0, "
      "which waits for the first of them");
}

}  // namespace
}  // namespace weft::work::test
