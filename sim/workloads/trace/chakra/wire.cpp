#include "sim/workloads/trace/chakra/wire.h"

namespace weft::work {
namespace {

constexpr int kVarintBits = 7;

}  // namespace

std::optional<std::uint64_t> read_varint(std::string_view bytes, std::size_t& at) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += kVarintBits) {
    if (at >= bytes.size()) return std::nullopt;
    const auto byte = static_cast<std::uint8_t>(bytes[at++]);
    if (shift == 63 && byte > 1) return std::nullopt;
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if ((byte & 0x80U) == 0) return value;
  }
  return std::nullopt;
}

bool WireReader::fail(const char* what) {
  damage_ = what;
  return false;
}

bool WireReader::next(WireField& field) {
  if (damage_ != nullptr || at_ >= message_.size()) return false;
  const auto tag = read_varint(message_, at_);
  if (!tag) return fail("a field's tag is cut or too long");
  field.number = static_cast<std::uint32_t>(*tag >> 3U);
  if ((*tag >> 3U) == 0 || (*tag >> 3U) > 536'870'911) return fail("there is no field of that number");
  field.type = static_cast<WireType>(*tag & 7U);
  field.value = 0;
  field.bytes = {};
  switch (field.type) {
    case WireType::kVarint: {
      const auto value = read_varint(message_, at_);
      if (!value) return fail("a number is cut or too long");
      field.value = *value;
      return true;
    }
    case WireType::kBytes: {
      const auto length = read_varint(message_, at_);
      if (!length || *length > message_.size() - at_) return fail("a field reaches past the end of its message");
      field.bytes = message_.substr(at_, *length);
      at_ += *length;
      return true;
    }
    case WireType::kFixed64:
    case WireType::kFixed32: {
      const std::size_t size = field.type == WireType::kFixed64 ? 8 : 4;
      if (message_.size() - at_ < size) return fail("a number is cut");
      for (std::size_t i = 0; i < size; ++i) {
        field.value |= std::uint64_t{static_cast<std::uint8_t>(message_[at_ + i])} << (8 * i);
      }
      at_ += size;
      return true;
    }
  }
  return fail("a field of a wire type that there is not");
}

bool append_varints(const WireField& field, std::vector<std::uint64_t>& values) {
  if (field.type == WireType::kVarint) {
    values.push_back(field.value);
    return true;
  }
  if (field.type != WireType::kBytes) return false;
  for (std::size_t at = 0; at < field.bytes.size();) {
    const auto value = read_varint(field.bytes, at);
    if (!value) return false;
    values.push_back(*value);
  }
  return true;
}

void WireWriter::append_varint(std::string& text, std::uint64_t value) {
  while (value >= 0x80U) {
    text.push_back(static_cast<char>((value & 0x7FU) | 0x80U));
    value >>= kVarintBits;
  }
  text.push_back(static_cast<char>(value));
}

void WireWriter::varint(std::uint32_t number, std::uint64_t value) {
  append_varint(text_, std::uint64_t{number} << 3U);
  append_varint(text_, value);
}

void WireWriter::bytes(std::uint32_t number, std::string_view value) {
  append_varint(text_, (std::uint64_t{number} << 3U) | 2U);
  append_varint(text_, value.size());
  text_ += value;
}

void WireWriter::packed(std::uint32_t number, const std::vector<std::uint64_t>& values) {
  if (values.empty()) return;
  std::string list;
  for (const std::uint64_t value : values) append_varint(list, value);
  bytes(number, list);
}

}  // namespace weft::work
