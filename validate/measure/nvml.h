// Clocks, power and temperature by NVML, opened at run time: a machine without it, or a container that hides it, is measured
// without them.
#pragma once

#include <optional>
#include <string>

namespace weft::measure {

struct ClockReading {
  std::optional<unsigned> sm_mhz = {};
  std::optional<unsigned> memory_mhz = {};
  std::optional<double> power_w = {};
  std::optional<unsigned> temperature_c = {};
  std::optional<unsigned long long> throttle = {};  // NVML's mask of reasons
};

struct BoardFacts {
  std::optional<unsigned> max_sm_mhz = {};
  std::optional<unsigned> max_memory_mhz = {};
  std::optional<double> power_limit_w = {};
  std::optional<unsigned> nvlinks = {};  // active
};

class Nvml {
 public:
  Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  [[nodiscard]] bool available() const { return initialized_; }
  [[nodiscard]] std::string driver_version() const;
  // `pci` as CUDA prints it: "0000:06:00.0".
  [[nodiscard]] ClockReading clocks(const std::string& pci) const;
  [[nodiscard]] BoardFacts board(const std::string& pci) const;

 private:
  using Device = void*;
  [[nodiscard]] Device device(const std::string& pci) const;
  template <class Function>
  [[nodiscard]] Function find(const char* name) const;

  void* library_ = nullptr;
  bool initialized_ = false;
};

}  // namespace weft::measure
