// The MPI module: libweft_mpi.so, the only part of Weft that is linked with MPI. `weft sweep` loads it when it finds itself
// started by mpirun. Plain C calls of MPI 2; one thread of each process calls them.
#include "sim/planning/sweep/mpi_module.h"

#include <mpi.h>

#include <climits>
#include <list>
#include <string>

namespace {

constexpr int kTag = 1;

// Sends that are under way, with the bytes they read from.
struct Outgoing {
  std::string bytes;
  MPI_Request request = MPI_REQUEST_NULL;
};
std::list<Outgoing> outgoing;

void forget_sent() {
  outgoing.remove_if([](Outgoing& message) {
    int done = 0;
    MPI_Test(&message.request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  });
}

int start() {
  int given = 0;
  return MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given) == MPI_SUCCESS && given >= MPI_THREAD_FUNNELED ? 0 : 1;
}

int rank() {
  int mine = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &mine);
  return mine;
}

int size() {
  int all = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  return all;
}

int send(int to, const char* bytes, std::size_t count) {
  if (count > INT_MAX) return 1;
  forget_sent();
  Outgoing& message = outgoing.emplace_back();
  message.bytes.assign(bytes, count);
  return MPI_Isend(message.bytes.data(), static_cast<int>(count), MPI_CHAR, to, kTag, MPI_COMM_WORLD, &message.request) ==
                 MPI_SUCCESS
             ? 0
             : 1;
}

long probe(int* from) {
  forget_sent();
  int there = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &there, &status);
  if (there == 0) return -1;
  int count = 0;
  MPI_Get_count(&status, MPI_CHAR, &count);
  *from = status.MPI_SOURCE;
  return count;
}

int take(int from, char* bytes, std::size_t count) {
  return MPI_Recv(bytes, static_cast<int>(count), MPI_CHAR, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS ? 0
                                                                                                                          : 1;
}

void stop() {
  for (Outgoing& message : outgoing) MPI_Wait(&message.request, MPI_STATUS_IGNORE);
  outgoing.clear();
  MPI_Finalize();
}

void abort_all(int exit_status) { MPI_Abort(MPI_COMM_WORLD, exit_status); }

constexpr WeftMpi kModule{start, rank, size, send, probe, take, stop, abort_all};

}  // namespace

extern "C" const WeftMpi* weft_mpi_module() { return &kModule; }
