// An importer gives back a topology of one host and what the file could not say.
#pragma once

#include <vector>

#include "sim/core/error.h"
#include "sim/network/topology.h"

namespace weft::net {

struct Imported {
  Topology topology;
  std::vector<Diagnostic> warnings;  // each names what was missing and what was taken instead; print with format(w, "warning")
};

}  // namespace weft::net
