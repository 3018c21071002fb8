#include "sim/workloads/kernels/recent_load.h"

#include <algorithm>
#include <cmath>

namespace weft::work {
namespace {

constexpr double kPiecesOfWindow = 8;  // as finely as a long step's clock falls

}  // namespace

// The first piece is cut, so that exactly one window is held.
void RecentLoad::add(const Piece& piece) {
  const double window = power_.costs.window.seconds();
  pieces_.push_back(piece);
  held_ += piece.seconds;
  sum_.tensor += piece.seconds * piece.draw.tensor;
  sum_.memory += piece.seconds * piece.draw.memory;
  while (held_ > window) {
    Piece& first = pieces_.front();
    const double over = std::min(held_ - window, first.seconds);
    held_ -= over;
    sum_.tensor -= over * first.draw.tensor;
    sum_.memory -= over * first.draw.memory;
    first.seconds -= over;
    if (first.seconds > 0) break;
    pieces_.pop_front();
  }
}

double RecentLoad::slowdown_of(Time now, Duration alone, const PowerDraw& draw) {
  if (power_.limit <= 0 || alone <= Duration{}) return 1.0;
  const double window = power_.costs.window.seconds();
  if (now > end_) add({.seconds = std::min((now - end_).seconds(), window), .draw = {}});
  const double pieces = std::max(1.0, std::ceil(alone.seconds() * kPiecesOfWindow / window));
  const Piece piece{.seconds = alone.seconds() / pieces, .draw = draw};
  double sum = 0;
  // A window that was not full yet was at rest before. From the second window on, a long step is all that counts.
  const double stepwise = std::min(pieces, kPiecesOfWindow + 1);
  for (double i = 0; i < stepwise; i += 1) {
    add(piece);
    const double slowdown = slowdown_under(power_, {.tensor = sum_.tensor / window, .memory = sum_.memory / window});
    sum += slowdown * (i + 1 < stepwise ? 1.0 : pieces - stepwise + 1.0);
  }
  end_ = now + alone;
  return sum / pieces;
}

}  // namespace weft::work
