#include "sim/planning/sweep/messenger.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "sim/core/config/quantity.h"
#include "sim/core/error.h"
#include "sim/planning/sweep/mpi_module.h"

namespace weft::plan {
namespace {

namespace fs = std::filesystem;

// Open MPI, MPICH and Intel MPI, MVAPICH, and what PMIx sets under Slurm.
constexpr const char* kLaunched[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "PMIX_RANK"};
constexpr const char* kRanks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "PMIX_RANK"};

constexpr const char* kModuleFile = "libweft_mpi.so";

std::vector<fs::path> module_places() {
  std::error_code ignored;
  const fs::path folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  return {folder / kModuleFile, folder / "../lib/weft" / kModuleFile};
}

class MpiMessenger final : public Messenger {
 public:
  explicit MpiMessenger(const WeftMpi& module) : module_{module} {
    if (module_.start() != 0) throw ConfigError("MPI cannot be started");
  }
  ~MpiMessenger() override { module_.stop(); }
  MpiMessenger(const MpiMessenger&) = delete;
  MpiMessenger& operator=(const MpiMessenger&) = delete;

  [[nodiscard]] int rank() const override { return module_.rank(); }
  [[nodiscard]] int size() const override { return module_.size(); }
  void send(int to, const std::string& text) override {
    if (module_.send(to, text.data(), text.size()) != 0) throw ConfigError("MPI cannot send a message");
  }
  [[nodiscard]] std::optional<Message> receive() override {
    Message message;
    const long length = module_.probe(&message.from);
    if (length < 0) return std::nullopt;
    message.text.resize(static_cast<std::size_t>(length));
    if (module_.take(message.from, message.text.data(), message.text.size()) != 0) {
      throw ConfigError("MPI cannot receive a message");
    }
    return message;
  }
  void abort(int exit_status) override { module_.abort(exit_status); }

 private:
  const WeftMpi& module_;
};

}  // namespace

bool is_one_of_several() {
  for (const char* name : kLaunched) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

int launched_rank() {
  for (const char* name : kRanks) {
    const char* text = std::getenv(name);
    if (const auto rank = parse_integer(text == nullptr ? "" : text)) return static_cast<int>(*rank);
  }
  return 0;
}

std::unique_ptr<Messenger> mpi_messenger() {
  for (const fs::path& place : module_places()) {
    std::error_code ignored;
    if (!fs::exists(place, ignored)) continue;
    // Its symbols are for MPI's own plug-ins too, which look for them among the global ones. It stays loaded to the end.
    void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) throw ConfigError(fmt::format("cannot load '{}': {}", place.string(), dlerror()));
    using Entry = const WeftMpi* (*)();
    const auto entry = reinterpret_cast<Entry>(dlsym(library, "weft_mpi_module"));
    if (entry == nullptr) throw ConfigError(fmt::format("'{}' is no MPI module of weft", place.string()));
    return std::make_unique<MpiMessenger>(*entry());
  }
  throw ConfigError(
      "this was started as one of several processes (mpirun, srun), but this weft was built without MPI\n"
      "note: install libopenmpi-dev and configure again, or use threads of one process: weft sweep -j N");
}

}  // namespace weft::plan
