#include "sim/collectives/nccl/tuning.h"

#include <fmt/format.h>

#include <bit>
#include <limits>

#include "sim/collectives/nccl/release_rules.h"
#include "sim/collectives/nccl/tuning_formulas.h"
#include "sim/core/error.h"

namespace weft::coll::nccl {
namespace {

// In the order in which NCCL compares, so that the first wins ties.
template <class Visit>
void for_each_choice(Visit visit) {
  for (std::size_t a = 0; a < kAlgos; ++a) {
    for (std::size_t p = 0; p < kProtos; ++p) visit(static_cast<Algo>(a), static_cast<Proto>(p));
  }
}

std::string label(Algo algo, Proto proto) { return fmt::format("{}/{}", to_string(algo), to_string(proto)); }

std::size_t index_of(Collective kind) {
  const auto index = tuned_index(kind);
  WEFT_CHECK(index.has_value());
  return *index;
}

// Collectives of one work batch, whose latency trees pay once (models/nccl §5.5).
constexpr int kOperationsPerBatch = 8;
// Bytes per channel and rank from which rings over several nodes are slower than the model (models/nccl §5.5).
constexpr std::int64_t kPlateauBytes = 64;

}  // namespace

TuningModel::TuningModel(const CommInfo& comm, const Settings& settings)
    : comm_{comm}, settings_{settings}, tables_{tuning_tables(comm.version)} {
  const ChoiceList protocols = parse_protocols(settings.find("PROTO").value_or(""));
  for (std::size_t k = 0; k < kTunedCollectives; ++k) {
    const Collective kind = tuned_collective(k);
    const bool ll128_forced = protocols[k][index_of(Proto::kLl128)].value_or(false);
    for_each_choice([&](Algo algo, Proto proto) {
      Cost& cost = cost_ref(k, algo, proto);
      cost.latency_us = model_latency(comm_, tables_, settings_, kind, algo, proto);
      cost.bandwidth_GBps = model_bandwidth(comm_, tables_, kind, algo, proto);
      cost.disabled_because = why_disabled(comm_, settings_, kind, algo, proto, ll128_forced);
      cost.enabled = cost.disabled_because.empty();
    });
  }
  apply_lists();
}

Cost& TuningModel::cost_ref(std::size_t kind, Algo algo, Proto proto) { return costs_[kind][index_of(algo)][index_of(proto)]; }

const Cost& TuningModel::cost(Collective kind, Algo algo, Proto proto) const {
  return costs_[index_of(kind)][index_of(algo)][index_of(proto)];
}

void TuningModel::apply_lists() {
  const std::string algo_text = settings_.find("ALGO").value_or("");
  const std::string proto_text = settings_.find("PROTO").value_or("");
  const ChoiceList algorithms = parse_algorithms(algo_text);
  const ChoiceList protocols = parse_protocols(proto_text);
  for (std::size_t k = 0; k < kTunedCollectives; ++k) {
    bool any = false;
    for_each_choice([&](Algo algo, Proto proto) {
      Cost& cost = cost_ref(k, algo, proto);
      if (!algorithms[k][index_of(algo)].value_or(true) && cost.enabled) cost.disabled_because = "NCCL_ALGO=" + algo_text;
      if (!protocols[k][index_of(proto)].value_or(true) && cost.enabled) cost.disabled_because = "NCCL_PROTO=" + proto_text;
      cost.enabled = cost.disabled_because.empty();
      any = any || cost.enabled;
    });
    if (any || comm_.ranks <= 1) continue;
    for (std::size_t p = 0; p < kProtos; ++p) {
      if (!falls_back(tuned_collective(k), static_cast<Proto>(p), protocols)) continue;
      Cost& cost = cost_ref(k, Algo::kRing, static_cast<Proto>(p));
      cost.enabled = true;
      cost.disabled_because.clear();
    }
  }
}

bool TuningModel::falls_back(Collective kind, Proto proto, const ChoiceList& protocols) const {
  switch (rule(kNothingLeft, comm_.version)) {
    case NothingLeft::kRingButForAllReduce:
      return kind != Collective::kAllReduce;
    case NothingLeft::kRing:
      return true;
    case NothingLeft::kRingInProtocols:
      return protocols[index_of(kind)][weft::coll::nccl::index_of(proto)].value_or(true);
    case NothingLeft::kRefused:
      break;
  }
  return false;
}

std::optional<float> TuningModel::estimate_us(Collective kind, Algo algo, Proto proto, Bytes bytes, int operations) const {
  return cost(kind, algo, proto).enabled ? time_us(kind, algo, proto, bytes, operations) : std::nullopt;
}

std::optional<float> TuningModel::time_us(Collective kind, Algo algo, Proto proto, Bytes bytes, int operations) const {
  const Cost& entry = cost(kind, algo, proto);
  if (entry.bandwidth_GBps <= 0) return std::nullopt;
  float bandwidth = entry.bandwidth_GBps;
  float latency = entry.latency_us;
  const std::int64_t size = bytes.count();
  const int doublings = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size) >> 6)) - 1;
  if (kind == Collective::kAllReduce && doublings >= 0) {
    if (algo == Algo::kTree && doublings < kTreeCorrections) bandwidth *= tree_correction(proto, doublings);
    const bool corrected = tables_.nvls_tree_correction && comm_.min_sm >= 100 && comm_.cpu.arch == net::CpuArch::kX86;
    if (algo == Algo::kNvlsTree && corrected && doublings < kNvlsTreeCorrections) {
      bandwidth *= tree_correction(proto, doublings);
    }
  }
  if (algo == Algo::kRing && proto == Proto::kSimple && comm_.nodes > 1 && kind == Collective::kAllReduce &&
      size / (static_cast<std::int64_t>(comm_.channels) * comm_.ranks) >= kPlateauBytes) {
    latency = static_cast<float>(latency * (comm_.min_sm < 80 ? 1.9 : 1.4));
  }
  const int latencies = algo == Algo::kRing ? operations : (operations + kOperationsPerBatch - 1) / kOperationsPerBatch;
  return latency * static_cast<float>(latencies) + static_cast<float>(size) / (1000 * bandwidth);
}

Selection TuningModel::select(Collective kind, Bytes bytes, int operations, const CollectiveCall& data) const {
  Selection best;
  if (comm_.ranks <= 1) {
    best.reason = "one rank: a copy at most";
    return best;
  }
  best.estimate_us = std::numeric_limits<float>::max();
  int compared = 0;
  const auto compare = [&](Algo algo, Proto proto, std::optional<float> time) {
    if (!time) return;
    ++compared;
    *time *= inexact_factor(comm_, kind, algo, data);
    if (*time < best.estimate_us) best = {.algo = algo, .proto = proto, .estimate_us = *time, .reason = {}};
  };
  for_each_choice([&](Algo algo, Proto proto) {
    if (why_not_for_data(comm_, kind, algo, data).empty())
      compare(algo, proto, estimate_us(kind, algo, proto, bytes, operations));
  });
  if (compared == 0) {
    const ChoiceList protocols = parse_protocols(settings_.find("PROTO").value_or(""));
    for (std::size_t p = 0; p < kProtos; ++p) {
      const auto proto = static_cast<Proto>(p);
      if (falls_back(kind, proto, protocols)) compare(Algo::kRing, proto, time_us(kind, Algo::kRing, proto, bytes, operations));
    }
  }
  if (compared == 0) refuse(kind, data);
  const std::string given = asked();
  best.reason = compared == 1 ? fmt::format("{}, the only one left", label(best.algo, best.proto))
                              : fmt::format("{}, {:.1f} us, the least of {} estimates", label(best.algo, best.proto),
                                            best.estimate_us, compared);
  if (!given.empty()) best.reason += " under " + given;
  return best;
}

std::string TuningModel::asked() const {
  std::string text;
  for (const char* key : {"ALGO", "PROTO"}) {
    if (const auto value = settings_.find(key)) text += fmt::format("{}NCCL_{}={}", text.empty() ? "" : " ", key, *value);
  }
  return text;
}

void TuningModel::refuse(Collective kind, const CollectiveCall& data) const {
  const ChoiceList algorithms = parse_algorithms(settings_.find("ALGO").value_or(""));
  const ChoiceList protocols = parse_protocols(settings_.find("PROTO").value_or(""));
  const std::size_t k = index_of(kind);
  std::string reasons;
  for_each_choice([&](Algo algo, Proto proto) {
    if (!algorithms[k][index_of(algo)].value_or(true) || !protocols[k][index_of(proto)].value_or(true)) return;
    const Cost& entry = cost(kind, algo, proto);
    std::string why = entry.disabled_because.empty() ? why_not_for_data(comm_, kind, algo, data) : entry.disabled_because;
    if (why.empty()) why = "its channels have no bandwidth";
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", label(algo, proto), why);
  });
  throw ConfigError(fmt::format("{}: NCCL refuses to run {} here ({})", asked().empty() ? "nccl" : asked(), to_string(kind),
                                reasons.empty() ? "the lists leave no combination" : reasons));
}

std::vector<std::string> TuningModel::disabled(Collective kind) const {
  std::vector<std::string> lines;
  for (std::size_t a = 0; a < kAlgos; ++a) {
    const auto algo = static_cast<Algo>(a);
    const Cost& simple = cost(kind, algo, Proto::kSimple);
    // One line for the algorithm where all its protocols are off for one reason, else a line for each protocol.
    bool same = !simple.enabled;
    for (std::size_t p = 0; p < kProtos && (algo == Algo::kRing || algo == Algo::kTree); ++p) {
      const Cost& entry = cost(kind, algo, static_cast<Proto>(p));
      same = same && entry.disabled_because == simple.disabled_because;
    }
    if (same) {
      lines.push_back(fmt::format("{}: {}", to_string(algo), simple.disabled_because));
      continue;
    }
    for (std::size_t p = 0; p < kProtos && (algo == Algo::kRing || algo == Algo::kTree); ++p) {
      const Cost& entry = cost(kind, algo, static_cast<Proto>(p));
      if (!entry.enabled) lines.push_back(fmt::format("{}: {}", label(algo, static_cast<Proto>(p)), entry.disabled_because));
    }
  }
  return lines;
}

std::string TuningModel::table() const {
  std::string text;
  for (std::size_t k = 0; k < kTunedCollectives; ++k) {
    const Collective kind = tuned_collective(k);
    text += fmt::format("{:<14}", to_string(kind));
    for_each_choice([&](Algo algo, Proto proto) {
      const Cost& entry = cost(kind, algo, proto);
      if (!entry.enabled) return;
      text += fmt::format("  {} {:.1f} us/{:.1f} GB/s", label(algo, proto), entry.latency_us, entry.bandwidth_GBps);
    });
    text += '\n';
  }
  return text;
}

}  // namespace weft::coll::nccl
