// The members of a worker that act together: threads of one process, forked processes, or MPI's ranks. All calls are
// collective.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace weft::measure {

class Team {
 public:
  Team(int rank, int size) : rank_{rank}, size_{size} {}
  virtual ~Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  virtual void barrier() = 0;
  // From member 0 to all; at most kBoardBytes.
  virtual void broadcast(void* data, std::size_t bytes) = 0;
  // Every member's value, by rank, to all.
  [[nodiscard]] virtual std::vector<double> gather(double value) = 0;

  [[nodiscard]] double maximum(double value);
  [[nodiscard]] double mean(double value);
  [[nodiscard]] double sum(double value);

  static constexpr std::size_t kBoardBytes = 4096;

 private:
  int rank_;
  int size_;
};

// The members of one machine share this; it lives in memory that forked processes see too. Barriers spin: they stand beside
// timings, and a sleeping member would wake up late.
class SharedArea {
 public:
  static constexpr int kMaxMembers = 64;
  // In memory that children forked later share. Never freed: it lives as long as the worker.
  [[nodiscard]] static SharedArea& create();

 private:
  friend class SharedTeam;
  struct Fields;
  explicit SharedArea(Fields& fields) : fields_{fields} {}
  Fields& fields_;
};

class SharedTeam final : public Team {
 public:
  SharedTeam(SharedArea& area, int rank, int size) : Team{rank, size}, area_{area} {}

  void barrier() override;
  void broadcast(void* data, std::size_t bytes) override;
  [[nodiscard]] std::vector<double> gather(double value) override;

 private:
  SharedArea& area_;
};

}  // namespace weft::measure
