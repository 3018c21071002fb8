// Chakra's protobuf messages: lengths, GlobalMetadata, then Nodes.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "sim/core/config/quantity.h"
#include "sim/workloads/trace/chakra/chakra_file.h"
#include "sim/workloads/trace/chakra/wire.h"
#include "sim/workloads/trace/input_stream.h"

namespace weft::work::chakra {
namespace {

constexpr std::uint64_t kLongestMessage = std::uint64_t{16} << 20;

// Messages behind their lengths, one at a time.
class MessageStream {
 public:
  MessageStream(const std::filesystem::path& file, std::uint64_t max_bytes) : file_{file}, stream_{file, max_bytes} {}

  // False at the end, and at a length of 0, which ends a trace.
  bool next() {
    start_ = offset_;
    std::uint64_t length = 0;
    for (int shift = 0;; shift += 7) {
      char byte = 0;
      if (take(&byte, 1) == 0) {
        if (shift == 0) return false;
        fail(file_, fmt::format("byte {}: the file ends in the length of a message", start_));
      }
      if (shift > 56) fail(file_, fmt::format("byte {}: this is no length of a message", start_));
      length |= (static_cast<std::uint64_t>(byte) & 0x7FU) << shift;
      if ((static_cast<std::uint8_t>(byte) & 0x80U) == 0) break;
    }
    if (length == 0) return false;
    if (length > kLongestMessage) {
      fail(file_, fmt::format("byte {}: a message of {} bytes; at most {} are read", start_, length, kLongestMessage));
    }
    message_.clear();
    while (message_.size() < length) {
      const std::size_t before = message_.size();
      message_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(length, before + kPiece)));
      const std::size_t got = take(message_.data() + before, message_.size() - before);
      if (before + got < message_.size()) {
        fail(file_, fmt::format("byte {}: a message of {} bytes, but the file ends after {}", start_, length, before + got));
      }
    }
    return true;
  }
  [[nodiscard]] std::string_view message() const { return message_; }
  [[nodiscard]] std::uint64_t start() const { return start_; }

 private:
  std::size_t take(char* into, std::size_t count) {
    std::size_t got = 0;
    while (got < count) {
      if (at_ == buffer_.size()) {
        buffer_.resize(kPiece);
        buffer_.resize(stream_.read(buffer_));
        at_ = 0;
        if (buffer_.empty()) break;
      }
      const std::size_t now = std::min(count - got, buffer_.size() - at_);
      std::copy_n(buffer_.data() + at_, now, into + got);
      at_ += now;
      got += now;
    }
    offset_ += got;
    return got;
  }

  const std::filesystem::path& file_;
  InputStream stream_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t start_ = 0;
  std::string message_;
};

std::int64_t zigzag(std::uint64_t value) { return static_cast<std::int64_t>((value >> 1U) ^ (~(value & 1U) + 1U)); }

// AttributeProto's value by its field: 3 double, 5 float, 7 to 27 whole numbers, 29 string, 31 bytes; their lists one more.
constexpr std::uint32_t kDouble = 3;
constexpr std::uint32_t kFloat = 5;
constexpr std::uint32_t kFirstInteger = 7;
constexpr std::uint32_t kSint32 = 15;
constexpr std::uint32_t kSint64 = 17;
constexpr std::uint32_t kFixed32 = 19;
constexpr std::uint32_t kFixed32List = 20;
constexpr std::uint32_t kFixed64List = 22;
constexpr std::uint32_t kSfixed32 = 23;
constexpr std::uint32_t kSfixed32List = 24;
constexpr std::uint32_t kSfixed64List = 26;
constexpr std::uint32_t kLastInteger = 28;
constexpr std::uint32_t kString = 29;
constexpr std::uint32_t kStringList = 30;
constexpr std::uint32_t kBytes = 31;

std::int64_t integer_of(std::uint32_t kind, std::uint64_t value) {
  if (kind == kSint32 || kind == kSint32 + 1 || kind == kSint64 || kind == kSint64 + 1) return zigzag(value);
  if (kind == kSfixed32 || kind == kSfixed32List) return static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
  return static_cast<std::int64_t>(value);
}

class Parser {
 public:
  Parser(const std::filesystem::path& file, const MessageStream& messages) : file_{file}, messages_{messages} {}

  Attributes metadata() {
    Attributes attributes;
    each_field(messages_.message(), [&](const WireField& field) {
      if (field.number == 2 && wants(field, WireType::kBytes, "attr")) attribute(field.bytes, attributes);
    });
    return attributes;
  }

  Node node() {
    Node node;
    each_field(messages_.message(), [&](const WireField& field) { node_field(field, node); });
    return node;
  }

 private:
  template <class OnField>
  void each_field(std::string_view message, OnField on_field) {
    WireReader reader{message};
    WireField field;
    while (reader.next(field)) on_field(field);
    if (reader.damage() != nullptr) damaged(reader.damage());
  }

  [[noreturn]] void damaged(std::string_view what) {
    fail(file_, fmt::format("message at byte {}: {}", messages_.start(), what));
  }

  bool wants(const WireField& field, WireType type, std::string_view name) {
    if (field.type != type) damaged(fmt::format("field '{}' is of the wrong wire type", name));
    return true;
  }

  void node_field(const WireField& field, Node& node) {
    switch (field.number) {
      case 1:
        if (wants(field, WireType::kVarint, "id")) node.id = field.value;
        break;
      case 2:
        if (wants(field, WireType::kBytes, "name")) node.name = field.bytes;
        break;
      case 3:
        wants(field, WireType::kVarint, "type");
        if (field.value >= kNodeTypes) damaged(fmt::format("there is no node type {}", field.value));
        node.type = static_cast<NodeType>(field.value);
        break;
      case 4:
      case 5:
        if (!append_varints(field, node.waits)) damaged("a list of dependencies is damaged");
        break;
      case 6:
        if (wants(field, WireType::kVarint, "start_time_micros")) node.start_us = field.value;
        break;
      case 7:
        if (wants(field, WireType::kVarint, "duration_micros")) node.duration_us = static_cast<double>(field.value);
        break;
      case 8:
        wants(field, WireType::kBytes, "inputs");
        each_field(field.bytes, [&](const WireField& inner) {
          if (inner.number == 1 && wants(inner, WireType::kBytes, "values")) node.input_values = inner.bytes;
        });
        break;
      case 10:
        if (wants(field, WireType::kBytes, "attr")) attribute(field.bytes, node.attributes);
        break;
      default:
        break;
    }
  }

  void attribute(std::string_view message, Attributes& attributes) {
    std::string name;
    WireField value;
    each_field(message, [&](const WireField& field) {
      if (field.number == 1 && wants(field, WireType::kBytes, "name")) name = field.bytes;
      if (field.number >= kDouble) value = field;
    });
    const std::uint32_t kind = value.number;
    if (kind == 0) return;
    if (kind == kDouble) {
      attributes.reals[name] = std::bit_cast<double>(value.value);
    } else if (kind == kFloat) {
      attributes.reals[name] = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(value.value)));
    } else if (kind == kString || kind == kBytes) {
      if (wants(value, WireType::kBytes, name)) attributes.texts[name] = value.bytes;
    } else if (kind == kStringList) {
      wants(value, WireType::kBytes, name);
      std::vector<std::string>& list = attributes.text_lists[name];
      each_field(value.bytes, [&](const WireField& each) {
        if (each.number == 1 && wants(each, WireType::kBytes, name)) list.emplace_back(each.bytes);
      });
    } else if (kind >= kFirstInteger && kind <= kLastInteger) {
      if (kind % 2 == 1) {
        if (value.type == WireType::kBytes) damaged(fmt::format("attribute '{}' is of the wrong wire type", name));
        attributes.integers[name] = integer_of(kind, value.value);
      } else {
        wants(value, WireType::kBytes, name);
        integers(value, attributes.lists[name]);
      }
    }
  }

  // The values of a list message, packed or not.
  void integers(const WireField& list, std::vector<std::int64_t>& into) {
    const bool is_32 = list.number == kFixed32List || list.number == kSfixed32List;
    const bool is_fixed = is_32 || list.number == kFixed64List || list.number == kSfixed64List;
    each_field(list.bytes, [&](const WireField& each) {
      if (each.number != 1) return;
      if (is_fixed && each.type == WireType::kBytes) {
        const std::size_t size = is_32 ? 4 : 8;
        for (std::size_t at = 0; at + size <= each.bytes.size(); at += size) {
          std::uint64_t value = 0;
          for (std::size_t i = 0; i < size; ++i) {
            value |= std::uint64_t{static_cast<std::uint8_t>(each.bytes[at + i])} << (8 * i);
          }
          into.push_back(integer_of(list.number, value));
        }
        return;
      }
      if (is_fixed && each.type != WireType::kVarint) {
        into.push_back(integer_of(list.number, each.value));
        return;
      }
      std::vector<std::uint64_t> values;
      if (!append_varints(each, values)) damaged("a list of numbers is damaged");
      for (const std::uint64_t value : values) into.push_back(integer_of(list.number, value));
    });
  }

  const std::filesystem::path& file_;
  const MessageStream& messages_;
};

}  // namespace

void read_protobuf(const std::filesystem::path& file, const TraceReadOptions& options, const FileReader& reader) {
  MessageStream messages{file, options.max_bytes};
  Parser parser{file, messages};
  if (!messages.next()) fail(file, "no GlobalMetadata: the file is empty");
  reader.on_metadata(parser.metadata());
  while (messages.next()) {
    Node node = parser.node();
    reader.on_node(node);
  }
}

// The first message is metadata: field 1, its version, or field 2, an attribute, both bytes; the version is short text.
bool looks_like_protobuf(std::string_view head) {
  std::size_t at = 0;
  const auto length = read_varint(head, at);
  if (!length || *length == 0) return false;
  const std::string_view first = head.substr(at, static_cast<std::size_t>(std::min<std::uint64_t>(*length, head.size() - at)));
  if (first.size() < 2 || (first[0] != 0x0a && first[0] != 0x12)) return false;
  if (first.size() < *length) return true;
  WireReader reader{first};
  WireField field;
  while (reader.next(field)) {
    if (field.type != WireType::kBytes || field.number > 2) return false;
  }
  return reader.damage() == nullptr;
}

void fail(const std::filesystem::path& file, std::string message, std::string note) {
  Diagnostic problem;
  problem.where.file = file.string();
  problem.message = std::move(message);
  problem.note = std::move(note);
  throw ConfigError({std::move(problem)});
}

std::optional<std::int64_t> Attributes::integer(std::string_view name) const {
  if (const auto found = integers.find(name); found != integers.end()) return found->second;
  if (const auto found = reals.find(name); found != reals.end()) {
    constexpr double kLimit = 9e18;
    if (std::isfinite(found->second) && std::abs(found->second) < kLimit) return static_cast<std::int64_t>(found->second);
  }
  if (const auto found = texts.find(name); found != texts.end()) return parse_integer(found->second);
  return std::nullopt;
}

std::string Attributes::text(std::string_view name) const {
  if (const auto found = texts.find(name); found != texts.end()) return found->second;
  if (const auto found = integers.find(name); found != integers.end()) return fmt::format("{}", found->second);
  return {};
}

}  // namespace weft::work::chakra
