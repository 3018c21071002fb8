// weft measure: measures this node. The work is done by the program weft-measure (validate/measure, built where CUDA is).
// With --serving it is weft-measure-serving (validate/measure/serving.py, Python with PyTorch). This command finds and becomes
// either.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "sim/apps/command.h"
#include "sim/core/config/find_config.h"
#include "sim/core/error.h"
#include "sim/core/json_writer.h"
#include "sim/core/used_files.h"
#include "sim/workloads/model/model_reader.h"

namespace weft::apps {
namespace {

constexpr const char* kRunner = "weft-measure";
constexpr const char* kCompanion = "weft-measure-serving";
constexpr const char* kCompanionSource = "validate/measure/serving.py";

struct MeasureOptions {
  bool quick = false;
  bool full = false;
  bool fine = false;
  bool resume = false;
  bool force = false;
  bool hostname = false;
  std::string output = "measurements.jsonl";
  std::string budget;
  std::string seed;
  std::string plan;
  std::vector<std::string> perftest;
  bool serving = false;
  std::vector<std::string> models;
  std::vector<std::string> tensor;
  std::vector<std::string> decode;
  std::vector<std::string> prefill;
  std::string layers;
};

// Folders that may hold the runner: beside this program, where it is installed, where validate/measure is built on its own, and
// those of PATH.
std::vector<std::filesystem::path> places() {
  std::vector<std::filesystem::path> folders;
  std::error_code unknown;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", unknown);
  if (!unknown) {
    const std::filesystem::path bin = program.parent_path();
    // build/release/bin and build/measure
    folders = {bin, bin.parent_path() / "libexec", bin.parent_path().parent_path() / "measure"};
  }
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "";
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    if (!folder.empty()) folders.emplace_back(folder);
    rest.remove_prefix(folder.size() == rest.size() ? rest.size() : folder.size() + 1);
  }
  return folders;
}

std::optional<std::string> find_runner() {
  for (const std::filesystem::path& folder : places()) {
    std::string file = (folder / kRunner).string();
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return std::nullopt;
}

std::vector<std::string> words_of(const MeasureOptions& options) {
  std::vector<std::string> words{kRunner};
  const auto flag = [&words](bool set, const char* name) {
    if (set) words.emplace_back(name);
  };
  const auto value = [&words](const std::string& text, const char* name) {
    if (!text.empty()) words.insert(words.end(), {name, text});
  };
  flag(options.quick, "--quick");
  flag(options.full, "--full");
  flag(options.fine, "--fine");
  flag(options.resume, "--resume");
  flag(options.force, "--force");
  flag(options.hostname, "--hostname");
  value(options.output, "--output");
  value(options.budget, "--budget");
  value(options.seed, "--seed");
  value(options.plan, "--plan");
  for (const std::string& log : options.perftest) value(log, "--perftest");
  return words;
}

// Returns only if `file` cannot be started.
int become(const std::string& file, std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(file.c_str(), arguments.data());
  std::fputs(fmt::format("error: weft measure: cannot start {}: {}\n", file, std::strerror(errno)).c_str(), stderr);
  return kBadInput;
}

int become_runner(const MeasureOptions& options) {
  if (options.plan.empty()) claim_output("--output", options.output);
  for (const std::string& log : options.perftest) note_input(log);
  const std::optional<std::string> runner = find_runner();
  if (!runner) {
    std::fputs(fmt::format("error: weft measure: the CUDA runner '{}' is not built\n"
                           "note: where nvcc and NCCL are, 'cmake -S validate/measure -B build/measure && cmake --build "
                           "build/measure' builds it; it needs nothing else of weft\n",
                           kRunner)
                   .c_str(),
               stderr);
    return kBadInput;
  }
  return become(*runner, words_of(options));
}

// Installed, or in the source tree that this program was built from.
std::optional<std::string> find_companion() {
  std::error_code unknown;
  for (const std::filesystem::path& folder : places()) {
    if (std::filesystem::is_regular_file(folder / kCompanion, unknown)) return (folder / kCompanion).string();
  }
  for (const std::filesystem::path& configs : config_folders()) {
    const std::filesystem::path file = configs.parent_path() / kCompanionSource;
    if (std::filesystem::is_regular_file(file, unknown)) return file.string();
  }
  return std::nullopt;
}

// Names what the companion does not run in a layer; empty: nothing.
std::string unmeasured(const work::LayerShape& layer) {
  const work::Mixer& mixer = layer.mixer;
  if (mixer.kind != work::AttentionKind::kGrouped) return std::string{work::to_string(mixer.kind)};
  if (mixer.window > 0 || mixer.chunk > 0) return "attention to a window";
  if (mixer.index.heads > 0) return "sparse attention";
  if (mixer.value_dim != mixer.head_dim || mixer.gate_width > 0 || mixer.keys_are_values || mixer.shares_cache || mixer.sinks)
    return "an attention of its own";
  if (layer.feed.moe.experts > 0) return "experts";
  if (layer.feed.ffn == 0) return "no MLP";
  return layer.feed.is_gated ? std::string{} : "an MLP of two matrices";
}

// The widths of a model's layers, as the companion takes them.
std::string shape_json(const std::string& named) {
  Diagnostics diagnostics;
  const work::TransformerModel model = work::read_model(work::load_model_file(named), diagnostics);
  diagnostics.throw_if_any();
  const std::vector<work::LayerShape> shapes = work::distinct_shapes(model);
  std::string missing = shapes.size() == 1 ? std::string{} : "layers of several kinds";
  for (const work::LayerShape& shape : shapes) {
    if (const std::string what = unmeasured(shape); !what.empty()) missing = what;
  }
  if (!missing.empty())
    throw ConfigError(
        fmt::format("--model: '{}' has {}; --serving measures layers that are alike, of grouped attention and a "
                    "gated MLP",
                    named, missing));
  const work::Mixer& mixer = shapes.front().mixer;
  std::ostringstream text;
  JsonWriter json{text, 0};
  json.begin_object().field("name", model.name.empty() ? std::filesystem::path{named}.stem().string() : model.name);
  json.field("layers", model.layers).field("hidden", model.hidden).field("heads", mixer.heads);
  json.field("kv_heads", mixer.kv_heads).field("head_dim", mixer.head_dim).field("ffn", shapes.front().feed.ffn).end_object();
  json.finish();
  return text.str();
}

std::vector<std::string> companion_words(const MeasureOptions& options) {
  std::vector<std::string> words;
  const auto flag = [&words](bool set, const char* name) {
    if (set) words.emplace_back(name);
  };
  const auto values = [&words](const std::vector<std::string>& texts, const char* name) {
    for (const std::string& text : texts) {
      if (!text.empty()) words.push_back(fmt::format("{}={}", name, text));  // one word, whatever it begins with
    }
  };
  for (const std::string& model : options.models) values({shape_json(model)}, "--model");
  values(options.tensor, "--tensor");
  values(options.decode, "--decode");
  values(options.prefill, "--prefill");
  values({options.layers}, "--layers");
  values({options.budget}, "--budget");
  values({options.seed}, "--seed");
  values({options.output}, "--output");
  flag(options.resume, "--resume");
  flag(options.force, "--force");
  flag(options.hostname, "--hostname");
  return words;
}

int become_companion(const MeasureOptions& options) {
  claim_output("--output", options.output);
  const std::vector<std::string> words = companion_words(options);
  const std::optional<std::string> companion = find_companion();
  if (!companion) {
    std::fputs(fmt::format("error: weft measure: '{}' is not installed\n"
                           "note: it is {} of Weft's source, which runs by itself: python3 {} --help\n",
                           kCompanion, kCompanionSource, kCompanionSource)
                   .c_str(),
               stderr);
    return kBadInput;
  }
  const char* chosen = std::getenv("WEFT_PYTHON");
  const std::string python = chosen != nullptr && *chosen != '\0' ? chosen : "python3";
  std::vector<std::string> all{python, *companion};
  all.insert(all.end(), words.begin(), words.end());
  return become(python, std::move(all));
}

}  // namespace

void add_measure(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<MeasureOptions>();
  CLI::App* command =
      app.add_subcommand("measure", "Measures this node's GPUs and their network, for calibrate and validate (needs CUDA)");
  CLI::Option* full = command->add_flag("--full", options->full, "about 8 minutes on 4 GPUs; holds every point of --quick");
  CLI::Option* quick = command->add_flag("--quick", options->quick, "about 2 minutes (the default)")->excludes(full);
  CLI::Option* fine =
      command->add_flag("--fine", options->fine, "about 1 minute: collectives of one and eight channels at many sizes");
  fine->excludes(full)->excludes(quick);
  CLI::Option* resume =
      command->add_flag("--resume", options->resume, "goes on with the file: what it holds is not measured again");
  command->add_flag("--force", options->force, "overwrites the file")->excludes(resume);
  command->add_option("-o,--output", options->output, "measurement file (docs/measurement_format.md)")->capture_default_str();
  command->add_option("--budget", options->budget, "seconds after which it stops (120, 480); --resume does the rest");
  command->add_option("--seed", options->seed, "of the random order (1)");
  CLI::Option* perftest =
      command->add_option("--perftest", options->perftest, "takes over what ib_write_bw, ib_write_lat... printed; repeatable");
  command->add_flag("--hostname", options->hostname, "writes the host's name into the file");
  CLI::Option* plan = command->add_option("--plan", options->plan, "prints the points for so many GPUs, and measures nothing");
  CLI::Option* serving =
      command->add_flag("--serving", options->serving, "steps of transformers in place of these, by PyTorch (WEFT_PYTHON)");
  for (CLI::Option* other : {full, quick, fine, perftest, plan}) serving->excludes(other);
  const auto of_serving = [&](const char* name, std::vector<std::string>& values, const char* help, const char* form) {
    command->add_option(name, values, help)->needs(serving)->type_name(form);
  };
  of_serving("--model", options->models, "--serving: a file, ours or of Hugging Face, or a shipped name; repeatable", "FILE");
  of_serving("--tensor", options->tensor, "--serving: GPUs that share each layer; repeatable (1, and all)", "N");
  of_serving("--decode", options->decode, "--serving: a step of B answers that meet C tokens each, 32x2048; repeatable", "BxC");
  of_serving("--prefill", options->prefill, "--serving: a step of B prompts of T tokens each, 1x1024; repeatable", "BxT");
  command->add_option("--layers", options->layers, "--serving: layers of a step (8)")->needs(serving)->type_name("N");
  command->callback(
      [options, &exit_code] { exit_code = options->serving ? become_companion(*options) : become_runner(*options); });
}

}  // namespace weft::apps
