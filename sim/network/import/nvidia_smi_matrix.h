// The matrix of `nvidia-smi topo -m` as it is written: devices, and a class for every pair. What it means as a topology is
// nvidia_smi.cpp's. Private to import/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/network/import/source_text.h"

namespace weft::net::smi {

// How far apart two devices are by PCIe, as the matrix says it; kNvlink hides it.
enum class Cell : std::uint8_t { kSelf, kPix, kPxb, kPhb, kNode, kSys, kNvlink };

struct Token {
  std::string_view text;
  std::size_t offset = 0;
};

struct Row {
  Token name;
  std::vector<Cell> cells;
  std::vector<int> nvlinks;
  std::vector<Token> tokens;  // of the cells
  std::optional<int> numa;
  std::string cpu_affinity;
};

struct Matrix {
  std::vector<Row> rows;  // in the order of the columns
  std::map<std::string, std::string, std::less<>> nic_names;
};

// "GPU0".
[[nodiscard]] bool is_gpu(std::string_view name);

// ConfigError with every error found; a matrix that comes back is square and the same both ways.
[[nodiscard]] Matrix read_matrix(const SourceText& source);

}  // namespace weft::net::smi
