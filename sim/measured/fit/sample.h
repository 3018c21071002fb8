// Measured numbers as fits see them, and the sets of parameters that a fit tries.
//
//   Sample sample = ...;                     // a kind of point makes it (point_kind.h)
//   Trial trial{profile, &cluster};
//   sample.predict(trial, sample.point);     // sample.point.predicted_us is that of `profile`
//   residual = sample.weight * log(predicted / measured)
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/profile.h"
#include "sim/measured/readers/kernel_log.h"
#include "sim/measured/validation_report.h"
#include "sim/network/cluster.h"

namespace weft::measured {

// The cluster with another profile: its links are made anew.
[[nodiscard]] net::Cluster with_profile(const net::Cluster& cluster, const Profile& profile);

// One set of parameters, which samples are predicted under in the order of their logs.
class Trial {
 public:
  // `cluster`: the machine as it was loaded; null where no sample asks for it.
  Trial(Profile profile, const net::Cluster* cluster) : profile_{std::move(profile)}, loaded_{cluster} {}

  [[nodiscard]] const Profile& profile() const { return profile_; }
  // With these parameters; made when it is first asked for.
  [[nodiscard]] const net::Cluster& cluster();

  // Returns what the samples of one log share, such as the machine that they run on: what `make` gives, a shared_ptr<State>.
  // Only that of the last log is kept.
  template <class State, class Make>
  [[nodiscard]] State& shared(const void* log, const Make& make) {
    if (log != log_) {
      state_.reset();
      state_ = make();
      log_ = log;
    }
    return *static_cast<State*>(state_.get());
  }

 private:
  Profile profile_;
  const net::Cluster* loaded_;
  std::optional<net::Cluster> cluster_;
  const void* log_ = nullptr;
  std::shared_ptr<void> state_;  // goes before the cluster that it may stand on
};

// An error that samples have in common and no parameter explains, such as that of one run.
struct SharedError {
  std::string name;
  double relative = 0;  // what one standard deviation makes of the sample
};

struct Sample {
  ValidationPoint point;                // what was measured, as reports show it
  Calibration::Training training = {};  // its log, as a profile lists it, and its size where only some sizes of a log train
  double weight = 1;                    // of its residual
  std::vector<SharedError> shared = {};
  // Sets the prediction of a point that is this sample's. False: the user stopped it. ConfigError where there is none.
  std::function<bool(Trial&, ValidationPoint&)> predict;
};

// Parameters that are found together, and what they are fitted to.
struct FitPart {
  std::string id;  // of the calibration in the profile; several parts may make up one
  std::vector<std::string> keys;
  std::vector<Sample> samples;
  std::map<std::string, double> starts = {};  // of keys that begin elsewhere than the others of the fit
};

// The logs that fits of kernels and copies are made from.
struct FitData {
  const std::vector<KernelLog>& logs;
  const Profile& profile;       // with what earlier parts found
  const net::Cluster* cluster;  // where copies were measured; null: not known
};

}  // namespace weft::measured
