#include "sim/workloads/pair_sizes_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/collectives/call.h"
#include "sim/core/config/quantity.h"
#include "sim/core/error.h"
#include "sim/core/used_files.h"

namespace weft::work {
namespace {

constexpr std::size_t kMostWrongSizes = 20;  // that are told

// The sizes read so far, and what is wrong with the table, whatever it is written in.
class SizeTable {
 public:
  SizeTable(int ranks, Diagnostics& diagnostics) : ranks_{ranks}, diagnostics_{diagnostics}, errors_{errors()} {
    received_.resize(static_cast<std::size_t>(ranks));
  }

  // `tell(message)` makes the error about the row, `tell_of(column, message)` that about one of its sizes.
  template <class Texts, class Tell, class TellOf>
  void add_row(const Texts& texts, const Tell& tell, const TellOf& tell_of) {
    ++rows_;
    if (texts.size() != received_.size()) {
      const char* plural = texts.size() == 1 ? "" : "s";
      diagnostics_.error(
          tell(fmt::format("row {} has {} size{}: expected one for each of {} ranks", rows_, texts.size(), plural, ranks_)));
      return;
    }
    std::int64_t sent = 0;
    for (std::size_t column = 0; column < texts.size() && !is_full(); ++column) {
      const auto size = parse_size(texts[column]);
      if (!size || *size < Bytes{}) {
        const bool is_too_large = parse_number(texts[column]).value_or(0) > 0;
        const std::string expected = is_too_large ? fmt::format("whole bytes, at most {}", to_string(coll::kLargestCall))
                                                  : "a size of 0 bytes or more, as 4096 or 64K";
        diagnostics_.error(tell_of(column, fmt::format("expected {}, got '{}'", expected, texts[column])));
        continue;
      }
      bytes_.push_back(size->count());
      std::int64_t& received = received_[column];
      const std::int64_t most = coll::kLargestCall.count();
      if (size->count() <= most - std::max(sent, received)) {
        sent += size->count();
        received += size->count();
        continue;
      }
      const std::string whose = size->count() > most          ? "one pair has"
                                : size->count() > most - sent ? fmt::format("rank {} sends", rows_ - 1)
                                                              : fmt::format("rank {} receives", column);
      diagnostics_.error(tell_of(column, fmt::format("{} more than {}", whose, to_string(coll::kLargestCall))));
    }
  }

  [[nodiscard]] bool is_full() const { return errors() - errors_ >= kMostWrongSizes; }

  // `tell(message)` makes an error about the whole table.
  template <class Tell>
  std::shared_ptr<const coll::PairSizes> finish(const Tell& tell) {
    if (errors() > errors_) return nullptr;
    if (rows_ != ranks_) {
      diagnostics_.error(
          tell(fmt::format("{} row{}: expected one for each of {} ranks", rows_, rows_ == 1 ? "" : "s", ranks_)));
      return nullptr;
    }
    return std::make_shared<const coll::PairSizes>(ranks_, std::move(bytes_));
  }

 private:
  [[nodiscard]] std::size_t errors() const { return diagnostics_.errors().size(); }

  int ranks_;
  Diagnostics& diagnostics_;
  std::size_t errors_;
  int rows_ = 0;
  std::vector<std::int64_t> bytes_;
  std::vector<std::int64_t> received_;
};

std::shared_ptr<const coll::PairSizes> read_lists(const ConfigNode& node, int ranks, Diagnostics& diagnostics) {
  if (!node.is_list()) {
    diagnostics.error(node.diagnostic(fmt::format("expected a list of {} lists of sizes, got {}", ranks, found_text(node))));
    return nullptr;
  }
  SizeTable table{ranks, diagnostics};
  std::vector<std::string> texts;
  for (std::size_t row = 0; row < node.size() && !table.is_full(); ++row) {
    const ConfigNode of_row = node[row];
    if (!of_row.is_list()) {
      diagnostics.error(of_row.diagnostic(fmt::format("expected a list of {} sizes, got {}", ranks, found_text(of_row))));
      continue;
    }
    texts.clear();
    for (std::size_t column = 0; column < of_row.size(); ++column) texts.push_back(of_row[column].scalar());
    table.add_row(
        texts, [&](std::string message) { return of_row.diagnostic(std::move(message)); },
        [&](std::size_t column, std::string message) { return of_row[column].diagnostic(std::move(message)); });
  }
  return table.finish([&](std::string message) { return node.diagnostic(std::move(message)); });
}

}  // namespace

std::shared_ptr<const coll::PairSizes> read_pair_sizes(const std::filesystem::path& file, int ranks, Diagnostics& diagnostics) {
  std::ifstream input = open_input(file);
  if (!input) throw ConfigError(fmt::format("cannot read '{}': no such file", file.string()));
  const std::string kind = file.extension().string();
  if ((input >> std::ws).peek() == '[' || kind == ".json" || kind == ".yaml" || kind == ".yml")
    return read_lists(ConfigNode::load_file(file, "sizes"), ranks, diagnostics);
  input.clear();
  input.seekg(0);
  SizeTable table{ranks, diagnostics};
  std::string line;
  std::vector<std::string_view> texts;
  constexpr std::string_view kBetween = " \t\r,;";
  int number = 0;
  const auto tell = [&](std::size_t column, std::size_t length, std::string message) {
    return Diagnostic{.where = {file.string(), number, static_cast<int>(column) + 1},
                      .message = std::move(message),
                      .source_line = line,
                      .length = static_cast<int>(length),
                      .note = {}};
  };
  while (!table.is_full() && std::getline(input, line)) {
    ++number;
    const std::size_t first = line.find_first_not_of(kBetween);
    if (first == std::string::npos || line[first] == '#') continue;
    texts.clear();
    const std::string_view text = line;
    for (std::size_t at = first; at != std::string::npos;) {
      const std::size_t end = std::min(text.find_first_of(kBetween, at), text.size());
      texts.push_back(text.substr(at, end - at));
      at = text.find_first_not_of(kBetween, end);
    }
    table.add_row(
        texts, [&](std::string message) { return tell(first, 1, std::move(message)); },
        [&](std::size_t column, std::string message) {
          return tell(static_cast<std::size_t>(texts[column].data() - text.data()), texts[column].size(), std::move(message));
        });
  }
  line.clear();
  return table.finish([&](std::string message) { return tell(0, 1, std::move(message)); });
}

std::shared_ptr<const coll::PairSizes> read_pair_sizes(const ConfigNode& node, int ranks, Diagnostics& diagnostics) {
  return node.is_scalar() ? read_pair_sizes(referenced_file(node), ranks, diagnostics) : read_lists(node, ranks, diagnostics);
}

}  // namespace weft::work
