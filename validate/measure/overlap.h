// Collectives beside GEMMs, copies and other collectives, one process per GPU.
#pragma once

#include "collective.h"

namespace weft::measure {

class OverlapParts;  // the communicators and operands of all cases

// Collective over the team; holds what the cases need.
class Overlap {
 public:
  Overlap(Team& team, NcclRanks& ranks);
  ~Overlap();
  Overlap(const Overlap&) = delete;
  Overlap& operator=(const Overlap&) = delete;

  [[nodiscard]] Measurement measure(const Point& point, const LayoutNumbers& layout);

 private:
  std::unique_ptr<OverlapParts> parts_;
};

}  // namespace weft::measure
