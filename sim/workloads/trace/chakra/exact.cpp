#include "sim/workloads/trace/chakra/exact.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "sim/workloads/trace/line_reader.h"

namespace weft::work::chakra {
namespace {

struct Field {
  std::string_view name;
  std::int64_t least;
  std::int64_t most;
};
constexpr std::int64_t kByte = 255;
constexpr std::int64_t kShort = 32'767;
constexpr std::array<Field, 13> kFields = {{{"kind", 0, static_cast<std::int64_t>(OpKind::kMarker)},
                                            {"category", 0, kCategories - 1},
                                            {"stream", 0, kByte},
                                            {"collective", 0, static_cast<std::int64_t>(coll::Collective::kScatter)},
                                            {"element size", 1, kByte},
                                            {"tag", 0, kByte},
                                            {"flags", 0, 15},
                                            {"every", 0, kShort},
                                            {"microbatch", -1, kShort},
                                            {"layer", -1, kShort},
                                            {"slot", 0, 7},
                                            {"duration", 0, kLongestTask.ps()},
                                            {"bytes", 0, kLargestTask.count()}}};

}  // namespace

std::vector<std::int64_t> numbers_of(const Operation& op) {
  const bool is_copy = op.kind == OpKind::kCopy || op.kind == OpKind::kStorage;
  const int flags = (op.fills_gpu ? 1 : 0) + (op.weight_gradient ? 2 : 0) + (op.launched ? 4 : 0) + (op.background ? 8 : 0);
  return {static_cast<std::int64_t>(op.kind),
          static_cast<std::int64_t>(op.category),
          op.stream,
          static_cast<std::int64_t>(op.collective),
          op.element_size,
          op.tag,
          flags,
          op.every,
          op.microbatch,
          op.layer,
          is_copy ? op.slot : 0,
          op.duration.ps(),
          op.bytes.count()};
}

std::string operation_from(const std::vector<std::int64_t>& numbers, std::size_t streams, Operation& op) {
  if (numbers.size() != kFields.size()) return fmt::format("expected {} numbers, found {}", kFields.size(), numbers.size());
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    const Field& field = kFields[i];
    if (numbers[i] < field.least || numbers[i] > field.most) {
      return fmt::format("{}: expected {} to {}, found {}", field.name, field.least, field.most, numbers[i]);
    }
  }
  if (static_cast<std::size_t>(numbers[2]) >= streams) return fmt::format("there is no stream {}", numbers[2]);
  op.kind = static_cast<OpKind>(numbers[0]);
  op.category = static_cast<Category>(numbers[1]);
  op.stream = static_cast<std::uint8_t>(numbers[2]);
  op.collective = static_cast<coll::Collective>(numbers[3]);
  op.element_size = static_cast<std::uint8_t>(numbers[4]);
  op.tag = static_cast<std::uint8_t>(numbers[5]);
  op.fills_gpu = (numbers[6] & 1) != 0;
  op.weight_gradient = (numbers[6] & 2) != 0;
  op.launched = (numbers[6] & 4) != 0;
  op.background = (numbers[6] & 8) != 0;
  op.every = static_cast<std::uint16_t>(numbers[7]);
  op.microbatch = static_cast<std::int16_t>(numbers[8]);
  op.layer = static_cast<std::int16_t>(numbers[9]);
  op.slot = static_cast<std::uint16_t>(numbers[10]);
  op.duration = Duration::from_ps(numbers[11]);
  op.bytes = Bytes{numbers[12]};
  return {};
}

}  // namespace weft::work::chakra
