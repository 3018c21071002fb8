#include "sim/workloads/trace/nsys/nccl_range.h"

#include <array>
#include <charconv>
#include <initializer_list>
#include <utility>

namespace weft::work::nsys {
namespace {

// Calls of NCCL, and the names that PyTorch has for them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kCalls{{
    {"ncclAllReduce", "allreduce"},
    {"ncclAllGather", "allgather"},
    {"ncclReduceScatter", "reducescatter"},
    {"ncclReduce", "reduce"},
    {"ncclBroadcast", "broadcast"},
    {"ncclBcast", "broadcast"},
    {"ncclAlltoAll", "alltoall"},
    {"ncclAllToAll", "alltoall"},
    {"ncclGather", "gather"},
    {"ncclScatter", "scatter"},
    {"ncclSend", "send"},
    {"ncclRecv", "recv"},
}};

bool is_word(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// The value after a key: `"Message size [bytes]": 1024`, `data_size 1024`.
std::string_view value_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  std::string_view rest = text.substr(at + key.size());
  const std::size_t begin = rest.find_first_not_of("\": \t=");
  if (begin == std::string_view::npos) return {};
  rest.remove_prefix(begin);
  std::size_t length = 0;
  while (length < rest.size() && is_word(rest[length])) ++length;
  return rest.substr(0, length);
}

std::string_view first_value(std::string_view text, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    const std::string_view value = value_after(text, key);
    if (!value.empty()) return value;
  }
  return {};
}

std::int64_t number(std::string_view text) {
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value >= 0 ? value : -1;
}

}  // namespace

std::optional<NcclRange> parse_nccl_range(std::string_view text, std::string_view payload) {
  std::size_t length = 0;
  while (length < text.size() && is_word(text[length])) ++length;
  for (const auto& [call, name] : kCalls) {
    if (text.substr(0, length) != call) continue;
    const std::string_view about = payload.empty() ? text.substr(length) : payload;
    NcclRange range;
    range.name = name;
    range.bytes = number(first_value(about, {"essage size [bytes]", "data_size"}));
    range.element_size = number(first_value(about, {"type_size"}));
    range.communicator = first_value(about, {"ommunicator ID", "ommunicator hash", "commHash"});
    range.peer = number(first_value(about, {"eer rank", "peer"}));
    return range;
  }
  return std::nullopt;
}

}  // namespace weft::work::nsys
