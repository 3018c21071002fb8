// A user of Weft as a library writes this; the expected output stands in package_test.cmake.
#include <iostream>

#include "sim/core/error.h"
#include "sim/core/units.h"
#include "sim/core/version.h"

using namespace weft::literals;

int main() {
  std::cout << "weft " << weft::version() << '\n';
  // 65536 B * 8 b / 400 Gb/s = 1310.72 ns.
  std::cout << "64 KiB at 400 Gb/s: " << weft::transmission_time(64_KiB, 400_Gbps).ps() << " ps\n";
  weft::Diagnostic error;
  error.where = {.file = "pod.yaml", .line = 3, .column = 5};
  error.message = "no such key";
  std::cout << weft::format(error);
}
