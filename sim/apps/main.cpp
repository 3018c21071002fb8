// The program `weft`.
#include <cstdio>

#include "sim/apps/command.h"
#include "sim/apps/program.h"

int main(int argc, char** argv) {
  try {
    return weft::apps::run_program(argc, argv);
  } catch (...) {
    std::fputs("internal error: this is a bug of weft, please report it\n", stderr);
    return weft::apps::kOurBug;
  }
}
