// One row of nccl-tests' table, read by the columns that its header names.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/words.h"
#include "sim/measured/readers/nccl_tests_log.h"

namespace weft::measured::detail {

enum class Column { kSize, kCount, kType, kRedop, kRoot, kTime, kAlgbw, kBusbw, kWrong, kIgnored };
using Layout = std::vector<Column>;

// The layout that a header line ("size count type redop root time ...") states; empty if the words are no such header.
Layout layout_of_header(const std::vector<Word>& words);

// A layout for rows whose header is missing, from their number of words; empty if none fits.
Layout layout_of_row(const std::vector<Word>& words);

enum class RowState {
  kNotARow,
  kIncomplete,  // words are missing at the end; what is there is sound
  kHalf,        // only the first half of a row that could have two
  kComplete,
  kGarbled,
};

struct RowReading {
  RowState state = RowState::kNotARow;
  NcclTestsRow row;           // of kComplete and kHalf
  std::string message;        // of kGarbled
  std::size_t at = 0;         // of kGarbled: where in the line
  std::size_t length = 1;     // of kGarbled: characters
  bool is_last_word = false;  // of kGarbled: nothing but the last word is wrong, as in a file cut there
};

// `after_header`: within the table. Before it, only what is certainly a row is taken for one.
RowReading read_row(std::string_view line, const Layout& layout, bool after_header);

// Numbers and N/A only: what the rest of a torn row consists of.
bool continues_row(const std::vector<Word>& words);

}  // namespace weft::measured::detail
