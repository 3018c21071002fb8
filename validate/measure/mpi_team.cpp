#include "mpi_team.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace weft::measure {
namespace {

std::optional<int> number_in(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const char* text = std::getenv(name)) return std::atoi(text);
  }
  return std::nullopt;
}

// Handles are pointers in Open MPI and integers in MPICH; both travel in one register.
using Handle = void*;
Handle from_number(std::uintptr_t number) { return reinterpret_cast<Handle>(number); }

class MpiLibrary {
 public:
  MpiLibrary() {
    for (const char* name : {"libmpi.so.40", "libmpi.so.12", "libmpi.so", "libmpich.so.12", "libmpich.so"}) {
      library_ = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
      if (library_ != nullptr) break;
    }
    if (library_ == nullptr) throw std::runtime_error("started under an MPI launcher, but no libmpi can be opened");
    Handle open_mpi_world = dlsym(library_, "ompi_mpi_comm_world");
    world = open_mpi_world != nullptr ? open_mpi_world : from_number(0x44000000);
    byte = open_mpi_world != nullptr ? dlsym(library_, "ompi_mpi_byte") : from_number(0x4c00010d);
    bind(init, "MPI_Init");
    bind(finalize, "MPI_Finalize");
    bind(comm_rank, "MPI_Comm_rank");
    bind(comm_size, "MPI_Comm_size");
    bind(barrier, "MPI_Barrier");
    bind(bcast, "MPI_Bcast");
    bind(allgather, "MPI_Allgather");
  }

  Handle world = nullptr;
  Handle byte = nullptr;
  int (*init)(int*, char***) = nullptr;
  int (*finalize)() = nullptr;
  int (*comm_rank)(Handle, int*) = nullptr;
  int (*comm_size)(Handle, int*) = nullptr;
  int (*barrier)(Handle) = nullptr;
  int (*bcast)(void*, int, Handle, int, Handle) = nullptr;
  int (*allgather)(const void*, int, Handle, void*, int, Handle, Handle) = nullptr;

 private:
  template <class Function>
  void bind(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    if (function == nullptr) throw std::runtime_error(std::string{"the MPI library has no "} + name);
  }

  void* library_ = nullptr;
};

class MpiTeam final : public Team {
 public:
  MpiTeam(std::unique_ptr<MpiLibrary> library, int rank, int size) : Team{rank, size}, library_{std::move(library)} {}
  ~MpiTeam() override { library_->finalize(); }

  void barrier() override { library_->barrier(library_->world); }
  void broadcast(void* data, std::size_t bytes) override {
    library_->bcast(data, static_cast<int>(bytes), library_->byte, 0, library_->world);
  }
  std::vector<double> gather(double value) override {
    std::vector<double> values(static_cast<std::size_t>(size()));
    constexpr int kBytes = sizeof(double);
    library_->allgather(&value, kBytes, library_->byte, values.data(), kBytes, library_->byte, library_->world);
    return values;
  }

 private:
  std::unique_ptr<MpiLibrary> library_;
};

}  // namespace

std::optional<MpiPlace> mpi_place() {
  const std::optional<int> ranks = number_in({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"});
  if (!ranks || *ranks < 2) return std::nullopt;
  const std::optional<int> local =
      number_in({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"});
  return MpiPlace{.ranks = *ranks, .local_rank = local.value_or(0)};
}

std::unique_ptr<Team> make_mpi_team() {
  auto library = std::make_unique<MpiLibrary>();
  library->init(nullptr, nullptr);
  int rank = 0;
  int size = 1;
  library->comm_rank(library->world, &rank);
  library->comm_size(library->world, &size);
  return std::make_unique<MpiTeam>(std::move(library), rank, size);
}

}  // namespace weft::measure
