#include "sim/planning/process_exchange.h"

#include <thread>
#include <utility>

namespace weft::plan {
namespace {

const std::string kGo = "go";
const std::string kLeave = "leave";
constexpr int kOurBug = 70;

}  // namespace

ProcessExchange::ProcessExchange(Messenger& messenger)
    : messenger_{messenger}, come_(static_cast<std::size_t>(messenger.size())) {}

ProcessExchange::~ProcessExchange() {
  if (rank() > 0) return;
  if (is_open_) messenger_.abort(kOurBug);
  if (has_begun_) return;
  for (int other = 1; other < size(); ++other) messenger_.send(other, kLeave);
}

void ProcessExchange::begin(int count) {
  if (rank() == 0) {
    for (int other = 1; other < size(); ++other) messenger_.send(other, other < count ? kGo : kLeave);
  } else if (wait_for(0) != kGo) {
    throw net::ServedOthers{};
  }
  has_begun_ = is_open_ = true;
}

std::string ProcessExchange::wait_for(std::size_t from) {
  while (come_[from].empty()) {
    std::optional<Message> message = messenger_.receive();
    if (message) {
      come_[static_cast<std::size_t>(message->from)].push_back(std::move(message->text));
    } else {
      std::this_thread::yield();  // others may need this processor
    }
  }
  std::string text = std::move(come_[from].front());
  come_[from].pop_front();
  return text;
}

std::vector<std::string> ProcessExchange::exchange(std::vector<std::string> to) {
  const auto self = static_cast<std::size_t>(rank());
  for (std::size_t other = 0; other < to.size(); ++other) {
    if (other != self) messenger_.send(static_cast<int>(other), to[other]);
  }
  std::vector<std::string> from(to.size());
  for (std::size_t other = 0; other < to.size(); ++other) {
    if (other != self) from[other] = wait_for(other);
  }
  return from;
}

}  // namespace weft::plan
