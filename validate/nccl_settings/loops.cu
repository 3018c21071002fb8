// Times NCCL's collectives in loops, as nccl-tests does: a process with some threads of some GPUs each, so many calls of a loop
// in one group, NCCL set by the environment. Prints nccl-tests' text, which `weft validate` reads. measure.sh beside it says
// what for.
//
//   loops all_reduce|all_gather|alltoall|sendrecv THREADS GPUS_OF_A_THREAD CALLS_OF_A_GROUP
#include <nccl.h>

#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

extern char** environ;

namespace {

constexpr std::size_t kSmallest = 64;
constexpr std::size_t kLargest = std::size_t{1} << 29;
constexpr int kWarmup = 5;

struct Gpu {
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  float* sends = nullptr;
  float* receives = nullptr;
};

void call(const std::string& kind, const std::vector<Gpu>& gpus, int rank, std::size_t at, std::size_t count) {
  const Gpu& gpu = gpus[rank];
  const int ranks = static_cast<int>(gpus.size());
  float* from = gpu.sends + at;
  float* to = gpu.receives + at;
  if (kind == "all_reduce") ncclAllReduce(from, to, count, ncclFloat, ncclSum, gpu.comm, gpu.stream);
  if (kind == "all_gather") ncclAllGather(from, to, count, ncclFloat, gpu.comm, gpu.stream);
  for (int peer = 0; peer < ranks; ++peer) {
    const bool all = kind == "alltoall";
    const std::size_t offset = all ? count * peer : 0;
    if (all || (kind == "sendrecv" && peer == (rank + 1) % ranks))
      ncclSend(from + offset, count, ncclFloat, peer, gpu.comm, gpu.stream);
    if (all || (kind == "sendrecv" && rank == (peer + 1) % ranks))
      ncclRecv(to + offset, count, ncclFloat, peer, gpu.comm, gpu.stream);
  }
}

void print_head(const std::string& kind, int threads, int each, int together) {
  int version = 0;
  ncclGetVersion(&version);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "NCCL_", 5) == 0) std::printf("# env %s\n", *entry);
  }
  std::printf("# nccl-tests version 2.17.1 nccl-headers=%d nccl-library=%d\n# Collective test starting: %s_perf\n", version,
              version, kind.c_str());
  std::printf(
      "# nThread %d nGpus %d minBytes %zu maxBytes %zu step: 2(factor) warmup iters: %d iters: 200 agg iters: %d "
      "validation: 0 graph: 0\n#\n# Using devices\n",
      threads, each, kSmallest, kLargest, kWarmup, together);
  for (int rank = 0; rank < threads * each; ++rank) {
    cudaDeviceProp properties{};
    cudaGetDeviceProperties(&properties, rank);
    std::printf("#  Rank %2d Group  0 Pid 1 on node device %2d [0x00] %s\n", rank, rank, properties.name);
  }
  std::printf(
      "#\n#       size         count      type   redop    root     time   algbw   busbw  #wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)\n");
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) return 2;
  const std::string kind = arguments[1];
  const int threads = std::atoi(arguments[2]);
  const int each = std::atoi(arguments[3]);
  const int together = std::atoi(arguments[4]);
  const int ranks = threads * each;
  std::vector<ncclComm_t> comms(ranks);
  if (ncclCommInitAll(comms.data(), ranks, nullptr) != ncclSuccess) return 1;
  std::vector<Gpu> gpus(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    Gpu& gpu = gpus[rank];
    gpu.comm = comms[rank];
    cudaSetDevice(rank);
    cudaMalloc(&gpu.sends, kLargest);
    cudaMalloc(&gpu.receives, kLargest);
    cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking);
  }
  print_head(kind, threads, each, together);
  std::barrier all{threads};
  const auto work = [&](int thread) {
    const int first = thread * each;
    cudaSetDevice(first);
    for (std::size_t bytes = kSmallest; bytes <= kLargest; bytes *= 2) {
      const std::size_t elements = bytes / 4 / (kind == "all_gather" || kind == "alltoall" ? ranks : 1);
      // Calls walk through the buffers, so that large ones find no data in caches.
      const auto loop = [&](int calls) {
        for (int i = 0; i < calls; ++i) {
          ncclGroupStart();
          for (int j = 0; j < together; ++j) {
            const std::size_t at = bytes * ((i * together + j) % (kLargest / bytes)) / 4;
            for (int rank = first; rank < first + each; ++rank) call(kind, gpus, rank, at, elements);
          }
          ncclGroupEnd();
        }
        for (int rank = first; rank < first + each; ++rank) cudaStreamSynchronize(gpus[rank].stream);
      };
      const int calls = bytes < (1 << 20) ? 200 : bytes < (1 << 26) ? 30 : 10;
      loop(kWarmup);
      all.arrive_and_wait();
      const auto begin = std::chrono::steady_clock::now();
      loop(calls);
      const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
      all.arrive_and_wait();
      if (thread != 0) continue;
      const double us = took.count() / calls / together;
      std::printf("%12zu %13zu     float %7s      -1 %8.2f %7.2f    0.00    N/A\n", bytes, elements,
                  kind == "all_reduce" ? "sum" : "none", us, static_cast<double>(bytes) / us / 1e3);
      std::fflush(stdout);
    }
  };
  std::vector<std::thread> team;
  for (int thread = 0; thread < threads; ++thread) team.emplace_back(work, thread);
  for (std::thread& thread : team) thread.join();
}
