// Several processes that run the parts of one fabric: what they hand over after each window, and at the end.
#include "sim/network/part_reports.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "sim/core/error.h"
#include "sim/core/plain_bytes.h"
#include "sim/network/fabric_part.h"

namespace weft::net {
namespace {

template <class T>
struct Numbered {
  std::uint64_t number = 0;
  T value;
};

template <class T>
void read_numbered(PlainReader& reader, std::vector<T>& to) {
  std::vector<Numbered<T>> values;
  reader.list(values);
  for (const Numbered<T>& one : values) to[one.number] = one.value;
}

void write_box(PlainWriter& writer, std::size_t from, std::size_t to, MailBox& box) {
  if (box.packets.empty() && box.signals.empty()) return;
  writer.value(from);
  writer.value(to);
  writer.list(box.packets);
  writer.list(box.stamps);
  writer.list(box.signals);
  box.clear();
}

// Opens what one process tells another after a window.
struct Word {
  Time next;
  bool failed = false;
  bool stopped = false;
};

}  // namespace

void PartedFabric::begin_together() {
  if (hands_.processes == nullptr) return;
  processes_ = std::min(hands_.processes->size(), static_cast<int>(parts_.size()));
  hands_.processes->begin(processes_);
}

Time PartedFabric::meet(std::uint64_t window, Time next, const std::exception_ptr& error) {
  std::vector<PlainWriter> writers(static_cast<std::size_t>(processes_));
  for (PlainWriter& writer : writers) writer.value(Word{next, error != nullptr, clock_.stopped()});
  for (std::size_t from = 0; from < parts_.size(); ++from) {
    if (!is_here(from)) continue;
    for (std::size_t to = 0; to < parts_.size(); ++to) {
      if (!is_here(to)) write_box(writers[static_cast<std::size_t>(process_of(to))], from, to, room_.box(window, from, to));
    }
  }
  std::vector<std::string> texts;
  for (PlainWriter& writer : writers) texts.push_back(writer.take());
  bool failed = false;
  all_stop_ |= clock_.stopped();
  for (const std::string& text : hands_.processes->exchange(std::move(texts))) {
    if (text.empty()) continue;  // its own
    PlainReader reader{text};
    const auto word = reader.value<Word>();
    next = std::min(next, word.next);
    failed |= word.failed;
    all_stop_ |= word.stopped;
    while (!reader.is_at_end()) {
      const auto from = reader.value<std::size_t>();
      const auto to = reader.value<std::size_t>();
      MailBox& box = room_.box(window, from, to);
      reader.list(box.packets);
      reader.list(box.stamps);
      reader.list(box.signals);
    }
  }
  if (failed) throw CannotRunInParts("another process cannot go on");
  return next;
}

std::string PartedFabric::report() const {
  PlainWriter writer;
  std::vector<Numbered<ResourceCounters>> counters;
  std::vector<Numbered<PortCounters>> begins;
  std::vector<Numbered<PortCounters>> ends;
  for (std::size_t i = 0; i < topology_.link_count(); ++i) {
    const LinkId link = LinkId::from_index(i);
    const std::size_t begin = begin_of(link);
    const std::size_t end = end_of(link);
    if (is_here(begin)) {
      counters.push_back({i, parts_[begin]->fabric.counters(ResourceId{link.value()})});
      begins.push_back({i, parts_[begin]->fabric.port(link)});
    }
    if (begin != end && is_here(end)) ends.push_back({i, parts_[end]->fabric.port(link)});
  }
  writer.list(counters);
  writer.list(begins);
  writer.list(ends);
  std::vector<Numbered<FlowCounters>> sources;
  std::vector<Numbered<std::int64_t>> delivered;
  for (std::size_t i = 0; i < footprints_.size(); ++i) {
    const FootprintId flow = FootprintId::from_index(i);
    if (is_here(source_of(flow))) sources.push_back({i, parts_[source_of(flow)]->fabric.flow(flow)});
    if (const std::size_t to = destination_of(flow); is_here(to))
      delivered.push_back({i, parts_[to]->fabric.flow(flow).delivered_wire_bytes});
  }
  writer.list(sources);
  writer.list(delivered);
  writer.list(ends_);
  std::vector<PauseRecord> pauses;
  bool any_paused = false;
  for (const Part* part : own_) {
    const std::vector<PauseRecord>& more = part->fabric.pauses();
    pauses.insert(pauses.end(), more.begin(), more.end());
    any_paused |= part->fabric.any_paused();
  }
  writer.list(pauses);
  writer.value(any_paused);
  writer.value(totals());
  writer.value(packet_hops());
  writer.value(counted_);
  return writer.take();
}

void PartedFabric::read_report(std::string_view text) {
  PlainReader reader{text};
  read_numbered(reader, told_->counters);
  read_numbered(reader, told_->begins);
  read_numbered(reader, told_->ends);
  read_numbered(reader, told_->sources);
  read_numbered(reader, told_->delivered);
  std::vector<Time> ends;
  reader.list(ends);
  for (std::size_t tag = 0; tag < ends.size(); ++tag) ends_[tag] = std::min(ends_[tag], ends[tag]);
  reader.list(told_->pauses);
  told_->any_paused |= reader.value<bool>();
  const auto totals = reader.value<FabricTotals>();
  told_->totals.posted += totals.posted;
  told_->totals.delivered += totals.delivered;
  told_->totals.aborted += totals.aborted;
  told_->hops += reader.value<std::uint64_t>();
  clock_.count_elsewhere(reader.value<std::uint64_t>());
}

void PartedFabric::gather() {
  if (processes_ == 1) return;
  std::vector<std::string> texts(static_cast<std::size_t>(processes_));
  if (!is_first()) texts[0] = report();
  const std::vector<std::string> told = hands_.processes->exchange(std::move(texts));
  hands_.processes->finish();
  if (!is_first()) throw ServedOthers{};
  const std::size_t links = topology_.link_count();
  const std::size_t flows = footprints_.size();
  told_ = std::make_unique<PartReports>(PartReports{.counters = std::vector<ResourceCounters>(links),
                                                    .begins = std::vector<PortCounters>(links),
                                                    .ends = std::vector<PortCounters>(links),
                                                    .sources = std::vector<FlowCounters>(flows),
                                                    .delivered = std::vector<std::int64_t>(flows),
                                                    .pauses = {},
                                                    .totals = {}});
  for (const std::string& text : told) {
    if (!text.empty()) read_report(text);
  }
}

}  // namespace weft::net
