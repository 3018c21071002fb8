// libFuzzer's entry for one format, which the build names (WEFT_FUZZ_FORMAT).
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/one_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::fuzz::read_input(WEFT_FUZZ_FORMAT, {reinterpret_cast<const char*>(data), size});
  return 0;
}
