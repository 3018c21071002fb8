#include "sim/workloads/inference/request_source.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "tests/support/temp_folder.h"

namespace weft::work {
namespace {

using namespace weft::literals;

class RequestTraceTest : public ::testing::Test {
 protected:
  std::vector<Request> read(const std::string& text) {
    const std::filesystem::path file = folder_.write("requests.csv", text);
    Diagnostics diagnostics;
    std::vector<Request> requests = read_request_trace(file, diagnostics);
    problems_.clear();
    for (const Diagnostic& error : diagnostics.errors()) {
      problems_ += std::to_string(error.where.line) + ":" + std::to_string(error.where.column) + ": " + error.message + "\n";
    }
    return requests;
  }
  weft::test::TempFolder folder_;
  std::string problems_;
};

TEST_F(RequestTraceTest, ReadsArrivalsInOrder) {
  const std::vector<Request> requests = read("arrival_s,prompt,output\n# later\n0.5, 1024, 128\n\n0.25,512,64\r\n");
  ASSERT_EQ(requests.size(), 2U) << problems_;
  EXPECT_EQ(requests[0], (Request{Time{} + 250_ms, 512, 64}));
  EXPECT_EQ(requests[1], (Request{Time{} + 500_ms, 1024, 128}));
}

TEST_F(RequestTraceTest, TitlesSayWhichColumnIsWhich) {
  const std::vector<Request> ours = read("prompt,output,arrival_s\n1024,128,0.5\n");
  ASSERT_EQ(ours.size(), 1U) << problems_;
  EXPECT_EQ(ours[0], (Request{Time{} + 500_ms, 1024, 128}));
  const std::vector<Request> azure = read("TIMESTAMP,GeneratedTokens,ContextTokens\n2024-02-28 23:59:59.5,10,4808\n");
  ASSERT_EQ(azure.size(), 1U) << problems_;
  EXPECT_EQ(azure[0], (Request{Time{}, 4808, 10}));
}

TEST_F(RequestTraceTest, UnknownTitlesAreAnError) {
  EXPECT_TRUE(read("time,in,out\n0,5,6\n").empty());
  EXPECT_EQ(
      problems_,
      "1:1: unknown titles of columns: expected arrival_s,prompt,output, or TIMESTAMP,ContextTokens,GeneratedTokens, in any "
      "order\n");
}

TEST_F(RequestTraceTest, EveryWrongLineIsNamedWithItsPlace) {
  static_cast<void>(read("arrival_s,prompt,output\n0.5,1024\n-1,1,1\n0.5,many,3\n0.5,  12,0\n1,2,3\n"));
  EXPECT_EQ(problems_,
            "2:1: expected three numbers: arrival in s, prompt tokens, output tokens, got 2\n"
            "3:1: expected an arrival in seconds, 0 or more, got '-1'\n"
            "4:5: expected prompt tokens, a whole number, got 'many'\n"
            "5:10: expected 1 to 10000000 output tokens, got 0\n");
}

TEST_F(RequestTraceTest, DatesOfAzuresTracesCountFromTheFirst) {
  const std::vector<Request> requests = read(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-02-28 23:59:59.5,4808,10\n2024-03-01 00:00:00.2500000,20,3\n"
      "2024-02-28 23:59:59.0+00:00,7,8\n");
  ASSERT_EQ(requests.size(), 3U) << problems_;
  EXPECT_EQ(requests[0], (Request{Time{}, 7, 8}));
  EXPECT_EQ(requests[1], (Request{Time{} + 500_ms, 4808, 10}));
  // 2024 has a 29th of February.
  EXPECT_EQ(requests[2], (Request{Time{} + 86'401_s + 250_ms, 20, 3}));
}

TEST_F(RequestTraceTest, WrongLinesOfAzuresTracesAreNamedWithTheirPlace) {
  static_cast<void>(
      read("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,1,1\n2023-13-16 18:17:03,1,1\n"
           "2025-11-16 18:17:03,1,1\n2023-11-16 18:17:04,0,1\n"));
  EXPECT_EQ(problems_,
            "3:1: expected a time such as 2023-11-16 18:17:03.98, got '2023-13-16 18:17:03'\n"
            "4:1: '2025-11-16 18:17:03' is more than 31 days from the first line's time\n"
            "5:21: expected 1 to 10000000 prompt tokens, got 0\n");
}

TEST_F(RequestTraceTest, ReadsMooncakesObjects) {
  const std::vector<Request> requests = read(
      "{\"timestamp\": 27482, \"input_length\": 6955, \"output_length\": 52, \"hash_ids\": [46, 47]}\n"
      "{\"timestamp\": 27, \"input_length\": 5, \"output_length\": 2}\n");
  ASSERT_EQ(requests.size(), 2U) << problems_;
  EXPECT_EQ(requests[0], (Request{Time{} + 27_ms, 5, 2}));
  EXPECT_EQ(requests[1], (Request{Time{} + 27'482_ms, 6955, 52, {46, 47}}));
}

TEST_F(RequestTraceTest, HashesAreWholeNumbersAndNoMoreThanBlocks) {
  static_cast<void>(
      read("{\"timestamp\": 1, \"input_length\": 513, \"output_length\": 2, \"hash_ids\": [1, 2]}\n"
           "{\"timestamp\": 1, \"input_length\": 512, \"output_length\": 2, \"hash_ids\": [1, 2]}\n"
           "{\"timestamp\": 1, \"input_length\": 512, \"output_length\": 2, \"hash_ids\": [1.5]}\n"
           "{\"timestamp\": 1, \"input_length\": 512, \"output_length\": 2, \"hash_ids\": 1}\n"));
  EXPECT_EQ(problems_,
            "2:1: hash_ids: 2 for 512 tokens, of which each stands for 512\n"
            "3:1: hash_ids: expected a list of whole numbers\n"
            "4:1: hash_ids: expected a list of whole numbers\n");
}

TEST_F(RequestTraceTest, WrongObjectsOfMooncakesTracesAreNamed) {
  static_cast<void>(read("{\"timestamp\": -1, \"input_length\": 6955, \"output_length\": 52}\n{\"timestamp\": 1}\n{\n"));
  EXPECT_EQ(problems_,
            "1:1: timestamp: expected 0 to 1000000000, got -1\n"
            "2:1: input_length: expected a number\n"
            "3:1: expected a JSON object: {\"timestamp\": 250, \"input_length\": 1024, ...}\n");
}

TEST_F(RequestTraceTest, AnEmptyTraceIsAnError) {
  static_cast<void>(read("# nothing\n"));
  EXPECT_EQ(problems_, "1:1: the trace holds no request\n");
}

TEST(RequestSourceTest, FixedArrivalsAreEvenlySpaced) {
  const RequestSpec spec{
      .arrivals = Arrivals::kFixed, .rate = 4, .count = 3, .prompt = {.median = 10}, .output = {.median = 5}};
  const std::vector<Request> requests = make_requests(spec, 1);
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[2], (Request{Time{} + 500_ms, 10, 5}));
}

TEST(RequestSourceTest, PoissonArrivalsComeAtTheRate) {
  const RequestSpec spec{.rate = 10, .count = 20'000, .prompt = {.median = 1000, .sigma = 0.5}, .output = {.median = 5}};
  const std::vector<Request> requests = make_requests(spec, 1);
  // The mean gap of n exponentials is 1/rate with a standard error of 1/(rate sqrt n): 0.7 %.
  EXPECT_NEAR(requests.back().arrival.since_start().seconds() / 20'000, 0.1, 0.003);
  double sum = 0;
  for (const Request& request : requests) sum += static_cast<double>(request.prompt);
  EXPECT_NEAR(sum / 20'000, 1000 * std::exp(0.125), 20) << "the mean of a lognormal around its median";
  EXPECT_EQ(requests, make_requests(spec, 1));
  EXPECT_NE(requests, make_requests(spec, 2));
}

}  // namespace
}  // namespace weft::work
