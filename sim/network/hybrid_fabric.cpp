#include "sim/network/hybrid_fabric.h"

#include <algorithm>
#include <utility>

#include "sim/core/error.h"
#include "sim/network/shared_links.h"

namespace weft::net {

HybridFabric::HybridFabric(Simulator& simulator, const Router& router, const PacketSettings& settings, std::uint64_t seed,
                           std::vector<bool> chosen)
    : topology_{router.topology()},
      flows_{simulator, router.topology()},
      packets_{simulator, router, settings, seed},
      chosen_{std::move(chosen)},
      uses_(router.topology().link_count(), 0),
      shared_{std::make_unique<SharedLinks>(simulator, router.topology(), flows_, packets_)},
      flow_ears_{*this, &HybridFabric::freed, &HybridFabric::delivered, &HybridFabric::aborted},
      packet_ears_{*this, &HybridFabric::freed, &HybridFabric::delivered, &HybridFabric::aborted},
      shadow_ears_{*this, &HybridFabric::shadow_left, &HybridFabric::ignore, &HybridFabric::ignore} {
  WEFT_CHECK(chosen_.size() == router.topology().link_count());
  flows_.listen(*this);
}

HybridFabric::~HybridFabric() = default;

FootprintId HybridFabric::add_footprint(Footprint footprint) {
  const bool crosses = std::ranges::any_of(
      footprint.usages, [&](const Usage& usage) { return is_link(usage.resource) && chosen_[usage.resource.index()]; });
  crosses_.push_back(crosses ? 1 : 0);
  posted_.push_back(0);
  const FootprintId id = packets_.add_footprint(footprint);
  WEFT_CHECK(flows_.add_footprint(std::move(footprint)) == id);
  return id;
}

// Transfers on one footprint may be of either kind, as packets are allowed or not.
void HybridFabric::set_transport(FootprintId footprint, const FlowTransport& transport) {
  flows_.set_transport(footprint, transport);
  packets_.set_transport(footprint, transport);
}

TransferId HybridFabric::post(const Transfer& transfer, TransferListener& listener) {
  const std::uint32_t index = records_.take();
  const bool is_packets = takes_packets(transfer.footprint);
  records_[index] = Record{.listener = &listener, .transfer = transfer, .in_use = true, .is_packets = is_packets};
  ++totals_.posted;
  totals_.peak_live = std::max(totals_.peak_live, ++live_);
  ++(is_packets ? hybrid_.packet_transfers : hybrid_.flow_transfers);
  (is_packets ? hybrid_.packet_bytes : hybrid_.flow_bytes) += static_cast<double>(transfer.bytes.count());

  note_use(transfer.footprint, is_packets ? kPackets : kFlows);
  count(index, true);
  Transfer inner = transfer;
  inner.tag = index;
  if (!is_packets) {
    const TransferId id = flows_.post(inner, flow_ears_);
    records_[index].inner = id;
    return TransferId{index};
  }
  const TransferId id = packets_.post(inner, packet_ears_);
  records_[index].inner = id;
  if (sharing_ && records_[index].in_use) add_shadow(index, transfer.footprint, transfer.bytes);
  return TransferId{index};
}

// A footprint's links carry what is posted on it, from its first transfer of each kind on.
void HybridFabric::note_use(FootprintId footprint, char kind) {
  char& posted = posted_[footprint.index()];
  if ((posted & kind) != 0) return;
  posted = static_cast<char>(posted | kind);
  bool meets = false;
  for (const Usage& usage : flows_.footprint(footprint).usages) {
    if (!is_link(usage.resource)) continue;
    char& uses = uses_[usage.resource.index()];
    if ((uses & kind) != 0) continue;
    uses = static_cast<char>(uses | kind);
    if (uses != kBoth) continue;
    ++hybrid_.shared_links;
    shared_->begin(LinkId{usage.resource.value()});
    meets = true;
  }
  if (meets && !sharing_) begin_sharing();
}

// Transfers under way now are counted, and packets get their shadows. The one that is being posted is not on its links yet.
void HybridFabric::begin_sharing() {
  sharing_ = true;
  for (std::uint32_t index = 0; index < records_.size(); ++index) {
    const Record& record = records_[index];
    if (!record.in_use || !record.on_links) continue;
    if (record.is_packets) {
      shared_->count_packets(record.transfer.footprint, 1);
    } else {
      shared_->change_flows(record.transfer.footprint, 1, record.rate, true);
    }
  }
  add_shadows_of_all();
}

void HybridFabric::add_shadows_of_all() {
  YetToCome all = packets_.yet_to_come();
  using Waiting = YetToCome::Waiting;
  std::ranges::stable_sort(all.waiting, {}, &Waiting::transfer);
  for (std::uint32_t index = 0; index < records_.size(); ++index) {
    const Record record = records_[index];
    if (!record.in_use || !record.on_links || !record.is_packets) continue;
    const FootprintId footprint = record.transfer.footprint;
    // One after the other, so that the transfer has one share of each link; what waits comes last, since it takes nothing from
    // the links before.
    add_shadow(index, footprint, all.unsent[record.inner.index()]);
    for (const Waiting& each : std::ranges::equal_range(all.waiting, record.inner, {}, &Waiting::transfer)) {
      add_shadow(index, rest_of_way(footprint, each.link), each.bytes);
    }
  }
}

// The link, whatever share of the footprint's bytes it has, and those behind it.
FootprintId HybridFabric::rest_of_way(FootprintId id, LinkId first) {
  const auto [known, is_new] = rests_.try_emplace({id, first});
  if (!is_new) return known->second;
  const Footprint& whole = flows_.footprint(id);
  std::vector<LinkId> taken{first};
  for (std::size_t i = 0; i < taken.size(); ++i) {
    for (const Usage& usage : whole.usages) {
      if (!is_link(usage.resource)) continue;
      const LinkId link{usage.resource.value()};
      if (topology_.link(link).from != topology_.link(taken[i]).to) continue;
      // The requests of a read go the other way.
      if (std::ranges::find(taken, topology_.link(link).twin) != taken.end()) continue;
      if (std::ranges::find(taken, link) == taken.end()) taken.push_back(link);
    }
  }
  double share = 1;
  for (const Usage& usage : whole.usages) {
    if (usage.resource.value() == first.value()) share = std::min(usage.usage, 1.0);
  }
  Footprint rest{.usages = {}, .paths = whole.paths, .latency = {}, .fill = {}};
  for (const Usage& usage : whole.usages) {
    if (std::ranges::find(taken, LinkId{usage.resource.value()}) == taken.end()) continue;
    rest.usages.push_back({usage.resource, std::min(usage.usage / share, std::max(usage.usage, 1.0))});
  }
  return known->second = add_footprint(std::move(rest));
}

void HybridFabric::count(std::uint32_t index, bool on) {
  Record& record = records_[index];
  record.on_links = on;
  if (!sharing_) return;
  if (record.is_packets) {
    shared_->count_packets(record.transfer.footprint, on ? 1 : -1);
  } else {
    shared_->change_flows(record.transfer.footprint, on ? 1 : -1, 0);
  }
}

void HybridFabric::on_rate(std::uint64_t index, double rate) {
  Record& record = records_[index];
  const double before = std::exchange(record.rate, rate);
  if (sharing_ && rate != before) shared_->change_flows(record.transfer.footprint, 0, rate - before);
}

void HybridFabric::on_shadow_rate(std::uint64_t footprint, double rate) {
  shared_->set_shadow_rate(FootprintId::from_index(footprint), rate);
}

void HybridFabric::add_shadow(std::uint32_t index, FootprintId over, Bytes bytes) {
  const Record& record = records_[index];
  if (bytes == Bytes{} || flows_.footprint(over).usages.empty()) return;
  const FootprintId footprint = record.transfer.footprint;
  Shadows& shadows = shadows_[footprint];
  shadows.queue.push_back({record.transfer, index});
  shadows.queue.back().transfer.footprint = over;
  shadows.queue.back().transfer.bytes = bytes;
  shadows.queue.back().transfer.tag = footprint.value();
  if (shadows.queue.size() == 1) post_shadow(footprint);
}

void HybridFabric::post_shadow(FootprintId footprint) {
  Shadows& shadows = shadows_[footprint];
  shadows.moving = flows_.post_shadow(shadows.queue.front().transfer, shadow_ears_);
}

void HybridFabric::shadow_left(std::uint32_t footprint) {
  Shadows& shadows = shadows_[FootprintId{footprint}];
  shadows.queue.pop_front();
  if (!shadows.queue.empty()) post_shadow(FootprintId{footprint});
}

// The packets are there: their bytes are still charged, unless not all were sent.
void HybridFabric::end_shadow(std::uint32_t index) {
  const Record& record = records_[index];
  const auto found = shadows_.find(record.transfer.footprint);
  if (found == shadows_.end()) return;
  Shadows& shadows = found->second;
  if (shadows.queue.empty()) return;
  const auto is_its = [&](const Shadows::Shadow& shadow) { return shadow.record == index; };
  if (!record.cut) {
    for (Shadows::Shadow& shadow : shadows.queue) {
      if (is_its(shadow)) shadow.record = kNone;
    }
    return;
  }
  shadows.queue.erase(std::remove_if(shadows.queue.begin() + 1, shadows.queue.end(), is_its), shadows.queue.end());
  if (is_its(shadows.queue.front())) flows_.cut_short(shadows.moving);
}

void HybridFabric::freed(std::uint32_t index) {
  if (!records_[index].is_packets) count(index, false);
  const Record record = records_[index];
  record.listener->on_source_free(TransferId{index}, record.transfer.tag);
}

void HybridFabric::end(std::uint32_t index) {
  if (records_[index].on_links) count(index, false);
  end_shadow(index);
  records_[index].in_use = false;
  records_.give_back(index);
  --live_;
}

void HybridFabric::delivered(std::uint32_t index) {
  const Record record = records_[index];
  ++totals_.delivered;
  end(index);
  record.listener->on_delivered(TransferId{index}, record.transfer.tag);
}

void HybridFabric::aborted(std::uint32_t index) {
  const Record record = records_[index];
  ++totals_.aborted;
  records_[index].cut = true;
  end(index);
  record.listener->on_aborted(TransferId{index}, record.transfer.tag);
}

void HybridFabric::cut_short(TransferId transfer) {
  Record& record = records_[transfer.index()];
  record.cut = true;
  if (record.is_packets) {
    packets_.cut_short(record.inner);
  } else {
    flows_.cut_short(record.inner);
  }
}

void HybridFabric::set_rate_cap(TransferId transfer, Bandwidth cap) {
  const Record& record = records_[transfer.index()];
  if (record.is_packets) throw InternalError("packets cannot change their pace on the way");
  flows_.set_rate_cap(record.inner, cap);
}

void HybridFabric::fail(ResourceId resource) {
  throw InternalError("links of a hybrid fabric do not fail: " + resource_name(resource));
}

void HybridFabric::restore(ResourceId resource) { fail(resource); }

ResourceCounters HybridFabric::counters(ResourceId resource) const {
  ResourceCounters counters = flows_.counters(resource);
  if (!is_link(resource)) return counters;
  const ResourceCounters packets = packets_.counters(resource);
  counters.bytes += packets.bytes;
  counters.busy = std::max(counters.busy, packets.busy);
  counters.transfers += packets.transfers;
  return counters;
}

double HybridFabric::wire_bytes(LinkId link) const {
  return packets_.wire_bytes(link) + flows_.counters(ResourceId{link.value()}).bytes / topology_.spec(link).efficiency;
}

double HybridFabric::utilization(LinkId link, double bytes, Duration /*busy*/, Duration window) const {
  return bytes / (topology_.spec(link).rate.bytes_per_ps() * static_cast<double>(window.ps()));
}

const FabricTotals& HybridFabric::totals() const {
  totals_.solves = flows_.totals().solves;
  totals_.solved_flows = flows_.totals().solved_flows;
  return totals_;
}

void HybridFabric::check_conservation() const {
  flows_.check_conservation();
  packets_.check_conservation();
  if (live_ != 0 || totals_.posted != totals_.delivered + totals_.aborted) {
    throw InternalError("transfers of a hybrid fabric are not conserved");
  }
}

}  // namespace weft::net
