#include "sim/collectives/registered_schedule.h"

#include <algorithm>
#include <utility>

namespace weft::coll {
namespace {

constexpr double kFlagShare = (1.0 - kRegisteredShare) / 2;  // of the warp that scatters, and of the one that gathers

class RegisteredSchedule final : public Schedule {
 public:
  RegisteredSchedule(std::shared_ptr<const Schedule> inner, const Communicator& communicator,
                     const RegisteredBuffers& registration)
      : inner_{std::move(inner)}, communicator_{communicator}, registration_{registration} {}

  [[nodiscard]] int ranks() const override { return inner_->ranks(); }
  [[nodiscard]] int channels() const override { return inner_->channels(); }
  [[nodiscard]] int lanes(Rank rank, int channel) const override { return inner_->lanes(rank, channel); }
  [[nodiscard]] std::int64_t step_count(Rank rank, int channel, int lane) const override {
    return inner_->step_count(rank, channel, lane);
  }
  [[nodiscard]] Nets nets() const override { return inner_->nets(); }
  [[nodiscard]] bool in_place() const override { return inner_->in_place(); }
  [[nodiscard]] std::int64_t loops(int channel) const override { return inner_->loops(channel); }
  [[nodiscard]] std::int64_t hops() const override { return inner_->hops(); }

  [[nodiscard]] Step step(Rank rank, int channel, int lane, std::int64_t index) const override {
    Step step = inner_->step(rank, channel, lane, index);
    if (registration_.in_switch && step.is_spread()) {
      (step.send_to.empty() ? step.delivered : step.fetched) = true;
      return step;
    }
    const bool as_it_is = step.receive_from.size() + (step.use_source ? 1 : 0) == 1 && !step.accumulate;
    if (!as_it_is || step.receive_in_switch || step.send_in_switch) return step;
    const auto all = [&](const Peers& peers, bool far) {
      return !peers.empty() && std::ranges::all_of(peers, [&](Rank peer) { return is_far(rank, peer) == far; });
    };
    step.delivered = step.store && ((registration_.of_peers && all(step.receive_from, false)) ||
                                    (registration_.of_network && all(step.receive_from, true)));
    step.fetched = registration_.of_network && all(step.send_to, true);
    if (step.fetched && step.receive_from.empty()) step.delivered = true;  // other warps copy it meanwhile
    return step;
  }

  [[nodiscard]] double warp_share(Rank rank, int channel, int lane) const override {
    const double share = inner_->warp_share(rank, channel, lane);
    if (!registration_.in_switch) return share;
    if (only_flags(rank, channel, lane)) return kFlagShare;
    double all = 0;
    for (int other = 0; other < lanes(rank, channel); ++other) {
      if (!only_flags(rank, channel, other)) all += inner_->warp_share(rank, channel, other);
    }
    return kRegisteredShare * share / all;
  }

  [[nodiscard]] std::unique_ptr<Schedule> with_fewer_loops(std::int64_t fewer) const override {
    return again(inner_->with_fewer_loops(fewer));
  }
  [[nodiscard]] std::unique_ptr<Schedule> with_hops(std::int64_t hops) const override { return again(inner_->with_hops(hops)); }

  [[nodiscard]] bool has_fluid_flows() const override { return !registration_.in_switch && inner_->has_fluid_flows(); }
  [[nodiscard]] std::int64_t fluid_flow_count() const override { return inner_->fluid_flow_count(); }
  [[nodiscard]] FluidFlow fluid_flow(std::int64_t index) const override { return inner_->fluid_flow(index); }

 private:
  [[nodiscard]] bool is_far(Rank a, Rank b) const { return communicator_.node_of(a) != communicator_.node_of(b); }
  // A lane that scatters or gathers, or has nothing to do at all.
  [[nodiscard]] bool only_flags(Rank rank, int channel, int lane) const {
    return inner_->step_count(rank, channel, lane) == 0 || inner_->step(rank, channel, lane, 0).is_spread();
  }
  [[nodiscard]] std::unique_ptr<Schedule> again(std::unique_ptr<Schedule> shorter) const {
    if (shorter == nullptr) return nullptr;
    return std::make_unique<RegisteredSchedule>(std::move(shorter), communicator_, registration_);
  }

  std::shared_ptr<const Schedule> inner_;
  const Communicator& communicator_;
  RegisteredBuffers registration_;
};

}  // namespace

std::shared_ptr<const Schedule> with_registration(std::shared_ptr<const Schedule> schedule, const Communicator& communicator,
                                                  const RegisteredBuffers& registration) {
  if (!registration.any()) return schedule;
  return std::make_shared<const RegisteredSchedule>(std::move(schedule), communicator, registration);
}

}  // namespace weft::coll
