#include "sim/planning/sweep/work_sharing.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "sim/core/config/quantity.h"
#include "sim/core/error.h"
#include "sim/core/result_header.h"
#include "sim/planning/sweep/row_text.h"

namespace weft::plan {
namespace {

// How long rows may wait for their transaction, and how often a process looks for messages. The short one costs a waking every
// two milliseconds, which matters only where there is somebody to wait for.
constexpr std::chrono::milliseconds kCommitEvery{20};
constexpr std::chrono::milliseconds kMessagesEvery{2};

// Threads that run points, and what they found. The points to run are added in any number at any time.
class PointThreads {
 public:
  PointThreads(const SweepRunOptions& options, const SweepPlan& plan) : options_{options}, plan_{plan} {
    for (int i = 0; i < options.threads; ++i) threads_.emplace_back([this] { work(); });
  }
  ~PointThreads() {
    halt();
    for (std::thread& thread : threads_) thread.join();
  }
  PointThreads(const PointThreads&) = delete;
  PointThreads& operator=(const PointThreads&) = delete;

  void add(const std::vector<std::uint64_t>& points) {
    const std::lock_guard lock{mutex_};
    todo_.insert(todo_.end(), points.begin(), points.end());
    there_is_work_.notify_all();
  }
  // The next point, for somebody else to run.
  [[nodiscard]] std::optional<std::uint64_t> give_away() {
    const std::lock_guard lock{mutex_};
    return pop();
  }
  // Points that run are cut short and leave no row.
  void halt() {
    const std::lock_guard lock{mutex_};
    halted_ = true;
    there_is_work_.notify_all();
  }
  // Returns the rows that were finished since the last call; waits that long where there are none. Throws what a thread has
  // thrown.
  [[nodiscard]] std::vector<PointRow> take(std::chrono::milliseconds wait) {
    std::unique_lock lock{mutex_};
    if (rows_.empty() && problem_ == nullptr) there_are_rows_.wait_for(lock, wait);
    if (problem_ != nullptr) std::rethrow_exception(problem_);
    return std::exchange(rows_, {});
  }

 private:
  [[nodiscard]] std::optional<std::uint64_t> pop() {
    if (todo_.empty()) return std::nullopt;
    const std::uint64_t point = todo_.front();
    todo_.pop_front();
    return point;
  }

  // Waits for a point; none once all is to end.
  [[nodiscard]] std::optional<std::uint64_t> next() {
    std::unique_lock lock{mutex_};
    there_is_work_.wait(lock, [this] { return halted_.load() || !todo_.empty(); });
    return halted_ ? std::nullopt : pop();
  }

  void work() {
    try {
      const Sweep sweep{options_.file, options_.overrides};
      while (const auto point = next()) {
        std::optional<PointRow> row = run_point(sweep, plan_, *point, halted_);
        if (!row) return;
        const std::lock_guard lock{mutex_};
        rows_.push_back(std::move(*row));
        if (todo_.empty()) there_are_rows_.notify_one();
      }
    } catch (...) {
      const std::lock_guard lock{mutex_};
      if (problem_ == nullptr) problem_ = std::current_exception();
      halted_ = true;
      there_is_work_.notify_all();
      there_are_rows_.notify_one();
    }
  }

  const SweepRunOptions& options_;
  const SweepPlan& plan_;
  std::mutex mutex_;
  std::condition_variable there_is_work_;
  std::condition_variable there_are_rows_;
  std::deque<std::uint64_t> todo_;
  std::vector<PointRow> rows_;
  std::exception_ptr problem_;
  std::atomic<bool> halted_ = false;
  std::vector<std::thread> threads_;  // last: they use all of the above
};

// The first letter of a message says its kind, and its text follows.
constexpr char kHello = 'H';       // to rank 0: digest of the sweep, a space, points wanted
constexpr char kRow = 'R';         // to rank 0: a row; one more point is wanted
constexpr char kMistake = 'M';     // to rank 0: why its sender runs no points
constexpr char kGoodbye = 'G';     // to rank 0: the last of its sender
constexpr char kPoint = 'P';       // from rank 0: an id
constexpr char kEndMessage = 'E';  // from rank 0

// Rank 0's side: who wants points, and handing them out.
class Others {
 public:
  Others(Messenger* messenger, const SweepPlan& plan)
      : messenger_{messenger},
        plan_{plan},
        wanted_(messenger == nullptr ? 0 : static_cast<std::size_t>(messenger->size()), 0) {}
  // Takes in all messages that are there; rows are appended.
  void listen(std::vector<PointRow>& rows) {
    while (auto message = messenger_ == nullptr ? std::nullopt : messenger_->receive()) {
      const std::string_view text = std::string_view{message->text}.substr(1);
      std::int64_t& wanted = wanted_.at(static_cast<std::size_t>(message->from));
      if (message->text.front() == kRow) {
        rows.push_back(row_of_message(text));
        ++wanted;
        continue;
      }
      if (message->text.front() == kMistake) {
        throw ConfigError(fmt::format("process {} cannot run points of this sweep:\n{}", message->from, text));
      }
      const std::size_t space = text.find(' ');
      if (text.substr(0, space) != digest_text(plan_.digest)) {
        throw ConfigError(
            fmt::format("process {} reads another sweep than process 0: the files differ between machines", message->from));
      }
      wanted += parse_integer(text.substr(space + 1)).value_or(0);
    }
  }
  void hand_out(PointThreads& points) {
    for (bool more = true; more;) {
      more = false;
      for (std::size_t rank = 1; rank < wanted_.size(); ++rank) {
        if (wanted_[rank] == 0) continue;
        const auto point = points.give_away();
        if (!point) return;
        messenger_->send(static_cast<int>(rank), kPoint + std::to_string(*point));
        --wanted_[rank];
        more = true;
      }
    }
  }

 private:
  Messenger* messenger_;
  const SweepPlan& plan_;
  std::vector<std::int64_t> wanted_;  // by rank
};

}  // namespace

SweepProgress run_sweep_points(const SweepRunOptions& options, const SweepPlan& plan, SweepDatabase& database,
                               Messenger* messenger) {
  SweepProgress progress{.total = plan.points.size()};
  const std::vector<bool> finished = database.finished();
  std::vector<std::uint64_t> todo;
  for (std::uint64_t id = 0; id < finished.size(); ++id) {
    if (finished[id]) {
      ++progress.done;
    } else {
      todo.push_back(id);
    }
  }
  Others others{messenger, plan};
  if (todo.empty()) return progress;
  PointThreads threads{options, plan};
  threads.add(todo);
  const bool is_alone = messenger == nullptr || messenger->size() == 1;
  while (progress.done < progress.total && !(options.stop != nullptr && options.stop->load())) {
    std::vector<PointRow> rows = threads.take(is_alone ? kCommitEvery : kMessagesEvery);
    others.listen(rows);
    others.hand_out(threads);
    database.add(rows);
    for (const PointRow& row : rows) progress.refused += row.error.empty() ? 0 : 1;
    progress.done += rows.size();
    progress.finished += rows.size();
    options.on_progress(progress);
  }
  return progress;
}

void serve_sweep_points(const SweepRunOptions& options, const SweepPlan& plan, Messenger& messenger) {
  // One point more for each thread than it runs, so that it need not wait for the next.
  messenger.send(0, fmt::format("{}{} {}", kHello, digest_text(plan.digest), 2 * options.threads));
  PointThreads threads{options, plan};
  while (true) {
    while (const auto message = messenger.receive()) {
      if (message->text.front() == kEndMessage) {
        messenger.send(0, std::string{kGoodbye});
        return;
      }
      threads.add({static_cast<std::uint64_t>(parse_integer(std::string_view{message->text}.substr(1)).value_or(0))});
    }
    for (const PointRow& row : threads.take(kMessagesEvery)) messenger.send(0, kRow + to_message(row));
  }
}

void report_mistake(const std::string& mistake, Messenger& messenger) {
  messenger.send(0, kMistake + mistake);
  while (true) {
    while (const auto message = messenger.receive()) {
      if (message->text.front() != kEndMessage) continue;
      messenger.send(0, std::string{kGoodbye});
      return;
    }
    std::this_thread::sleep_for(kMessagesEvery);
  }
}

void dismiss_others(Messenger& messenger, const std::atomic<bool>& stop) {
  for (int rank = 1; rank < messenger.size(); ++rank) messenger.send(rank, std::string{kEndMessage});
  for (int rank = 1; rank < messenger.size() && !stop;) {
    const auto message = messenger.receive();
    if (!message) std::this_thread::sleep_for(kMessagesEvery);
    if (message && message->text.front() == kGoodbye) ++rank;
  }
}

}  // namespace weft::plan
