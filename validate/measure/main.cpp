// weft-measure: measures a node. The options are in options.cpp, the run in controller.cpp; as `--worker` it is the process
// that measures.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "controller.h"
#include "worker.h"

namespace weft::measure {
namespace {

void print_plan(const Options& options) {
  NodeFacts node{.gpus = options.plan_for, .peers = {}, .memory_bytes = std::int64_t{140} << 30};
  for (int from = 0; from < node.gpus; ++from) {
    for (int to = 0; to < node.gpus; ++to) {
      if (from != to) node.peers.emplace_back(from, to);
    }
  }
  Plan plan = make_plan(node, {});
  plan = part_of(std::move(plan), options.points);
  for (const Group& group : plan.groups) {
    for (const Point& point : group.points) std::printf("%s\n", point.id().c_str());
  }
  std::fprintf(stderr, "%zu points in %zu groups\n", plan.points(), plan.groups.size());
}

int run(const std::vector<std::string>& arguments) {
  if (!arguments.empty() && arguments.front() == "--worker") return run_worker(parse_worker(arguments));
  const Options options = parse_options(arguments);
  if (options.help) {
    std::fputs(help_text(), stdout);
    return kDone;
  }
  if (options.version) {
    std::puts("weft-measure " WEFT_MEASURE_VERSION);
    return kDone;
  }
  if (options.plan_for > 0) {
    print_plan(options);
    return kDone;
  }
  if (const auto place = mpi_place()) return measure_under_mpi(options, *place);
  return measure_node(options);
}

}  // namespace
}  // namespace weft::measure

int main(int argc, char** argv) {
  try {
    return weft::measure::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weft-measure: %s\n", error.what());
    return weft::measure::kBadInput;
  }
}
