#include "options.h"

#include <charconv>
#include <filesystem>

namespace weft::measure {
namespace {

template <class Number>
Number number(const std::string& option, const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < Number{0}) {
    throw UsageError(option + ": expected a number, got '" + text + "'");
  }
  return value;
}

}  // namespace

Options parse_options(const std::vector<std::string>& arguments) {
  Options options;
  std::size_t next = 0;
  const auto value = [&](const std::string& option) {
    if (next >= arguments.size()) throw UsageError(option + ": expected a value");
    return arguments[next++];
  };
  std::optional<PointSet> points;
  const auto choose = [&](PointSet set) {
    if (points && *points != set) throw UsageError("--quick, --full and --fine exclude each other");
    points = set;
  };
  while (next < arguments.size()) {
    const std::string& word = arguments[next++];
    if (word == "--quick")
      choose(PointSet::kQuick);
    else if (word == "--full")
      choose(PointSet::kFull);
    else if (word == "--fine")
      choose(PointSet::kFine);
    else if (word == "--resume")
      options.resume = true;
    else if (word == "--force")
      options.force = true;
    else if (word == "--hostname")
      options.hostname = true;
    else if (word == "--help" || word == "-h")
      options.help = true;
    else if (word == "--version")
      options.version = true;
    else if (word == "-o" || word == "--output")
      options.output = value(word);
    else if (word == "--budget")
      options.budget_s = number<double>(word, value(word));
    else if (word == "--seed")
      options.seed = number<std::uint64_t>(word, value(word));
    else if (word == "--plan")
      options.plan_for = number<int>(word, value(word));
    else if (word == "--perftest")
      options.perftest.push_back(value(word));
    else
      throw UsageError("unknown option '" + word + "'");
  }
  options.points = points.value_or(PointSet::kQuick);
  if (options.resume && options.force) throw UsageError("--resume and --force exclude each other");
  for (const std::string& log : options.perftest) {
    std::error_code ignored;
    if (std::filesystem::equivalent(log, options.output, ignored)) {
      throw UsageError("--output: cannot write '" + options.output + "': --perftest reads that file, as '" + log + "'");
    }
  }
  return options;
}

const char* help_text() {
  return R"(weft-measure: measures this node's GPUs and their network, for weft calibrate and weft validate

  weft-measure [--quick | --full | --fine] [--resume] [-o FILE]
  mpirun -np N weft-measure ...      the collectives of N ranks, one GPU each, NCCL set as the environment says

  --quick          about 2 minutes (the default)
  --full           about 8 minutes on 4 GPUs; holds every point of --quick
  --fine           about 1 minute: collectives of one and eight channels at many sizes, which tell what steps of a ring cost
  --resume         goes on with FILE: what it holds is not measured again
  --force          overwrites FILE
  -o, --output     FILE, measurements.jsonl if not given
  --budget S       stops after S seconds (120, with --full 480); --resume does the rest
  --seed N         of the random order (1)
  --perftest LOG   takes over what ib_write_bw, ib_write_lat and the like printed; repeatable
  --hostname       writes the host's name into FILE
  --plan N         prints the points for N GPUs, and measures nothing
  --version, --help

NCCL_* of the environment are kept and written into FILE; settings that the points name come on top, each in processes of its own.
Ctrl-C keeps what is measured. Exit status: 0 done, also when the budget ran out; 2 no GPU or bad input; 130 interrupted.
)";
}

}  // namespace weft::measure
