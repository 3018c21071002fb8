// Reads what each pair of ranks has in an all-to-allv: a row for each sender, by receiver, in bytes or as "64K", "1MiB".
//
// A file whose name ends in .json, .yaml or .yml holds a list of lists; any other one has a row a line, its sizes apart by
// commas or blanks. Lines that are empty or begin with '#' do not count.
#pragma once

#include <filesystem>
#include <memory>

#include "sim/collectives/pair_sizes.h"
#include "sim/core/config/node.h"
#include "sim/core/config/params.h"

namespace weft::work {

// `node`: the list of lists, or the name of a file. Null after errors.
[[nodiscard]] std::shared_ptr<const coll::PairSizes> read_pair_sizes(const ConfigNode& node, int ranks,
                                                                     Diagnostics& diagnostics);
[[nodiscard]] std::shared_ptr<const coll::PairSizes> read_pair_sizes(const std::filesystem::path& file, int ranks,
                                                                     Diagnostics& diagnostics);

}  // namespace weft::work
