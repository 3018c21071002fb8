// Returns the error of a setting that is refused.
#pragma once

#include <string>

#include "sim/collectives/nccl/settings.h"
#include "sim/core/error.h"

namespace weft::coll::nccl {

inline std::string setting_error(const char* key, const char* value) {
  try {
    Settings settings;
    settings.set(key, value);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace weft::coll::nccl
