#include "sim/planning/plan_search/pass_profile.h"

#include <algorithm>
#include <limits>

#include "sim/core/error.h"

namespace weft::plan {
namespace {

constexpr std::uint32_t kUnknown = std::numeric_limits<std::uint32_t>::max();

double factor_beside(const work::ContentionCosts& costs, work::Category category, int ctas) {
  work::KernelClass kernel_class = work::KernelClass::kMemory;
  if (category == work::Category::kGemm) kernel_class = work::KernelClass::kGemm;
  if (category == work::Category::kAttention) kernel_class = work::KernelClass::kAttention;
  return work::slowdown_beside(costs, kernel_class, ctas);
}

// Piece numbers: layer l forward 2 l, backward 2 l + 1; behind the layers the embedding and the head.
Pass& piece_of(StepPieces& pieces, std::uint32_t number) {
  const auto piece = static_cast<std::size_t>(number / 2);
  const std::size_t layers = pieces.layers.size();
  PassPair& pair = piece < layers ? pieces.layers[piece] : piece == layers ? pieces.embedding : pieces.head;
  return number % 2 == 0 ? pair.forward : pair.backward;
}

}  // namespace

struct PassProfile::State {
  struct Collective {
    std::uint32_t from = 0;  // number of the first kernel beside it
    double end = 0;
    int ctas = 0;
  };
  StepPieces pieces;
  std::vector<double> ends;
  std::vector<double> stream_ends;
  std::vector<Collective> under_way;
  double computed = 0;
  std::uint32_t piece = kUnknown;
};

PassProfile::PassProfile(const work::RankProgram& program, std::int64_t layers,
                         const std::function<Cost(const work::Operation&)>& cost_of, const work::ContentionCosts& contention)
    : contention_{contention}, layers_{layers}, streams_{std::max<std::size_t>(1, program.streams.size())} {
  read(program, cost_of);
  find_starts(program);
}

void PassProfile::read(const work::RankProgram& program, const std::function<Cost(const work::Operation&)>& cost_of) {
  const auto embedding = static_cast<std::uint32_t>(2 * layers_);
  const std::uint32_t head = embedding + 2;
  std::uint32_t kernels = 0;
  bool has_begun = false;
  bool in_backward = false;
  std::int64_t last_layer = -1;
  for (const work::Operation& op : program.operations) {
    // The optimizer and a step's end belong to no microbatch.
    const bool counts = op.microbatch >= 0;
    Step step{.stream = op.stream, .category = op.category};
    if (op.stream == 0) {
      if (op.layer >= 0) {
        has_begun = true;
        last_layer = op.layer;
        step.piece = static_cast<std::uint32_t>(2 * op.layer) + (in_backward ? 1 : 0);
      } else {
        // Embedding, layers, head and its gradients, layers, embedding.
        if (has_begun && last_layer == layers_ - 1) in_backward = true;
        const bool at_head = in_backward && last_layer == layers_ - 1;
        step.piece = (at_head ? head : embedding) + (in_backward ? 1 : 0);
      }
      if (!counts) step.piece = kUnknown;
      step.number = kernels++;
      step.seconds = op.duration.seconds();
      step.load = work::load_of(op);
      step.second_wave = op.weight_gradient;
    } else if (op.kind == work::OpKind::kCollective) {
      const Cost cost = cost_of(op);
      step.seconds = cost.seconds;
      step.ctas = static_cast<std::int16_t>(cost.ctas);
      step.number = kUnknown;
      step.piece = kUnknown;
      if (counts && op.layer >= 0) step.piece = static_cast<std::uint32_t>(2 * op.layer) + (in_backward ? 1 : 0);
    }
    const auto waits = program.waits_of(op);
    step.first_wait = static_cast<std::uint32_t>(waits_.size());
    step.waits = static_cast<std::uint16_t>(waits.size());
    waits_.insert(waits_.end(), waits.begin(), waits.end());
    steps_.push_back(step);
  }
}

// From which kernel on a collective certainly is under way: the one behind all that it waits for.
void PassProfile::find_starts(const work::RankProgram& program) {
  // The first kernel that waits for each.
  std::vector<std::uint32_t> done_by(steps_.size(), kUnknown);
  std::vector<std::uint32_t> kernels;
  for (std::uint32_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].stream != 0) continue;
    kernels.push_back(i);
    for (const work::OpIndex wait : program.waits_of(program.operations[i])) {
      if (steps_[wait].stream != 0) done_by[wait] = std::min(done_by[wait], steps_[i].number);
    }
  }
  std::vector<std::uint32_t> last_of_stream(streams_, kUnknown);
  std::vector<std::uint32_t> before;
  for (std::uint32_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    if (step.stream == 0) continue;
    const auto waits = program.waits_of(program.operations[i]);
    before.assign(waits.begin(), waits.end());
    if (last_of_stream[step.stream] != kUnknown) before.push_back(last_of_stream[step.stream]);
    last_of_stream[step.stream] = i;
    std::uint32_t from = 0;
    for (const std::uint32_t wait : before) {
      const std::uint32_t done = steps_[wait].stream == 0 ? steps_[wait].number + 1 : done_by[wait];
      from = std::max(from, done);
    }
    step.number = from;
    if (from >= kernels.size()) continue;
    // It begins together with that kernel where the kernel waits for nothing else.
    const std::uint32_t kernel = kernels[from];
    step.beside_compute = i < kernel;
    for (const work::OpIndex wait : program.waits_of(program.operations[kernel])) {
      if (steps_[wait].stream == 0 || done_by[wait] < from) continue;
      if (std::ranges::find(before, wait) == before.end()) step.beside_compute = false;
    }
  }
}

void PassProfile::run_kernel(const Step& step, std::uint32_t index, double slowdown, bool contends, State& state) const {
  const double alone = step.seconds * (work::is_compute(step.category) ? work::stretch_of(slowdown, step.load.memory) : 1.0);
  double start = state.computed;
  for (std::uint32_t i = 0; i < step.waits; ++i) start = std::max(start, state.ends[waits_[step.first_wait + i]]);
  const double waited = start - state.computed;

  // Collectives under way, those that end first first; what is left of the kernel runs slower until each ends.
  std::erase_if(state.under_way, [&](const State::Collective& c) { return c.end <= start; });
  double taken = alone;
  if (contends && alone > 0) {
    std::ranges::sort(state.under_way, {}, &State::Collective::end);
    int ctas = 0;
    double last = start;
    for (const State::Collective& c : state.under_way) {
      if (c.from > step.number) continue;
      ctas += c.ctas;
      last = std::max(last, c.end);
    }
    if (ctas > 0 && step.second_wave) {
      taken = alone + std::min(alone, last - start);
    } else if (ctas > 0) {
      double left = alone;
      double now = start;
      for (const State::Collective& c : state.under_way) {
        if (c.from > step.number || left <= 0) continue;
        const double factor = factor_beside(contention_, step.category, ctas);
        const double done = std::min(left, (c.end - now) / factor);
        now += done * factor;
        left -= done;
        ctas -= c.ctas;
      }
      taken = now + left - start;
    }
  }
  state.computed = start + taken;
  state.ends[index] = state.computed;
  if (step.piece == kUnknown) return;
  Pass& pass = piece_of(state.pieces, step.piece);
  (state.piece != step.piece ? pass.entry : pass.seconds) += waited;
  state.piece = step.piece;
  pass.seconds += taken;
  pass.compute += alone;
  pass.tensor += step.seconds * step.load.tensor;
  if (step.category == work::Category::kAttention) pass.attention += alone;
  if (step.category == work::Category::kOtherCompute) pass.memory += alone;
}

StepPieces PassProfile::at(double slowdown, bool contends) const {
  State state;
  state.pieces.layers.resize(static_cast<std::size_t>(layers_));
  state.ends.assign(steps_.size(), 0);
  state.stream_ends.assign(streams_, 0);
  for (std::uint32_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    if (step.stream == 0) {
      run_kernel(step, i, slowdown, contends, state);
      continue;
    }
    double start = state.stream_ends[step.stream];
    for (std::uint32_t w = 0; w < step.waits; ++w) start = std::max(start, state.ends[waits_[step.first_wait + w]]);
    const double taken = step.seconds * (contends ? work::collective_slowdown(contention_, step.beside_compute) : 1.0);
    state.ends[i] = state.stream_ends[step.stream] = start + taken;
    if (step.category == work::Category::kCommExpert && step.piece != kUnknown && step.ctas > 0) {
      Pass& pass = piece_of(state.pieces, step.piece);
      pass.experts += step.seconds;
      pass.expert_ctas = pass.expert_ctas > 0 ? std::min<int>(pass.expert_ctas, step.ctas) : step.ctas;
    }
    if (step.ctas > 0) state.under_way.push_back({step.number, start + taken, step.ctas});
  }
  return std::move(state.pieces);
}

}  // namespace weft::plan
