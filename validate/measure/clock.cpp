#include "clock.h"

#include <array>

#include "cuda_check.h"
#include "json_line.h"

namespace weft::measure {

std::string pci_of(int device) {
  std::array<char, 32> text{};
  check(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), device), "PCI address");
  return text.data();
}

std::string clock_json(const Nvml& nvml, const std::string& pci) {
  if (!nvml.available()) return {};
  const ClockReading reading = nvml.clocks(pci);
  JsonObject clock;
  if (reading.sm_mhz) clock.add("sm_mhz", *reading.sm_mhz);
  if (reading.memory_mhz) clock.add("memory_mhz", *reading.memory_mhz);
  if (reading.power_w) clock.add("power_w", *reading.power_w);
  if (reading.temperature_c) clock.add("temperature_c", *reading.temperature_c);
  if (reading.throttle) clock.add("throttle", *reading.throttle);
  return clock.members().empty() ? std::string{} : clock.text();
}

}  // namespace weft::measure
