#include "sim/network/import/nvidia_smi_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace weft::net::smi {
namespace {

std::vector<Token> split(std::string_view line, std::size_t offset) {
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < line.size();) {
    if (line[i] == '\x1b') {  // colour and underline: ESC [ ... letter
      while (i < line.size() && !(line[i] >= 'A' && line[i] <= 'Z') && !(line[i] >= 'a' && line[i] <= 'z')) ++i;
      ++i;
      continue;
    }
    if (line[i] == ' ' || line[i] == '\t' || line[i] == '\r') {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < line.size() && line[end] != ' ' && line[end] != '\t' && line[end] != '\r' && line[end] != '\x1b') ++end;
    tokens.push_back({line.substr(i, end - i), offset + i});
    i = end;
  }
  return tokens;
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

constexpr std::size_t kMostDevices = 1024;
constexpr int kMostNvlinks = 256;

class MatrixReader {
 public:
  explicit MatrixReader(const SourceText& source) : source_{source} {}

  Matrix read() {
    const std::string_view text = source_.text();
    refuse_other_tools(text);
    bool in_matrix = false;
    for (std::size_t start = 0; start < text.size();) {
      const std::size_t end = std::min(text.find('\n', start), text.size());
      const std::vector<Token> tokens = split(text.substr(start, end - start), start);
      if (columns_.empty()) {
        if (!tokens.empty() && is_gpu(tokens.front().text)) read_header(tokens);
        in_matrix = !columns_.empty();
      } else if (in_matrix && !is_row(tokens)) {
        in_matrix = false;
      } else if (in_matrix) {
        read_row(tokens);
      } else if (tokens.size() == 2 && tokens.front().text.starts_with("NIC") && tokens.front().text.ends_with(":")) {
        matrix_.nic_names.emplace(tokens.front().text.substr(0, tokens.front().text.size() - 1), tokens[1].text);
      }
      start = end + 1;
    }
    if (columns_.empty()) fail({"", 0}, "no matrix of 'nvidia-smi topo -m': expected a header line of GPU0, GPU1, ...");
    check();
    if (!errors_.empty()) throw ConfigError(errors_);
    return std::move(matrix_);
  }

 private:
  // Other tools print their GPUs with words of theirs.
  void refuse_other_tools(std::string_view text) const {
    struct Tool {
      std::string_view words, name;
    };
    constexpr Tool kTools[] = {{"between two GPUs", "rocm-smi --showtopo"},
                               {"LINK TYPE TABLE", "amd-smi topology"},
                               {"ACCESS TABLE", "amd-smi topology"},
                               {"NPU0", "npu-smi info -t topo"},
                               {"GPU 0/0", "xpu-smi topology -m"},
                               {"MLU0", "cnmon topo"},
                               {"MetaXLink", "mx-smi topo -m"},
                               {"MTLink", "mthreads-gmi topo -m"}};
    for (const Tool& tool : kTools) {
      const std::size_t at = text.find(tool.words);
      if (at == std::string_view::npos) continue;
      throw ConfigError(
          {source_.at(at, fmt::format("the tables of `{}` are not read, only the matrix of `nvidia-smi topo -m`", tool.name),
                      static_cast<int>(tool.words.size()),
                      "the topology file of NCCL or RCCL is read: NCCL_TOPO_DUMP_FILE=topo.xml writes it in any job")});
    }
  }

  void fail(const Token& at, std::string message, std::string note = {}) {
    errors_.push_back(
        source_.at(at.offset, std::move(message), static_cast<int>(std::max<std::size_t>(at.text.size(), 1)), std::move(note)));
  }

  void read_header(const std::vector<Token>& tokens) {
    for (const Token& token : tokens) {
      if (token.text == "CPU" || token.text == "NUMA") break;
      if (columns_.size() == kMostDevices)
        throw ConfigError({source_.at(token.offset, fmt::format("more than {} devices", kMostDevices))});
      if (std::ranges::find(columns_, token.text, &Token::text) != columns_.end())
        fail(token, fmt::format("column '{}' is given twice", token.text));
      columns_.push_back(token);
    }
    if (columns_.size() >= 2 && parse(columns_[1].text)) {
      throw ConfigError(
          {source_.at(columns_[0].offset, fmt::format("a row of '{}' without a header line above it", columns_[0].text))});
    }
  }

  static std::optional<std::pair<Cell, int>> parse(std::string_view text) {
    constexpr std::pair<std::string_view, Cell> kCells[] = {{"X", Cell::kSelf},  {"PIX", Cell::kPix},   {"PXB", Cell::kPxb},
                                                            {"PHB", Cell::kPhb}, {"NODE", Cell::kNode}, {"SYS", Cell::kSys},
                                                            {"SOC", Cell::kSys}};  // the name of SYS before driver 384

    for (const auto& [name, cell] : kCells) {
      if (text == name) return std::pair{cell, 0};
    }
    if (text.starts_with("NV")) {
      const auto count = number(text.substr(2));
      if (count && *count > 0 && *count <= kMostNvlinks) return std::pair{Cell::kNvlink, *count};
    }
    return std::nullopt;
  }

  // The line is a device's, or has a class where those of a device are; anything else ends the matrix.
  [[nodiscard]] bool is_row(const std::vector<Token>& tokens) const {
    if (tokens.empty()) return false;
    const std::string_view name = tokens.front().text;
    return is_gpu(name) || std::ranges::find(columns_, name, &Token::text) != columns_.end() ||
           (tokens.size() > 1 && parse(tokens[1].text));
  }

  void read_row(const std::vector<Token>& tokens) {
    Row row;
    row.name = tokens.front();
    if (std::ranges::find(columns_, row.name.text, &Token::text) == columns_.end()) {
      return fail(row.name, fmt::format("row '{}' has no column of that name", row.name.text));
    }
    if (std::ranges::any_of(matrix_.rows, [&](const Row& r) { return r.name.text == row.name.text; })) {
      return fail(row.name, fmt::format("row '{}' is given twice", row.name.text));
    }
    if (tokens.size() - 1 < columns_.size()) {
      return fail(row.name, fmt::format("row '{}' has {} cells, the header has {} columns", row.name.text, tokens.size() - 1,
                                        columns_.size()));
    }
    bool good = true;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Token& token = tokens[i + 1];
      const auto cell = parse(token.text);
      if (!cell) {
        fail(token, fmt::format("{} to {}: unknown class '{}'", row.name.text, columns_[i].text, token.text),
             "classes: X, NV1 to NV256, PIX, PXB, PHB, NODE, SYS");
        good = false;
        continue;
      }
      row.cells.push_back(cell->first);
      row.nvlinks.push_back(cell->second);
      row.tokens.push_back(token);
    }
    // After the cells: CPU affinity, NUMA affinity, GPU NUMA id, of GPUs only.
    const std::size_t rest = columns_.size() + 1;
    if (tokens.size() > rest) row.cpu_affinity = std::string{tokens[rest].text};
    if (tokens.size() > rest + 1) row.numa = number(tokens[rest + 1].text);
    if (good) matrix_.rows.push_back(std::move(row));
  }

  void check() {
    if (!errors_.empty()) return;
    std::vector<Row> ordered;
    for (const Token& column : columns_) {
      const auto row = std::ranges::find_if(matrix_.rows, [&](const Row& r) { return r.name.text == column.text; });
      if (row == matrix_.rows.end()) {
        fail(column, fmt::format("column '{}' has no row", column.text));
      } else {
        ordered.push_back(*row);
      }
    }
    if (!errors_.empty()) return;
    for (std::size_t i = 0; i < ordered.size(); ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        const Token& here = ordered[i].tokens[j];
        const Token& there = ordered[j].tokens[i];
        if ((ordered[i].cells[j] == Cell::kSelf) != (i == j)) {
          fail(here, fmt::format("{} to {}: {}", columns_[i].text, columns_[j].text,
                                 i == j ? fmt::format("expected X, got '{}'", here.text) : "X between two devices"));
        } else if (here.text != there.text) {
          fail(here, fmt::format("{} to {} is {}, but {} back", columns_[i].text, columns_[j].text, here.text, there.text));
        }
      }
    }
    matrix_.rows = std::move(ordered);
  }

  const SourceText& source_;
  std::vector<Token> columns_;
  Matrix matrix_;
  std::vector<Diagnostic> errors_;
};

}  // namespace

bool is_gpu(std::string_view name) { return name.starts_with("GPU") && number(name.substr(3)).has_value(); }

Matrix read_matrix(const SourceText& source) { return MatrixReader{source}.read(); }

}  // namespace weft::net::smi
