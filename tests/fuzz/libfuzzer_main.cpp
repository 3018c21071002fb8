// libFuzzer's entry for all formats; which one is fuzzed is said by --format=NAME, which libFuzzer itself lets pass.
//
//   fuzz_readers --format=goal tests/fuzz/corpus/goal -max_total_time=60
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "sim/core/error.h"
#include "sim/workloads/trace/trace_format.h"
#include "tests/fuzz/one_input.h"

namespace {

std::string& fuzzed_format() {
  static std::string format;
  return format;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr std::string_view kFlag = "--format=";
  for (int i = 1; i < *argc; ++i) {
    const std::string_view argument{(*argv)[i]};
    if (argument.starts_with(kFlag)) fuzzed_format() = argument.substr(kFlag.size());
  }
  try {
    static_cast<void>(weft::work::trace_format(fuzzed_format()));
  } catch (const weft::ConfigError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::fuzz::read_input(fuzzed_format(), {reinterpret_cast<const char*>(data), size});
  return 0;
}
