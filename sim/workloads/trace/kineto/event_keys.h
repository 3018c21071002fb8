// Keys of events and of their arguments. A profile holds tens of millions of them: they are told apart by length first.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace weft::work::kineto {

enum class EventKey : std::uint8_t { kOther, kPhase, kCategory, kName, kStart, kDuration, kProcess, kThread, kArguments };

enum class ArgumentKey : std::uint8_t {
  kOther,
  kCorrelation,
  kExternal,
  kRecordFunction,
  kStream,
  kDevice,
  kBytes,
  kGrid,
  kOnStream,
  kRecordCorrelation,
  kCollective,
  kGroup,
  kGroupDescription,
  kGroupRanks,
  kInSplit,
  kOutSplit,
  kDtype,
  kInputDims,
  kInputType,
  kInElements,
  kOutElements,
  kGroupSize,
  kSource,
  kDestination,
  kSequence,
  kRankStart,
  kRankStride,
};

enum class EventCategory : std::uint8_t {
  kUnknown,
  kKernel,
  kMemcpy,
  kMemset,
  kRuntime,
  kOperator,
  kAnnotation,
  kOverhead,
  kSync,
  kOther
};

template <class Value, std::size_t N>
class WordTable {
 public:
  using Entry = std::pair<std::string_view, Value>;

  constexpr WordTable(std::array<Entry, N> entries, Value otherwise) : entries_{entries}, otherwise_{otherwise} {
    std::ranges::sort(entries_, {}, [](const Entry& entry) { return entry.first.size(); });
    for (std::size_t size = 0, i = 0; size < first_.size(); ++size) {
      while (i < N && entries_[i].first.size() < size) ++i;
      first_[size] = static_cast<std::uint8_t>(i);
    }
  }

  [[nodiscard]] constexpr Value of(std::string_view word) const {
    if (word.size() > kLongest) return otherwise_;
    for (std::size_t i = first_[word.size()]; i < first_[word.size() + 1]; ++i) {
      if (entries_[i].first == word) return entries_[i].second;
    }
    return otherwise_;
  }

 private:
  static constexpr std::size_t kLongest = 40;

  std::array<Entry, N> entries_;
  Value otherwise_;
  std::array<std::uint8_t, kLongest + 2> first_{};  // by length: the first entry that is as long
};

[[nodiscard]] EventKey event_key(std::string_view word);
[[nodiscard]] ArgumentKey argument_key(std::string_view word);
// Older traces write "Kernel", "Runtime", "Operator".
[[nodiscard]] EventCategory event_category(std::string_view text);

}  // namespace weft::work::kineto
