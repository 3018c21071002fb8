#include "sim/collectives/builtin.h"

#include "sim/core/config/defaults.h"
#include "sim/core/error.h"

namespace weft::coll {

const Registry<Algorithm>& algorithms() {
  static const Registration<Algorithm>* const kEntries[] = {
#define WEFT_ALGORITHM(name) &builtin::name,
#include "sim/collectives/builtin.def"
  };
  static const Registry<Algorithm> kRegistry{"algorithm", kEntries};
  return kRegistry;
}

std::unique_ptr<Algorithm> make_algorithm(std::string_view name) {
  const Registration<Algorithm>* entry = algorithms().find(name);
  WEFT_CHECK(entry != nullptr);
  return make_with_defaults(*entry);
}

}  // namespace weft::coll
