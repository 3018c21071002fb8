// libFuzzer's entry for all readers; which one is fuzzed is said by --target=NAME, which libFuzzer itself lets pass.
//
//   fuzz_readers --target=goal tests/fuzz/corpus/goal -max_total_time=60
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/fuzz/one_input.h"

namespace {

std::string& fuzzed_target() {
  static std::string target;
  return target;
}

bool knows(std::string_view target) {
  const auto names = weft::fuzz::target_names();
  return std::ranges::find(names, target) != names.end();
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr std::string_view kFlag = "--target=";
  for (int i = 1; i < *argc; ++i) {
    const std::string_view argument{(*argv)[i]};
    if (argument.starts_with(kFlag)) fuzzed_target() = argument.substr(kFlag.size());
  }
  if (!knows(fuzzed_target())) {
    std::fprintf(stderr, "there is no --target=%s\n", fuzzed_target().c_str());
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::fuzz::read_input(fuzzed_target(), {reinterpret_cast<const char*>(data), size});
  return 0;
}
