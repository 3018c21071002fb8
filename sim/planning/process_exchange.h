// Processes of one run over a Messenger: network/part_processes.h over MPI.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "sim/network/part_processes.h"
#include "sim/planning/sweep/messenger.h"

namespace weft::plan {

// The first process dismisses the others when it ends without having begun, and aborts all where it ends in between.
class ProcessExchange final : public net::PartProcesses {
 public:
  explicit ProcessExchange(Messenger& messenger);  // must outlive it
  ~ProcessExchange() override;
  ProcessExchange(const ProcessExchange&) = delete;
  ProcessExchange& operator=(const ProcessExchange&) = delete;

  [[nodiscard]] int rank() const override { return messenger_.rank(); }
  [[nodiscard]] int size() const override { return messenger_.size(); }
  void begin(int count) override;
  [[nodiscard]] std::vector<std::string> exchange(std::vector<std::string> to) override;
  void finish() override { is_open_ = false; }

 private:
  [[nodiscard]] std::string wait_for(std::size_t from);

  Messenger& messenger_;
  std::vector<std::deque<std::string>> come_;  // by rank: what is not asked for yet
  bool has_begun_ = false;
  bool is_open_ = false;
};

}  // namespace weft::plan
