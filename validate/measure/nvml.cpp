#include "nvml.h"

#include <dlfcn.h>

#include <array>

namespace weft::measure {
namespace {

// NVML's documented values; its header is not needed to build.
constexpr int kSuccess = 0;
constexpr int kClockSm = 1;
constexpr int kClockMemory = 2;
constexpr int kTemperatureGpu = 0;
constexpr unsigned kMaxNvlinks = 18;
constexpr unsigned kFeatureEnabled = 1;

template <class Value, class Function, class... Arguments>
std::optional<Value> ask(Function function, Arguments... arguments) {
  Value value{};
  if (function == nullptr || function(arguments..., &value) != kSuccess) return std::nullopt;
  return value;
}

std::optional<double> watts(std::optional<unsigned> milliwatts) {
  return milliwatts ? std::optional{*milliwatts / 1e3} : std::nullopt;
}

}  // namespace

template <class Function>
Function Nvml::find(const char* name) const {
  return initialized_ ? reinterpret_cast<Function>(dlsym(library_, name)) : nullptr;
}

Nvml::Nvml() : library_{dlopen("libnvidia-ml.so.1", RTLD_NOW)} {
  if (library_ == nullptr) return;
  const auto init = reinterpret_cast<int (*)()>(dlsym(library_, "nvmlInit_v2"));
  initialized_ = init != nullptr && init() == kSuccess;
}

std::string Nvml::driver_version() const {
  std::array<char, 96> text{};
  const auto ask_version = find<int (*)(char*, unsigned)>("nvmlSystemGetDriverVersion");
  if (ask_version == nullptr || ask_version(text.data(), text.size()) != kSuccess) return {};
  return text.data();
}

Nvml::Device Nvml::device(const std::string& pci) const {
  return ask<Device>(find<int (*)(const char*, Device*)>("nvmlDeviceGetHandleByPciBusId_v2"), pci.c_str()).value_or(nullptr);
}

ClockReading Nvml::clocks(const std::string& pci) const {
  const Device handle = device(pci);
  if (handle == nullptr) return {};
  using Number = int (*)(Device, unsigned*);
  using NumberOf = int (*)(Device, int, unsigned*);
  const auto clock = find<NumberOf>("nvmlDeviceGetClockInfo");
  return {.sm_mhz = ask<unsigned>(clock, handle, kClockSm),
          .memory_mhz = ask<unsigned>(clock, handle, kClockMemory),
          .power_w = watts(ask<unsigned>(find<Number>("nvmlDeviceGetPowerUsage"), handle)),
          .temperature_c = ask<unsigned>(find<NumberOf>("nvmlDeviceGetTemperature"), handle, kTemperatureGpu),
          .throttle = ask<unsigned long long>(
              find<int (*)(Device, unsigned long long*)>("nvmlDeviceGetCurrentClocksThrottleReasons"), handle)};
}

BoardFacts Nvml::board(const std::string& pci) const {
  const Device handle = device(pci);
  if (handle == nullptr) return {};
  using NumberOf = int (*)(Device, int, unsigned*);
  const auto max_clock = find<NumberOf>("nvmlDeviceGetMaxClockInfo");
  const auto link_state = find<int (*)(Device, unsigned, unsigned*)>("nvmlDeviceGetNvLinkState");
  unsigned active = 0;
  for (unsigned link = 0; link < kMaxNvlinks; ++link) {
    active += ask<unsigned>(link_state, handle, link).value_or(0) == kFeatureEnabled ? 1 : 0;
  }
  return {.max_sm_mhz = ask<unsigned>(max_clock, handle, kClockSm),
          .max_memory_mhz = ask<unsigned>(max_clock, handle, kClockMemory),
          .power_limit_w = watts(ask<unsigned>(find<int (*)(Device, unsigned*)>("nvmlDeviceGetPowerManagementLimit"), handle)),
          .nvlinks = active};
}

}  // namespace weft::measure
