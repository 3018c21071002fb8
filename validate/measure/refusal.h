// A point that cannot be measured, as every member of a team finds on its own before anything is sent: the others go on.
#pragma once

#include <stdexcept>

namespace weft::measure {

class Refusal : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace weft::measure
