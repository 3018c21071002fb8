// The clocks of the first GPU, as a JSON object for a record.
#pragma once

#include <string>

#include "nvml.h"

namespace weft::measure {

// "0000:06:00.0", as NVML takes it.
[[nodiscard]] std::string pci_of(int device);
// Empty without NVML.
[[nodiscard]] std::string clock_json(const Nvml& nvml, const std::string& pci);

}  // namespace weft::measure
