// The MPI module's exports, in C, so that it needs nothing of Weft and Weft nothing of MPI.
#pragma once

#include <cstddef>

struct WeftMpi {
  int (*start)();  // 0: fine
  int (*rank)();
  int (*size)();
  int (*send)(int to, const char* bytes, std::size_t count);  // keeps its own copy; 0: fine
  // Length of the next message, and who sent it; -1: there is none. It is then taken with `take`, which fills that many bytes.
  long (*probe)(int* from);
  int (*take)(int from, char* bytes, std::size_t count);
  void (*stop)();  // waits until all messages have left
  void (*abort)(int exit_status);
};

extern "C" const WeftMpi* weft_mpi_module();
