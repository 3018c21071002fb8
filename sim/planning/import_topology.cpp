#include "sim/planning/import_topology.h"

#include <fmt/format.h>

#include "sim/core/error.h"
#include "sim/network/import/nccl_xml_reader.h"
#include "sim/network/import/nvidia_smi.h"
#include "sim/network/import/source_text.h"

namespace weft::plan {

ImportedFile import_topology(const std::string& file, const std::string& gpu, const Profile& profile) {
  const std::string text = net::read_text_file(file);
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  const std::size_t begin = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  const std::size_t first = text.find_first_not_of(" \t\r\n", begin);
  if (first == std::string::npos) {
    throw ConfigError(
        fmt::format("{}: the file is empty; expected NCCL's topology XML or the matrix of `nvidia-smi topo -m`", file));
  }
  if (text[first] == '<') {
    if (!gpu.empty()) throw ConfigError("--gpu is for the matrix of nvidia-smi; NCCL's file says which GPU it is");
    return {net::import_nccl_xml(text, file, profile), "NCCL topology file"};
  }
  net::NvidiaSmiOptions options;
  if (!gpu.empty()) {
    options.sm = net::compute_capability_of(gpu);
    if (!options.sm)
      throw ConfigError(fmt::format("--gpu: unknown GPU '{}'; names are like v100, a100, h100, h200, b200", gpu));
  }
  return {net::import_nvidia_smi(text, file, profile, options), "matrix of nvidia-smi topo -m"};
}

}  // namespace weft::plan
