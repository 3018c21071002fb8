#include "sim/workloads/trace/execution/nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "sim/core/error.h"
#include "sim/workloads/trace/json_pull.h"
#include "sim/workloads/trace/line_reader.h"
#include "sim/workloads/trace/shallow_json.h"

namespace weft::work::execution {
namespace {

constexpr std::size_t kMostTensors = 1 << 16;  // of one node
constexpr std::size_t kMostTexts = 4'096;      // of one operand
constexpr std::size_t kMostOperands = 64;
constexpr int kDeepestOperand = 8;
constexpr std::int64_t kMostElements = kLargestTask.count() / 16;

// Where operands of record_param_comms stand.
enum CommOperand : std::size_t { kTensors, kSequence, kGroup, kRank, kName, kInSplit, kOutSplit, kStart, kStride, kSize };

struct Tensor {
  std::int64_t storage = 0;
  std::int64_t elements = 0;
  std::int64_t element_bytes = 0;
  std::size_t operand = 0;
};

// Inputs or outputs of the node being read.
struct Operands {
  std::vector<Tensor> tensors;
  std::vector<std::vector<std::string>> texts;  // by operand: what it holds beside tensors; kept of few nodes only
  void clear() {
    tensors.clear();
    texts.clear();
  }
  [[nodiscard]] std::string text(std::size_t operand, std::size_t item = 0) const {
    return operand < texts.size() && item < texts[operand].size() ? texts[operand][item] : std::string{};
  }
  [[nodiscard]] std::string list(std::size_t operand) const {
    return operand < texts.size() ? fmt::format("[{}]", fmt::join(texts[operand], ", ")) : std::string{};
  }
};

std::string dtype_of(std::int64_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return "Byte";
    case 2:
      return "Half";
    case 8:
      return "Double";
    default:
      return "Float";
  }
}

class NodeReader {
 public:
  NodeReader(const std::filesystem::path& file, const TraceReadOptions& options)
      : stream_{file, options.max_bytes}, json_{stream_}, most_{options.max_operations}, most_ranks_{options.max_ranks} {
    result_.file = file;
  }

  Nodes read() {
    if (json_.kind() != JsonPull::Kind::kObject) json_.fail("expected an execution trace: an object with nodes");
    json_.begin_object();
    bool has_nodes = false;
    while (json_.next_member()) {
      if (json_.key() == "schema") {
        result_.schema = json_.scalar();
        if (result_.schema.find("-chakra.") == std::string::npos)
          json_.fail(fmt::format("schema '{}' is none of an execution trace: expected '1.1.1-chakra.0.0.4' or its like",
                                 result_.schema.substr(0, 40)));
      } else if (json_.key() == "pid") {
        result_.process = whole("pid");
      } else if (json_.key() == "nodes") {
        has_nodes = true;
        if (json_.kind() != JsonPull::Kind::kArray) json_.fail("nodes is no list");
        json_.begin_array();
        while (json_.next_element()) read_node();
      } else {
        json_.skip();
      }
    }
    json_.check_end();
    if (!has_nodes) json_.fail("no nodes: not an execution trace");
    std::ranges::stable_sort(result_.nodes, {}, &Node::id);
    const auto twice = std::ranges::adjacent_find(result_.nodes, {}, &Node::id);
    if (twice != result_.nodes.end()) {
      throw ConfigError(std::vector{Diagnostic{.where = {.file = result_.file.string()},
                                               .message = fmt::format("two nodes have the id {}", twice->id),
                                               .source_line = {},
                                               .note = "an execution trace of one step of one process has each id once"}});
    }
    return std::move(result_);
  }

 private:
  std::int64_t whole(std::string_view what) {
    std::int64_t value = 0;
    const std::string_view text = json_.scalar();
    if (!read_integer(text, value)) json_.fail(fmt::format("{} '{}' is no whole number", what, text.substr(0, 40)));
    return value;
  }

  void read_node() {
    if (json_.kind() != JsonPull::Kind::kObject) json_.fail("an element of nodes is no object");
    if (result_.nodes.size() >= most_) json_.fail(fmt::format("more than {} nodes, which is the limit", most_));
    node_ = {};
    call_ = {};
    name_.clear();
    inputs_.clear();
    outputs_.clear();
    written_ = 0;
    json_.begin_object();
    while (json_.next_member()) {
      const std::string_view key = json_.key();
      if (key == "id") {
        node_.id = whole("id");
      } else if (key == "name") {
        name_ = json_.scalar();
      } else if (key == "inputs") {
        read_side(inputs_);
      } else if (key == "outputs") {
        read_side(outputs_);
      } else if (key == "attrs") {
        read_attributes();
      } else {
        json_.skip();
      }
    }
    if (node_.id < 0) json_.fail("a node without id");
    if (name_.empty()) json_.fail(fmt::format("node {} has no name", node_.id));
    keep();
  }

  // {"values": [...], "shapes": ...}
  void read_side(Operands& into) {
    if (json_.kind() != JsonPull::Kind::kObject) json_.fail("inputs and outputs are objects with values");
    json_.begin_object();
    while (json_.next_member()) {
      if (json_.key() != "values") {
        json_.skip();
        continue;
      }
      if (json_.kind() != JsonPull::Kind::kArray) json_.fail("values is no list");
      into.clear();
      json_.begin_array();
      for (std::size_t operand = 0; json_.next_element(); ++operand) read_operand(into, operand);
    }
  }

  [[nodiscard]] bool keeps_texts() const { return name_.empty() || is_comm() || is_group_list(); }
  [[nodiscard]] bool is_comm() const { return name_ == "record_param_comms"; }
  [[nodiscard]] bool is_group_list() const { return name_.find("process_group:init") != std::string::npos; }

  void read_operand(Operands& into, std::size_t operand) {
    if (json_.kind() == JsonPull::Kind::kArray) {
      read_list(into, operand, 1);
    } else if (json_.kind() != JsonPull::Kind::kObject) {
      add_text(into, operand, json_.scalar());
    } else {
      json_.skip();
    }
  }

  void add_text(Operands& into, std::size_t operand, std::string_view text) {
    if (!keeps_texts() || operand >= kMostOperands) return;
    if (into.texts.size() <= operand) into.texts.resize(operand + 1);
    if (into.texts[operand].size() < kMostTexts) into.texts[operand].emplace_back(text);
  }

  // A tensor is [id, storage, offset, elements, bytes of one, "device"]; other lists may hold tensors.
  void read_list(Operands& into, std::size_t operand, int depth) {
    std::array<std::int64_t, 5> numbers{};
    std::size_t count = 0;
    bool is_tensor = true;
    json_.begin_array();
    for (; json_.next_element(); ++count) {
      const JsonPull::Kind kind = json_.kind();
      if (kind == JsonPull::Kind::kArray && depth < kDeepestOperand) {
        read_list(into, operand, depth + 1);
        is_tensor = false;
      } else if (kind == JsonPull::Kind::kArray || kind == JsonPull::Kind::kObject) {
        json_.skip();
        is_tensor = false;
      } else {
        const std::string_view text = json_.scalar();
        const bool is_string = kind == JsonPull::Kind::kString;
        is_tensor = is_tensor && (count < 5 ? !is_string && read_integer(text, numbers.at(count)) : count == 5 && is_string);
        add_text(into, operand, text);
      }
    }
    if (!is_tensor || count != 6 || numbers[1] <= 0) return;
    if (into.tensors.size() >= kMostTensors) json_.fail(fmt::format("more than {} tensors of one node", kMostTensors));
    // Elements of complex numbers in double precision are the largest there are.
    constexpr std::int64_t kLargestElement = 16;
    const auto& [id, storage, offset, elements, bytes] = numbers;
    const bool has_size = elements >= 0 && elements <= kMostElements && bytes >= 0 && bytes <= kLargestElement;
    if (!has_size) result_.odd_tensors.add(fmt::format("{} elements of {} B", elements, bytes));
    into.tensors.push_back({storage, has_size ? elements : 0, has_size ? bytes : 0, operand});
  }

  void read_attributes() {
    if (json_.kind() != JsonPull::Kind::kArray) json_.fail("attrs is no list");
    json_.begin_array();
    while (json_.next_element()) {
      if (json_.kind() != JsonPull::Kind::kObject) json_.fail("an element of attrs is no object");
      std::string name;
      std::string value;
      json_.begin_object();
      while (json_.next_member()) {
        const bool plain = json_.kind() == JsonPull::Kind::kString || json_.kind() == JsonPull::Kind::kLiteral;
        if (json_.key() == "name" && plain) {
          name = json_.scalar();
        } else if (json_.key() == "value" && plain) {
          value = json_.scalar();
        } else {
          json_.skip();
        }
      }
      set_attribute(name, value);
    }
  }

  std::int64_t number(std::string_view name, std::string_view text, std::int64_t most) const {
    std::int64_t value = 0;
    if (!read_integer(text, value) || value > most)
      json_.fail(fmt::format("node {}: {} '{}' is no whole number up to {}", node_.id, name, text.substr(0, 40), most));
    return value;
  }

  void set_attribute(std::string_view name, const std::string& value) {
    constexpr std::int64_t kAny = std::int64_t{1} << 62;
    if (name == "rf_id") {
      node_.record_function = number(name, value, kAny);
    } else if (name == "op_schema") {
      written_ = written_operands(value);
    } else if (name == "collective_name") {
      call_.name = value;
    } else if (name == "dtype") {
      call_.dtype = value;
    } else if (name == "in_msg_nelems") {
      call_.in_elements = number(name, value, kMostElements);
    } else if (name == "out_msg_nelems") {
      call_.out_elements = number(name, value, kMostElements);
    } else if (name == "in_split_size") {
      call_.in_split = value;
    } else if (name == "out_split_size") {
      call_.out_split = value;
    } else if (name == "global_rank_start") {
      call_.rank_start = number(name, value, kAny);
    } else if (name == "global_rank_stride") {
      call_.rank_stride = number(name, value, kAny);
    } else if (name == "pg_name") {
      call_.group = value;
    } else if (name == "pg_desc") {
      call_.group_description = value;
    } else if (name == "pg_size") {
      call_.group_size = number(name, value, most_ranks_);
    }
  }

  void keep() {
    node_.name = name_hash(name_);
    for (const Tensor& tensor : inputs_.tensors) {
      node_.reads.push_back(tensor.storage);
      if (tensor.operand < kMostOperands && (written_ >> tensor.operand & 1U) != 0) node_.writes.push_back(tensor.storage);
    }
    for (const Tensor& tensor : outputs_.tensors) node_.writes.push_back(tensor.storage);
    for (std::vector<std::int64_t>* list : {&node_.reads, &node_.writes}) {
      std::ranges::sort(*list);
      list->erase(std::ranges::unique(*list).begin(), list->end());
      list->shrink_to_fit();
    }
    if (is_comm()) keep_call();
    if (is_group_list()) keep_groups(inputs_.text(0));
    result_.nodes.push_back(std::move(node_));
  }

  // Attributes first; where an older schema has none, the operands by their places.
  void keep_call() {
    const auto fill = [&](std::int64_t& value, std::size_t operand, std::size_t item = 0) {
      std::int64_t said = 0;
      if (value < 0 && read_integer(inputs_.text(operand, item), said) && said >= 0 && said <= most_ranks_) value = said;
    };
    if (call_.name.empty()) call_.name = inputs_.text(kName);
    if (call_.group.empty()) call_.group = inputs_.text(kGroup, 0);
    if (call_.group_description.empty()) call_.group_description = inputs_.text(kGroup, 1);
    if (call_.in_split.empty()) call_.in_split = inputs_.list(kInSplit);
    if (call_.out_split.empty()) call_.out_split = inputs_.list(kOutSplit);
    fill(call_.rank_start, kStart);
    fill(call_.rank_stride, kStride);
    fill(call_.group_size, kSize);
    if (call_.in_elements < 0) call_.in_elements = elements_of(inputs_, kTensors);
    if (call_.out_elements < 0) call_.out_elements = elements_of(outputs_, kTensors);
    if (call_.dtype.empty() && !inputs_.tensors.empty()) call_.dtype = dtype_of(inputs_.tensors.front().element_bytes);
    if (call_.name.empty()) return;
    std::int64_t rank = -1;
    fill(rank, kRank);
    // The number within the group: of the group that starts at 0, all ranks, the rank itself.
    if (rank >= 0 && call_.rank_start == 0 && call_.rank_stride == 1 && call_.group_size > largest_group_) {
      result_.rank = rank;
      largest_group_ = call_.group_size;
    }
    node_.comm = static_cast<std::uint32_t>(result_.comms.size());
    result_.comms.push_back(call_);
  }

  static std::int64_t elements_of(const Operands& side, std::size_t operand) {
    std::int64_t sum = -1;
    for (const Tensor& tensor : side.tensors) {
      if (tensor.operand == operand) sum = std::min(std::max<std::int64_t>(0, sum) + tensor.elements, kMostElements);
    }
    return sum;
  }

  // A list in JSON inside the text: [{"pg_name": "0", "pg_desc": "default_pg", "ranks": [], "group_size": 4}].
  void keep_groups(const std::string& text) {
    using nlohmann::json;
    constexpr int kDeepest = 8;
    const json list = shallow_json(text, kDeepest);
    if (!list.is_array()) json_.fail(fmt::format("node {}: its process groups are no list in JSON", node_.id));
    for (const json& each : list) {
      if (!each.is_object() || !each.contains("pg_name") || !each["pg_name"].is_string() || !each.contains("ranks") ||
          !each["ranks"].is_array())
        json_.fail(fmt::format("node {}: a process group lacks pg_name or ranks", node_.id));
      kineto::ProcessGroup group{.name = each["pg_name"].get<std::string>(), .description = {}, .ranks = {}};
      if (each.contains("pg_desc") && each["pg_desc"].is_string()) group.description = each["pg_desc"].get<std::string>();
      for (const json& rank : each["ranks"]) {
        if (!rank.is_number_integer() || rank.get<std::int64_t>() < 0 || rank.get<std::int64_t>() >= most_ranks_)
          json_.fail(fmt::format("node {}: group '{}': expected ranks from 0 to {}", node_.id, group.name, most_ranks_ - 1));
        group.ranks.push_back(rank.get<std::int64_t>());
      }
      result_.groups.push_back(std::move(group));
    }
  }

  InputStream stream_;
  JsonPull json_;
  std::uint64_t most_;
  std::int64_t most_ranks_;
  Nodes result_;
  Node node_;
  kineto::CommCall call_;
  std::string name_;
  Operands inputs_;
  Operands outputs_;
  std::uint64_t written_ = 0;
  std::int64_t largest_group_ = 0;
};

}  // namespace

bool looks_like_execution_trace(std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \n\r\t");
  if (first == std::string_view::npos || head[first] != '{') return false;
  return head.find("\"schema\"") != std::string_view::npos && head.find("-chakra.") != std::string_view::npos &&
         head.find("\"traceEvents\"") == std::string_view::npos;
}

// FNV-1a.
std::uint64_t name_hash(std::string_view name) {
  std::uint64_t hash = 14'695'981'039'346'656'037U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211U;
  return hash;
}

std::uint64_t written_operands(std::string_view schema) {
  const std::size_t open = schema.find('(');
  if (open == std::string_view::npos) return 0;
  std::uint64_t written = 0;
  std::size_t operand = 0;
  int depth = 1;
  for (std::size_t i = open + 1; i < schema.size() && depth > 0; ++i) {
    const char c = schema[i];
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c == ',' && depth == 1) ++operand;
    if (c == '!' && depth > 1 && operand < kMostOperands) written |= std::uint64_t{1} << operand;
  }
  return written;
}

Nodes read_nodes(const std::filesystem::path& file, const TraceReadOptions& options) {
  return NodeReader{file, options}.read();
}

}  // namespace weft::work::execution
