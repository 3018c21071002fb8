// One rank's Chakra execution trace as it is written (models/workloads §5.1), protobuf or JSON. What it means as a Program is
// formats/chakra.cpp's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/workloads/trace/trace_format.h"

namespace weft::work::chakra {

enum class NodeType : std::uint8_t { kInvalid, kMetadata, kMemLoad, kMemStore, kComp, kSend, kReceive, kCollective };
inline constexpr std::uint64_t kNodeTypes = 8;

// Attributes, by the wire: numbers of integer kinds, of real kinds, text, lists of integers and of text.
struct Attributes {
  std::map<std::string, std::int64_t, std::less<>> integers = {};
  std::map<std::string, double, std::less<>> reals = {};
  std::map<std::string, std::string, std::less<>> texts = {};
  std::map<std::string, std::vector<std::int64_t>, std::less<>> lists = {};
  std::map<std::string, std::vector<std::string>, std::less<>> text_lists = {};

  // Whole numbers of any kind that holds one, a text of digits too; nothing where there is none.
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name) const;
  [[nodiscard]] std::string text(std::string_view name) const;  // a number's digits; empty where there is none
};

struct Node {
  std::uint64_t id = 0;
  std::string name = {};
  NodeType type = NodeType::kInvalid;
  std::vector<std::uint64_t> waits = {};  // data and control dependencies
  std::uint64_t start_us = 0;
  double duration_us = 0;
  std::string input_values = {};
  Attributes attributes = {};
};

struct FileReader {
  std::function<void(const Attributes&)> on_metadata;
  std::function<void(Node&)> on_node;
};

// By what the file begins with. ConfigError, with the byte or the node, for whatever is damaged.
void read_file(const std::filesystem::path& file, const TraceReadOptions& options, const FileReader& reader);
void read_protobuf(const std::filesystem::path& file, const TraceReadOptions& options, const FileReader& reader);
void read_json(const std::filesystem::path& file, const TraceReadOptions& options, const FileReader& reader);

// Whether the first bytes are those of a protobuf trace: GlobalMetadata or a Node, behind its length.
[[nodiscard]] bool looks_like_protobuf(std::string_view head);
[[nodiscard]] bool looks_like_json(std::string_view head);

inline constexpr std::size_t kPiece = std::size_t{1} << 16;  // bytes of a file read at a time

[[noreturn]] void fail(const std::filesystem::path& file, std::string message, std::string note = {});

}  // namespace weft::work::chakra
