// Launchers (mpirun, srun, pdsh, kubectl) write host names, ranks or time stamps before what a program prints: before each
// line, and with mpirun before each flush, in the middle of a row.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft::measured::detail {

// Finds a launcher's text by the lines that only nccl-tests prints: it is what stands before their '#'. Digits and letters of
// it may differ from line to line, as those of time stamps and ranks do.
class LauncherText {
 public:
  struct Piece {
    std::size_t at = 0;  // offset in the file's line
    std::string_view text;
  };

  // The program's own text in the file's line. A line that `continues` one without a launcher's text has none either. The
  // pieces point into `line`; the first one always exists.
  std::vector<Piece> pieces(std::string_view line, bool continues);

 private:
  void learn(std::string_view line);

  std::string example_;  // empty: no such line was met
};

}  // namespace weft::measured::detail
