#include "sim/workloads/trace/kineto/comm_parts.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "sim/core/words.h"
#include "sim/workloads/trace/line_reader.h"

namespace weft::work::kineto {
namespace {

std::string plain(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '_' || c == '-' || c == ' ' || c == ':') continue;
    result += lower_case(c);
  }
  return result;
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

// PyTorch's names of types ("BFloat16"), or those of C++ as its operators' arguments have them ("c10::BFloat16", "long int").
// 0: it is none of them.
int element_bytes(std::string_view dtype) {
  std::string name = plain(dtype);
  if (name.starts_with("c10")) name.erase(0, 3);
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
  };
  // Two numbers of four bits are one element of one byte.
  if (name.starts_with("float8") || name.starts_with("float4") || name.starts_with("bits8") || name.ends_with("char")) return 1;
  if (is_one_of({"byte", "bool", "int8", "uint8", "qint8", "quint8"})) return 1;
  if (name.starts_with("short") || is_one_of({"half", "bfloat16", "float16", "int16", "uint16"})) return 2;
  if (name.starts_with("long") || is_one_of({"double", "float64", "int64", "uint64", "complexfloat"})) return 8;
  if (name == "complexdouble") return 16;
  const bool is_four =
      name.empty() || is_one_of({"float", "float32", "int", "int32", "uint32", "unsignedint", "qint32", "complexhalf"});
  return is_four ? 4 : 0;
}

// Elements that a list of splits gives away, of all that it lists; -1: nothing is listed for so many ranks.
std::int64_t shared_out(std::string_view splits, std::int64_t elements, std::size_t self, std::size_t ranks) {
  const std::vector<std::int64_t> parts = parse_rank_list(splits);
  if (parts.size() != ranks || self >= ranks) return -1;
  std::int64_t sum = 0;
  for (const std::int64_t each : parts) {
    if (each > kLargestTask.count() / static_cast<std::int64_t>(ranks)) return -1;
    sum += each;
  }
  if (sum == 0) return 0;
  const double share = static_cast<double>(sum - parts[self]) / static_cast<double>(sum);
  return std::llround(static_cast<double>(elements) * share);
}

bool differ(std::string_view splits) {
  const std::vector<std::int64_t> parts = parse_rank_list(splits);
  return std::ranges::adjacent_find(parts, std::ranges::not_equal_to{}) != parts.end();
}

}  // namespace

// Names as models/workloads §5.2 lists them, by substring; false: no communication ("wait", "init", "barrier" of no bytes).
bool part_of(const CommCall& call, CommPart& part) {
  const std::string name = plain(call.name);
  const int known = element_bytes(call.dtype);
  part.has_known_type = known > 0;
  const int element = known > 0 ? known : 4;
  const std::int64_t in = std::max<std::int64_t>(0, call.in_elements) * element;
  const std::int64_t out = std::max<std::int64_t>(0, call.out_elements) * element;
  part.element_size = static_cast<std::uint8_t>(element);
  part.bytes = std::max(in, out);
  // Bytes that one rank gives to all, or gets of all, where the total is not said.
  const auto of_all = [&](std::int64_t whole, std::int64_t one) {
    const std::int64_t ranks =
        std::clamp<std::int64_t>(call.group_size, 1, kLargestTask.count() / std::max<std::int64_t>(1, one));
    return std::max(whole, one * ranks);
  };
  using coll::Collective;
  if (name.starts_with("send")) {
    part.kind = OpKind::kSend;
    part.peer = call.destination;
    part.bytes = in > 0 ? in : out;
  } else if (name.starts_with("recv")) {
    part.kind = OpKind::kReceive;
    part.peer = call.source;
    part.bytes = out > 0 ? out : in;
  } else if (name.find("allreduce") != std::string::npos || name.find("barrier") != std::string::npos) {
    part.collective = Collective::kAllReduce;
    part.bytes = std::max<std::int64_t>(part.bytes, element);
  } else if (name.find("allgather") != std::string::npos) {
    part.collective = Collective::kAllGather;
    part.bytes = of_all(out, in);
  } else if (name.find("reducescatter") != std::string::npos) {
    part.collective = Collective::kReduceScatter;
    part.bytes = of_all(in, out);
  } else if (name.find("alltoall") != std::string::npos) {
    part.collective = Collective::kAllToAll;
  } else if (name.find("broadcast") != std::string::npos) {
    part.collective = Collective::kBroadcast;
  } else if (name.find("reduce") != std::string::npos) {
    part.collective = Collective::kReduce;
  } else if (name.find("gather") != std::string::npos) {
    part.collective = Collective::kGather;
    part.bytes = of_all(out, in);
  } else if (name.find("scatter") != std::string::npos) {
    part.collective = Collective::kScatter;
    part.bytes = of_all(in, out);
  } else {
    return false;
  }
  return true;
}

Category comm_category(const CommPart& part, const CommCall& call) {
  if (part.kind != OpKind::kCollective) return Category::kCommPipeline;
  if (part.collective == coll::Collective::kAllToAll) return Category::kCommExpert;
  // As frameworks describe their groups: "TENSOR_MODEL_PARALLEL_GROUP", "mesh_dp", ...
  const std::string about = plain(call.group_description);
  if (contains_any(about, {"tensor", "meshtp"}) || about == "tp") return Category::kCommTensor;
  if (contains_any(about, {"data", "meshdp", "fsdp"}) || about == "dp") return Category::kCommData;
  if (contains_any(about, {"expert"}) || about == "ep") return Category::kCommExpert;
  if (contains_any(about, {"context"}) || about == "cp") return Category::kCommContext;
  if (contains_any(about, {"pipeline"}) || about == "pp") return Category::kCommPipeline;
  return Category::kCommOther;
}

AllToAllTraffic traffic_of(const CommCall& call, const CommPart& part, std::size_t self, std::size_t ranks) {
  const auto to_others = [&](std::string_view splits, std::int64_t elements) {
    elements = std::max<std::int64_t>(0, elements);
    const std::int64_t listed = shared_out(splits, elements, self, ranks);
    const auto others = static_cast<std::int64_t>(ranks) - 1;
    return (listed >= 0 ? listed : elements / static_cast<std::int64_t>(ranks) * others) * part.element_size;
  };
  return {to_others(call.in_split, call.in_elements), to_others(call.out_split, call.out_elements)};
}

bool is_uneven(const CommCall& call) { return differ(call.in_split) || differ(call.out_split); }

std::int64_t even_bytes(std::int64_t busiest, std::int64_t element_size, std::size_t ranks) {
  const auto n = static_cast<std::int64_t>(ranks);
  if (n < 2) return busiest;
  const std::int64_t unit = element_size * (n - 1);
  return (busiest + unit - 1) / unit * element_size * n;
}

}  // namespace weft::work::kineto
