// How compute and communication on one GPU slow each other (training-step-notes §6).
#pragma once

#include <array>

#include "sim/core/profile.h"
#include "sim/workloads/kernels/kernel.h"

namespace weft::work {

struct Contention {
  double gemm = 1.35;
  double attention = 1.12;
  double memory = 1.25;
  double collective = 1.13;
  double reference_ctas = 24;
};

}  // namespace weft::work
