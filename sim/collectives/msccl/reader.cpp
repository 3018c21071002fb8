#include "sim/collectives/msccl/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "sim/collectives/msccl/links.h"
#include "sim/core/config/nearest.h"
#include "sim/core/error.h"
#include "sim/network/import/nccl_xml.h"
#include "sim/network/import/source_text.h"

namespace weft::coll::msccl {
namespace {

using net::XmlElement;

constexpr int kMaxChunks = 1 << 20;
constexpr int kMaxThreads = 1024;

const std::vector<std::string> kAlgoAttributes{"name",    "proto",      "nchannels", "nchunksperloop", "ngpus",    "coll",
                                               "inplace", "outofplace", "minBytes",  "maxBytes",       "nthreads", "redop"};
const std::vector<std::string> kGpuAttributes{"id", "i_chunks", "o_chunks", "s_chunks"};
const std::vector<std::string> kBlockAttributes{"id", "send", "recv", "chan"};
const std::vector<std::string> kStepAttributes{"s",      "type", "srcbuf", "srcoff", "dstbuf",
                                               "dstoff", "cnt",  "depid",  "deps",   "hasdep"};
const std::vector<std::string> kProtocols{"Simple", "LL", "LL128"};
const std::vector<std::string> kReductions{"sum", "prod", "max", "min", "avg", "nop"};

const std::map<std::string, Collective, std::less<>> kCollectives{{"allreduce", Collective::kAllReduce},
                                                                  {"allgather", Collective::kAllGather},
                                                                  {"reduce", Collective::kReduce},
                                                                  {"broadcast", Collective::kBroadcast},
                                                                  {"alltoall", Collective::kAllToAll},
                                                                  {"reduce_scatter", Collective::kReduceScatter},
                                                                  {"reducescatter", Collective::kReduceScatter},
                                                                  {"gather", Collective::kGather},
                                                                  {"scatter", Collective::kScatter}};
// Known to MSCCL, but what they leave where is not said by the file, so that nothing can be proven.
const std::vector<std::string> kUnverifiable{"custom", "send", "recv", "alltoallv"};

template <class Map>
std::vector<std::string> keys_of(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

class ProgramReader {
 public:
  explicit ProgramReader(const net::SourceText& source) : source_{source} { program_.file = source.file(); }

  Program run() {
    const XmlElement root = net::parse_xml(source_);
    if (root.name != "algo") {
      fail(root, "", fmt::format("expected the root element 'algo' of an MSCCL algorithm, got '{}'", root.name));
      throw ConfigError(errors_);
    }
    read_algo(root);
    // Other tools add attributes of their own. Beside another error an unknown one may be its misspelt cause.
    if (errors_.size() == unknown_.size()) program_.warnings = std::exchange(errors_, {});
    if (errors_.empty()) errors_ = check_links(program_, source_);
    if (!errors_.empty()) throw ConfigError(errors_);
    return std::move(program_);
  }

 private:
  // ---- messages

  // Byte offset of an attribute of the element; of the element where it has none of that name.
  [[nodiscard]] std::size_t offset_of(const XmlElement& element, std::string_view attribute) const {
    const std::string_view text = source_.text();
    const std::size_t end = std::min(text.find('>', element.offset), text.size());
    for (std::size_t at = text.find(attribute, element.offset); at < end; at = text.find(attribute, at + 1)) {
      const std::size_t after = at + attribute.size();
      const bool starts = text[at - 1] == ' ' || text[at - 1] == '\t' || text[at - 1] == '\n' || text[at - 1] == '\r';
      if (starts && after < end && (text[after] == '=' || text[after] == ' ')) return at;
    }
    return element.offset;
  }
  void fail(const XmlElement& element, std::string_view attribute, std::string message, std::string note = {}) {
    const bool has = !attribute.empty() && element.find(attribute) != nullptr;
    const std::size_t offset = has ? offset_of(element, attribute) : element.offset;
    const std::size_t length = has ? attribute.size() : element.name.size() + 1;
    errors_.push_back(source_.at(offset, std::move(message), static_cast<int>(length), std::move(note)));
  }
  [[nodiscard]] Origin origin(const XmlElement& element) const {
    return {element.offset, source_.at(element.offset, {}).where.line};
  }

  // ---- attributes

  void check_names(const XmlElement& element, const std::string& path, const std::vector<std::string>& known,
                   std::string_view child) {
    for (const auto& [name, value] : element.attributes) {
      if (std::ranges::find(known, name) != known.end()) continue;
      if (!unknown_.emplace(element.name, name).second) continue;
      fail(element, name, fmt::format("{}: unknown attribute '{}'", path, name), did_you_mean(name, known, "attributes here"));
    }
    for (const XmlElement& inner : element.children) {
      if (inner.name == child) continue;
      const std::vector<std::string> children = child.empty() ? std::vector<std::string>{} : std::vector{std::string{child}};
      fail(inner, "", fmt::format("{}: unknown element '{}'", path, inner.name),
           children.empty() ? "it has no elements inside" : did_you_mean(inner.name, children, "elements here"));
    }
  }

  std::optional<std::string> text(const XmlElement& element, const std::string& path, std::string_view attribute) {
    const std::string* value = element.find(attribute);
    if (value == nullptr) {
      fail(element, "", fmt::format("{}: attribute '{}' is missing", path, attribute));
      return std::nullopt;
    }
    return *value;
  }

  std::int64_t number(const XmlElement& element, const std::string& path, std::string_view attribute, std::int64_t least,
                      std::int64_t most) {
    const auto value = text(element, path, attribute);
    if (!value) return least;
    std::int64_t parsed = 0;
    const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), parsed);
    if (error == std::errc{} && end == value->data() + value->size() && parsed >= least && parsed <= most) return parsed;
    const std::string range = most == std::numeric_limits<std::int64_t>::max() ? fmt::format("of {} or more", least)
                                                                               : fmt::format("from {} to {}", least, most);
    fail(element, attribute, fmt::format("{}.{}: expected a whole number {}, got '{}'", path, attribute, range, *value));
    return least;
  }
  int small(const XmlElement& element, const std::string& path, std::string_view attribute, int least, int most) {
    return static_cast<int>(number(element, path, attribute, least, most));
  }
  bool flag(const XmlElement& element, const std::string& path, std::string_view attribute) {
    return number(element, path, attribute, 0, 1) == 1;
  }

  // Index of the attribute's value among `choices`.
  std::optional<std::size_t> choice(const XmlElement& element, const std::string& path, std::string_view attribute,
                                    std::span<const std::string> choices, std::string_view what) {
    const auto value = text(element, path, attribute);
    if (!value) return std::nullopt;
    const auto found = std::ranges::find(choices, *value);
    if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
    fail(element, attribute, fmt::format("{}.{}: unknown {} '{}'", path, attribute, what, *value),
         did_you_mean(*value, choices, "choices"));
    return std::nullopt;
  }

  // ---- elements

  void read_algo(const XmlElement& algo) {
    const std::string path = "algo";
    check_names(algo, path, kAlgoAttributes, "gpu");
    program_.origin = origin(algo);
    program_.name = text(algo, path, "name").value_or("");
    if (const auto protocol = choice(algo, path, "proto", kProtocols, "protocol")) program_.protocol = kProtocols[*protocol];
    const auto errors = errors_.size();
    program_.channels = small(algo, path, "nchannels", 1, kMaxChannels);
    program_.chunks_per_loop = small(algo, path, "nchunksperloop", 1, kMaxChunks);
    const int ranks = small(algo, path, "ngpus", 1, kMaxGpus);
    const bool has_shape = errors_.size() == errors;
    read_collective(algo, path);
    program_.in_place = flag(algo, path, "inplace");
    program_.out_of_place = algo.find("outofplace") != nullptr ? flag(algo, path, "outofplace") : !program_.in_place;
    if (!program_.in_place && !program_.out_of_place)
      fail(algo, "inplace", "algo.inplace: neither in place nor out of place leaves no call to use it for");
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    program_.max_bytes = kDefaultMaxBytes;
    if (algo.find("minBytes") != nullptr) program_.min_bytes = number(algo, path, "minBytes", 0, kMost);
    if (algo.find("maxBytes") != nullptr) program_.max_bytes = number(algo, path, "maxBytes", 0, kMost);
    if (program_.max_bytes != 0 && program_.max_bytes < program_.min_bytes)
      fail(algo, "maxBytes", fmt::format("algo.maxBytes: {} is below minBytes, {}", program_.max_bytes, program_.min_bytes));
    if (algo.find("nthreads") != nullptr) program_.threads = small(algo, path, "nthreads", 0, kMaxThreads);
    if (algo.find("redop") != nullptr) {
      if (const auto reduction = choice(algo, path, "redop", kReductions, "reduction"))
        program_.reduction = kReductions[*reduction];
    }
    if (has_shape) read_gpus(algo, ranks);  // else every id and channel would be an error
  }

  void read_collective(const XmlElement& algo, const std::string& path) {
    const auto name = text(algo, path, "coll");
    if (!name) return;
    if (const auto found = kCollectives.find(*name); found != kCollectives.end()) {
      program_.collective = found->second;
    } else if (std::ranges::find(kUnverifiable, *name) != kUnverifiable.end()) {
      fail(algo, "coll",
           fmt::format("algo.coll: '{}' does not say what the GPUs must end with, so it cannot be verified", *name));
    } else {
      fail(algo, "coll", fmt::format("algo.coll: unknown collective '{}'", *name),
           did_you_mean(*name, keys_of(kCollectives), "choices"));
    }
  }

  void read_gpus(const XmlElement& algo, int ranks) {
    std::vector<const XmlElement*> by_id(static_cast<std::size_t>(ranks), nullptr);
    int position = 0;
    for (const XmlElement& gpu : algo.children) {
      if (gpu.name != "gpu") continue;
      const auto errors = errors_.size();
      const int id = small(gpu, fmt::format("algo.gpu #{}", position++), "id", 0, ranks - 1);
      if (errors_.size() > errors) continue;
      const XmlElement*& place = by_id[static_cast<std::size_t>(id)];
      if (place != nullptr) fail(gpu, "id", fmt::format("algo.gpu[{}]: stands twice", id));
      place = &gpu;
    }
    program_.gpus.resize(by_id.size());
    for (std::size_t id = 0; id < by_id.size(); ++id) {
      if (by_id[id] == nullptr) {
        fail(algo, "ngpus", fmt::format("algo.gpu[{}]: missing; ngpus says {}", id, ranks));
      } else {
        read_gpu(*by_id[id], static_cast<Rank>(id));
      }
    }
  }

  void read_gpu(const XmlElement& element, Rank rank) {
    const std::string path = fmt::format("algo.gpu[{}]", rank);
    check_names(element, path, kGpuAttributes, "tb");
    Gpu& gpu = program_.gpus[static_cast<std::size_t>(rank)];
    gpu.origin = origin(element);
    gpu.input_chunks = small(element, path, "i_chunks", 0, kMaxChunks);
    gpu.output_chunks = small(element, path, "o_chunks", 0, kMaxChunks);
    gpu.scratch_chunks = small(element, path, "s_chunks", 0, kMaxChunks);
    const auto blocks = std::ranges::count(element.children, "tb", &XmlElement::name);
    std::vector<const XmlElement*> by_id(static_cast<std::size_t>(blocks), nullptr);
    int position = 0;
    for (const XmlElement& block : element.children) {
      if (block.name != "tb") continue;
      const auto errors = errors_.size();
      const int id = small(block, fmt::format("{}.tb #{}", path, position++), "id", 0, static_cast<int>(blocks) - 1);
      if (errors_.size() > errors) continue;
      const XmlElement*& place = by_id[static_cast<std::size_t>(id)];
      if (place != nullptr) fail(block, "id", fmt::format("{}.tb[{}]: stands twice", path, id));
      place = &block;
    }
    gpu.blocks.resize(by_id.size());
    for (std::size_t id = 0; id < by_id.size(); ++id) {
      if (by_id[id] != nullptr) read_block(*by_id[id], fmt::format("{}.tb[{}]", path, id), rank, gpu.blocks[id]);
    }
  }

  void read_block(const XmlElement& element, const std::string& path, Rank rank, ThreadBlock& block) {
    check_names(element, path, kBlockAttributes, "step");
    block.origin = origin(element);
    const int last = program_.ranks() - 1;
    block.send = small(element, path, "send", -1, last);
    block.receive = small(element, path, "recv", -1, last);
    for (const auto& [attribute, peer] : {std::pair{"send", block.send}, std::pair{"recv", block.receive}}) {
      if (peer == rank)
        fail(element, attribute, fmt::format("{}.{}: GPU {} has no connection to itself", path, attribute, rank));
    }
    // Threadblocks that only copy may leave their channel open.
    const bool local = block.send < 0 && block.receive < 0;
    block.channel = std::max(0, small(element, path, "chan", local ? -1 : 0, program_.channels - 1));
    for (const XmlElement& step : element.children) {
      if (step.name == "step") read_step(step, path, block);
    }
    if (block.steps.size() > kMaxSteps)
      fail(element, "", fmt::format("{}: {} steps; MSCCL runs {} at most", path, block.steps.size(), kMaxSteps));
  }

  void read_step(const XmlElement& element, const std::string& block_path, ThreadBlock& block) {
    const auto position = static_cast<int>(block.steps.size());
    const std::string path = fmt::format("{}.step[{}]", block_path, position);
    check_names(element, path, kStepAttributes, "");
    ProgramStep& step = block.steps.emplace_back();
    step.origin = origin(element);
    const int last = kMaxChunks;
    if (const auto errors = errors_.size(); small(element, path, "s", 0, last) != position && errors_.size() == errors)
      fail(element, "s",
           fmt::format("{}.s: expected {}, its place in the threadblock, got {}", path, position, *element.find("s")));
    std::vector<std::string> types;
    for (const OpTraits& op : kOps) types.emplace_back(op.name);
    const auto type = choice(element, path, "type", types, "step type");
    step.op = type ? static_cast<Op>(*type) : Op::kNop;
    step.source = place(element, path, "srcbuf", "srcoff");
    step.destination = place(element, path, "dstbuf", "dstoff");
    step.count = small(element, path, "cnt", !type || step.op == Op::kNop ? 0 : 1, kMaxCount);
    step.wait_block = small(element, path, "depid", -1, last);
    step.wait_step = small(element, path, "deps", -1, last);
    step.waited_for = flag(element, path, "hasdep");
    if (!type) return;
    const OpTraits& op = traits(step.op);
    if (op.sends && block.send < 0)
      fail(element, "type", fmt::format("{}: '{}' sends, but the threadblock has no send peer", path, op.name));
    if (op.receives && block.receive < 0)
      fail(element, "type", fmt::format("{}: '{}' receives, but the threadblock has no receive peer", path, op.name));
    // Compilers leave the source of a receive-and-reduce out where it is the destination.
    if (op.receives && op.reads_source && op.stores && step.source.chunk < 0) step.source = step.destination;
    if (op.reads_source && step.source.chunk < 0)
      fail(element, "srcoff", fmt::format("{}.srcoff: '{}' reads a chunk, got -1", path, op.name));
    if (op.stores && step.destination.chunk < 0)
      fail(element, "dstoff", fmt::format("{}.dstoff: '{}' writes a chunk, got -1", path, op.name));
  }

  Place place(const XmlElement& element, const std::string& path, std::string_view buffer, std::string_view offset) {
    static const std::vector<std::string> kBuffers{"i", "o", "s"};
    Place place;
    if (const auto index = choice(element, path, buffer, kBuffers, "buffer")) place.buffer = static_cast<Buffer>(*index);
    place.chunk = small(element, path, offset, -1, kMaxChunks);
    return place;
  }

  const net::SourceText& source_;
  Program program_;
  std::vector<Diagnostic> errors_;
  std::set<std::pair<std::string, std::string>> unknown_;  // element and attribute; each has one of errors_
};

}  // namespace

Program read_program(std::string_view text, const std::string& file) {
  const net::SourceText source{file, text};
  return ProgramReader{source}.run();
}

Program read_program_file(const std::string& path) { return read_program(net::read_text_file(path), path); }

}  // namespace weft::coll::msccl
