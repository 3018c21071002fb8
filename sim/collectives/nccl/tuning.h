// NCCL's tuning model: what it believes every algorithm and protocol would take, and which one it therefore runs
// (models/nccl §5). Selection only; how long the chosen one takes is the executor's business.
//
//   const TuningModel model(info, settings);
//   const Selection chosen = model.select(Collective::kAllReduce, 1_MiB);   // Ring, LL, 21.4 us, "least of 6 estimates ..."
//
// Estimates are floats, computed in NCCL's order, for ties and thresholds depend on it.
//
// Model: no tuner plugin. Registered buffers change no estimate of NCCL (registered.h).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "sim/collectives/call.h"
#include "sim/collectives/nccl/choice_list.h"
#include "sim/collectives/nccl/graph.h"
#include "sim/collectives/nccl/settings.h"
#include "sim/collectives/nccl/tuning_tables.h"

namespace weft::coll::nccl {

struct Cost {
  float latency_us = 0;
  float bandwidth_GBps = 0;  // of the call's bytes; 0: cannot run
  bool enabled = false;
  std::string disabled_because = {};  // empty where enabled
};

struct Selection {
  Algo algo = Algo::kRing;
  Proto proto = Proto::kSimple;
  float estimate_us = 0;
  std::string reason = {};  // one line for a person
};

class TuningModel {
 public:
  // ConfigError if NCCL_ALGO or NCCL_PROTO cannot be read.
  TuningModel(const CommInfo& comm, const Settings& settings);

  [[nodiscard]] const CommInfo& comm() const { return comm_; }
  [[nodiscard]] const Settings& settings() const { return settings_; }

  // `kind` is one of the five that NCCL tunes (choice_list.h), here and below. Latency and bandwidth are given for what is
  // disabled too, as far as the formulas reach.
  [[nodiscard]] const Cost& cost(Collective kind, Algo algo, Proto proto) const;

  // NCCL's estimate of `operations` calls in a row of together `bytes`, the total over all ranks for all-gather and
  // reduce-scatter; nothing for what is disabled.
  [[nodiscard]] std::optional<float> estimate_us(Collective kind, Algo algo, Proto proto, Bytes bytes,
                                                 int operations = 1) const;

  // The least estimate for elements and a reduction as in `data`, of which neither kind nor bytes are read. ConfigError, saying
  // why, where NCCL_ALGO and NCCL_PROTO leave nothing that runs here.
  [[nodiscard]] Selection select(Collective kind, Bytes bytes, int operations = 1, const CollectiveCall& data = {}) const;

  // One line for every algorithm that is off for this collective, with the reason: "NVLS: NCCL_NVLS_ENABLE=0".
  [[nodiscard]] std::vector<std::string> disabled(Collective kind) const;

  // Lists what is enabled, a line for each collective: "all_reduce  Ring/LL 10.2 us/94.0 GB/s ...".
  [[nodiscard]] std::string table() const;

 private:
  Cost& cost_ref(std::size_t kind, Algo algo, Proto proto);
  void apply_lists();
  // Older releases run the ring where the lists leave nothing.
  [[nodiscard]] bool falls_back(Collective kind, Proto proto, const ChoiceList& protocols) const;
  // The same of what is disabled too.
  [[nodiscard]] std::optional<float> time_us(Collective kind, Algo algo, Proto proto, Bytes bytes, int operations) const;
  [[noreturn]] void refuse(Collective kind, const CollectiveCall& data) const;
  [[nodiscard]] std::string asked() const;

  CommInfo comm_;
  Settings settings_;
  TuningTables tables_;
  std::array<PerAlgoProto<Cost>, kTunedCollectives> costs_ = {};
};

}  // namespace weft::coll::nccl
