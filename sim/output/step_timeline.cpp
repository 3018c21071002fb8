#include "sim/output/step_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace weft::output {
namespace {

// Threads of a rank: lanes of channels, in order.
constexpr std::size_t kMostLanes = 256;

std::size_t thread_of(const coll::SliceSpan& span) {
  return static_cast<std::size_t>(span.channel) * kMostLanes + static_cast<std::size_t>(span.lane);
}

// "recv 3, send 1"; several peers of one side: "recv 4 ranks".
std::string name_of(Rank from, int senders, Rank to, int receivers) {
  const auto side = [](const char* verb, Rank peer, int count) {
    if (count == 0) return std::string{};
    return count == 1 ? fmt::format("{} {}", verb, peer) : fmt::format("{} {} ranks", verb, count);
  };
  const std::string receives = side("recv", from, senders);
  const std::string sends = side("send", to, receivers);
  if (receives.empty() && sends.empty()) return "local";
  return receives + (receives.empty() || sends.empty() ? "" : ", ") + sends;
}

}  // namespace

void StepTimeline::on_loop(Time began) { loops_.push_back({slices_.size(), began}); }

void StepTimeline::on_slice(const coll::SliceSpan& span, const coll::Step& step) {
  if (span.call >= kCalls || span.rank >= kRanks) return;
  if (slices_.size() == kMostSlices) {
    ++left_out_;
    return;
  }
  slices_.push_back({.span = span,
                     .from = step.receive_from.empty() ? -1 : *step.receive_from.begin(),
                     .to = step.send_to.empty() ? -1 : *step.send_to.begin(),
                     .senders = step.receive_from.size(),
                     .receivers = step.send_to.size()});
}

void StepTimeline::name_tracks(TraceWriter& trace, std::size_t first_process) const {
  std::set<std::pair<Rank, std::pair<int, int>>> tracks;
  for (const Slice& slice : slices_) tracks.insert({slice.span.rank, {slice.span.channel, slice.span.lane}});
  Rank named = -1;
  for (const auto& [rank, place] : tracks) {
    const std::size_t process = first_process + static_cast<std::size_t>(rank);
    if (rank != named) trace.name_process(process, fmt::format("rank {} channels", rank));
    named = rank;
    const coll::SliceSpan span{.channel = place.first, .lane = place.second};
    trace.name_thread(process, thread_of(span), fmt::format("channel {} lane {}", place.first, place.second));
  }
}

std::string StepTimeline::note() const {
  if (left_out_ == 0) return {};
  return fmt::format("the timeline shows the first {} slices; {} more of the first calls are left out", kMostSlices, left_out_);
}

Duration StepTimeline::write(TraceWriter& trace, std::size_t first_process, std::size_t loop, Time at) const {
  if (loop >= loops_.size()) return {};
  const Time began = loops_[loop].began;
  const std::size_t end = loop + 1 < loops_.size() ? loops_[loop + 1].first_slice : slices_.size();
  Duration last;
  for (std::size_t i = loops_[loop].first_slice; i < end; ++i) {
    const Slice& slice = slices_[i];
    const coll::SliceSpan& span = slice.span;
    const std::size_t process = first_process + static_cast<std::size_t>(span.rank);
    const auto pause = [&](const char* name, Time from, Time to) {
      if (to <= from) return;
      trace.begin_span(name, name, process, thread_of(span), at + (from - began), to - from).field("call", span.call);
      trace.end_span();
    };
    pause("wait", span.waited_from, span.began);
    trace
        .begin_span(name_of(slice.from, slice.senders, slice.to, slice.receivers), "step", process, thread_of(span),
                    at + (span.began - began), span.ended - span.began)
        .field("call", span.call)
        .field("step", span.step)
        .field("slice", span.slice)
        .field("bytes", span.bytes.count());
    trace.end_span();
    pause("synchronise", span.ended, span.synchronised);
    last = std::max(last, span.ended - began);
  }
  return last;
}

}  // namespace weft::output
