#include "sim/workloads/trace/kineto/event_keys.h"

#include "sim/core/words.h"

namespace weft::work::kineto {
namespace {

constexpr WordTable<EventKey, 8> kEventKeys{{{
                                                {"ph", EventKey::kPhase},
                                                {"cat", EventKey::kCategory},
                                                {"name", EventKey::kName},
                                                {"ts", EventKey::kStart},
                                                {"dur", EventKey::kDuration},
                                                {"pid", EventKey::kProcess},
                                                {"tid", EventKey::kThread},
                                                {"args", EventKey::kArguments},
                                            }},
                                            EventKey::kOther};

constexpr WordTable<ArgumentKey, 28> kArgumentKeys{{{
                                                       {"correlation", ArgumentKey::kCorrelation},
                                                       {"External id", ArgumentKey::kExternal},
                                                       {"external id", ArgumentKey::kExternal},
                                                       {"Record function id", ArgumentKey::kRecordFunction},
                                                       {"stream", ArgumentKey::kStream},
                                                       {"device", ArgumentKey::kDevice},
                                                       {"bytes", ArgumentKey::kBytes},
                                                       {"Bytes", ArgumentKey::kBytes},
                                                       {"grid", ArgumentKey::kGrid},
                                                       {"wait_on_stream", ArgumentKey::kOnStream},
                                                       {"wait_on_cuda_event_record_corr_id", ArgumentKey::kRecordCorrelation},
                                                       {"Collective name", ArgumentKey::kCollective},
                                                       {"Process Group Name", ArgumentKey::kGroup},
                                                       {"Process Group Description", ArgumentKey::kGroupDescription},
                                                       {"Process Group Ranks", ArgumentKey::kGroupRanks},
                                                       {"In split size", ArgumentKey::kInSplit},
                                                       {"Out split size", ArgumentKey::kOutSplit},
                                                       {"dtype", ArgumentKey::kDtype},
                                                       {"Input Dims", ArgumentKey::kInputDims},
                                                       {"Input type", ArgumentKey::kInputType},
                                                       {"In msg nelems", ArgumentKey::kInElements},
                                                       {"Out msg nelems", ArgumentKey::kOutElements},
                                                       {"Group size", ArgumentKey::kGroupSize},
                                                       {"Src Rank", ArgumentKey::kSource},
                                                       {"Dst Rank", ArgumentKey::kDestination},
                                                       {"Seq", ArgumentKey::kSequence},
                                                       {"Global rank start", ArgumentKey::kRankStart},
                                                       {"Global rank stride", ArgumentKey::kRankStride},
                                                   }},
                                                   ArgumentKey::kOther};

constexpr WordTable<EventCategory, 14> kCategoryWords{{{
                                                          {"kernel", EventCategory::kKernel},
                                                          {"gpu_memcpy", EventCategory::kMemcpy},
                                                          {"memcpy", EventCategory::kMemcpy},
                                                          {"gpu_memset", EventCategory::kMemset},
                                                          {"memset", EventCategory::kMemset},
                                                          {"cuda_runtime", EventCategory::kRuntime},
                                                          {"cuda_driver", EventCategory::kRuntime},
                                                          {"hip_runtime", EventCategory::kRuntime},
                                                          {"runtime", EventCategory::kRuntime},
                                                          {"cpu_op", EventCategory::kOperator},
                                                          {"operator", EventCategory::kOperator},
                                                          {"user_annotation", EventCategory::kAnnotation},
                                                          {"overhead", EventCategory::kOverhead},
                                                          {"cuda_sync", EventCategory::kSync},
                                                      }},
                                                      EventCategory::kOther};

}  // namespace

EventKey event_key(std::string_view word) { return kEventKeys.of(word); }
ArgumentKey argument_key(std::string_view word) { return kArgumentKeys.of(word); }

EventCategory event_category(std::string_view text) {
  std::array<char, 20> lower{};
  if (text.size() > lower.size()) return EventCategory::kOther;
  std::ranges::transform(text, lower.begin(), [](char c) { return lower_case(c); });
  return kCategoryWords.of({lower.data(), text.size()});
}

}  // namespace weft::work::kineto
