#include "sim/workloads/inference/step_times.h"

#include <algorithm>
#include <cmath>

#include "sim/core/whole_numbers.h"
#include "sim/workloads/kernels/kernel_costs.h"
#include "sim/workloads/kernels/paged_attention.h"
#include "sim/workloads/model/messages.h"

namespace weft::work {
namespace {

constexpr std::array<std::string_view, kStepParts> kPartNames{
    "gemm", "attention", "memory_bound", "tensor_parallel", "expert_parallel", "pipeline", "overhead"};

// Steps that are remembered, before all are forgotten: prompts come in many lengths.
constexpr std::size_t kRemembered = 4096;

StepPart part_of(KernelKind kind) {
  switch (class_of(kind)) {
    case KernelClass::kGemm:
      return StepPart::kGemm;
    case KernelClass::kAttention:
      return StepPart::kAttention;
    default:
      return StepPart::kMemory;
  }
}

}  // namespace

std::string_view to_string(StepPart part) { return kPartNames[static_cast<std::size_t>(part)]; }

Duration StepTime::latency() const {
  Duration sum = before + (static_cast<std::int64_t>(stages.size()) - 1) * hop;
  for (const Duration stage : stages) sum += stage;
  return sum;
}

StepTimes::StepTimes(const InferenceSetup& setup, const EnginePlan& plan, const KernelTimes& kernels, const Profile& profile,
                     GroupCosts& costs, std::vector<DeviceId> devices)
    : setup_{setup},
      plan_{plan},
      kernels_{kernels},
      costs_{profile.get(serving_costs)},
      power_{gpu_power(kernels.gpu(), profile)},
      launch_{profile.get(net::launch_timings)},
      memory_fixed_{profile.get(memory_costs).fixed},
      decode_costs_{profile.get(decode_costs)},
      activation_{bytes_per_element(setup.precision.activations)},
      messages_{costs, setup, plan, std::move(devices)} {
  decode_costs_.fixed = {};
  if (setup.full_clock) power_.limit = 0;
  power_.costs.tensor *= most_of(profile.get(power_spread), static_cast<std::size_t>(plan.engine_gpus()));
  recent_.assign(static_cast<std::size_t>(plan.pipeline), RecentLoad{power_});
  const TransformerModel& model = setup.model;
  for (int stage = 0; stage < plan.pipeline; ++stage) {
    std::vector<LayerKind>& kinds = stages_.emplace_back();
    const LayerRange range = stage_layers(model.layers, plan.pipeline, stage);
    for (std::int64_t layer = range.first; layer < range.last; ++layer) {
      const LayerShape shape = layer_shape(model, layer);
      const auto alike = std::ranges::find_if(kinds, [&](const LayerKind& kind) { return kind.shape == shape; });
      if (alike != kinds.end()) {
        ++alike->count;
      } else {
        kinds.push_back({layer, 1, shape});
      }
    }
  }
}

void StepTimes::Busy::add(const Busy& other, std::int64_t times) {
  alone += times * other.alone;
  memory_seconds += static_cast<double>(times) * other.memory_seconds;
  draw.tensor += static_cast<double>(times) * other.draw.tensor;
  draw.memory += static_cast<double>(times) * other.draw.memory;
}

// Small kernels wait for memory rather than for bytes. A row of a norm has a block of threads, of 128 in PyTorch and 1024 in
// engines, each of which loads eight elements at a time. PyTorch's cache is in one piece; where heads are fewer than SMs, a
// second kernel sums the parts.
Duration StepTimes::alone(const Kernel& kernel, bool is_graph) const {
  const bool fuses = setup_.library.fuses;
  switch (kernel.kind) {
    case KernelKind::kNormForward: {
      const std::int64_t loads = ceil_div(setup_.model.hidden, 8 * (fuses ? 1024 : 128));
      return std::max(kernels_.alone(kernel), costs_.norm_kernel + loads * costs_.norm_pass);
    }
    case KernelKind::kStrided:
      return kernels_.alone(kernel) + (costs_.strided_kernel - memory_fixed_);
    case KernelKind::kElementwise:
      return kernels_.alone(kernel) + (costs_.small_kernel - memory_fixed_);
    case KernelKind::kAttentionForward: {
      if (fuses || kernel.use != AttentionUse::kDecode) return kernels_.alone(kernel);
      const GpuSpec& gpu = kernels_.gpu();
      const double seconds = paged_attention_seconds(kernel, gpu, decode_costs_, gpu.sms);
      const Duration main = Duration::nearest_ps(seconds * 1e12);
      if (kernel.batch / std::max<std::int64_t>(kernel.kv_group, 1) >= gpu.sms) return main;
      return main + costs_.strided_kernel + (is_graph ? kernels_.graph_gap() : kernels_.gap());
    }
    default:
      return kernels_.alone(kernel);
  }
}

StepTimes::Busy StepTimes::time_of(const Kernel& kernel, bool is_graph) const {
  Busy busy{.alone = alone(kernel, is_graph) + (is_graph ? kernels_.graph_gap() : kernels_.gap())};
  const PowerLoad load = kernels_.load(kernel, busy.alone);
  const PowerDraw draw = draw_of(power_.costs, load);
  busy.memory_seconds = load.memory * busy.alone.seconds();
  busy.draw = {.tensor = draw.tensor * busy.alone.seconds(), .memory = draw.memory * busy.alone.seconds()};
  return busy;
}

void StepTimes::add_kernels(Sum& sum, const std::vector<NamedKernel>& kernels, std::int64_t times) const {
  for (const NamedKernel& kernel : kernels) {
    const Busy busy = time_of(kernel, sum.is_graph);
    const StepPart part = part_of(kernel.kind);
    sum.add(part, busy, times);
    sum.launches += times;
    if (sum.list == nullptr) continue;
    const double bytes =
        kernel.bytes > 0 ? kernel.bytes : kernels_.load(kernel, 1_s).memory * kernels_.gpu().hbm_bytes_per_second;
    sum.list->push_back({kernel.name, part, times, busy.alone, bytes, kernel.flops(), kernels_.measured_share(kernel)});
  }
}

void StepTimes::add_message(Sum& sum, std::string_view name, StepPart part, Duration duration, double bytes,
                            std::int64_t times) const {
  if (duration == Duration{} || times == 0) return;
  const Duration each = duration + (sum.is_graph ? kernels_.graph_gap() : kernels_.gap());
  sum.add(part, times * each);
  sum.launches += times;
  if (sum.list != nullptr) sum.list->push_back({name, part, times, each, bytes, 0});
}

// Attention and MLP end in an all-reduce each. Where experts are shared by several attention groups, tokens are dealt out over
// the tensor-parallel GPUs between a reduce-scatter and an all-gather, sent to their experts and back (DeepSeek-V3 §3.4).
void StepTimes::add_messages(Sum& sum, int stage, const LayerKind& kind, const GroupTokens& tokens) {
  const double bytes = static_cast<double>(tokens.total() * setup_.model.hidden) * activation_;
  const bool sends_tokens = kind.shape.feed.moe.experts > 0 && plan_.attention_data > 1;
  if (!sends_tokens) {
    const Duration each = messages_.over_tensor(stage, coll::Collective::kAllReduce, bytes);
    const int ends = (kind.shape.mixer.kind != AttentionKind::kNone ? 1 : 0) + (kind.shape.feed.is_none() ? 0 : 1);
    add_message(sum, "all_reduce", StepPart::kTensor, each, bytes, ends * kind.count);
    return;
  }
  add_message(sum, "reduce_scatter", StepPart::kTensor, messages_.over_tensor(stage, coll::Collective::kReduceScatter, bytes),
              bytes, kind.count);
  const MixtureOfExperts& moe = kind.shape.feed.moe;
  const double even = static_cast<double>(tokens.stage * moe.experts_per_token) / plan_.expert;
  const double uneven = even > 0 ? expert_load(setup_, plan_, moe, tokens.stage).rows / even : 1.0;
  const double dealt = std::ceil(static_cast<double>(tokens.total()) / plan_.tensor) * uneven;
  for (const coll::ExpertStep step : {coll::ExpertStep::kDispatch, coll::ExpertStep::kCombine}) {
    const bool is_dispatch = step == coll::ExpertStep::kDispatch;
    const double sent =
        expert_message_bytes(setup_.model, dealt, is_dispatch ? setup_.precision.dispatch : setup_.precision.activations)
            .total();
    add_message(sum, is_dispatch ? "dispatch" : "combine", StepPart::kExperts,
                messages_.to_experts(stage, step, dealt, tokens.prefill == 0), sent, kind.count);
  }
  add_message(sum, "all_gather", StepPart::kTensor, messages_.over_tensor(stage, coll::Collective::kAllGather, bytes), bytes,
              kind.count);
}

// The embedding, whose rows are spread over the tensor-parallel GPUs, and the head with the choice of a token.
void StepTimes::add_ends(Sum& sum, int stage, std::int64_t samples, const GroupTokens& tokens) {
  const TransformerModel& model = setup_.model;
  const double hidden = static_cast<double>(tokens.total() * model.hidden);
  if (stage == 0) {
    add_kernels(sum,
                {{{.kind = KernelKind::kEmbeddingForward, .elements = hidden, .bytes = 2 * activation_ * hidden}, "embedding"}},
                1);
    add_message(sum, "all_reduce", StepPart::kTensor,
                messages_.over_tensor(stage, coll::Collective::kAllReduce, activation_ * hidden), activation_ * hidden, 1);
  }
  if (stage + 1 < plan_.pipeline || samples == 0) return;
  const std::int64_t rows = (samples + plan_.attention_data - 1) / plan_.attention_data;
  const std::int64_t columns = (model.vocab + plan_.tensor - 1) / plan_.tensor;
  const double logits = static_cast<double>(rows * model.vocab);
  const Precision precision = setup_.precision.activations;
  const double weights = activation_ * static_cast<double>(model.hidden * columns);
  add_kernels(sum,
              {{{.kind = KernelKind::kNormForward, .elements = hidden, .bytes = 4 * activation_ * hidden}, "last_norm"},
               {{.kind = KernelKind::kGemm,
                 .precision = precision,
                 .m = rows,
                 .n = columns,
                 .k = model.hidden,
                 .bytes = weights + activation_ * static_cast<double>(rows * (model.hidden + columns))},
                "head"},
               {{.kind = KernelKind::kSoftmaxLoss, .elements = logits, .bytes = 2 * 4 * logits}, "sample"}},
              1);
  add_message(sum, "gather_logits", StepPart::kTensor,
              messages_.over_tensor(stage, coll::Collective::kAllGather, activation_ * logits), activation_ * logits, 1);
}

// Adds the kernels' times at the clock that power leaves beside messages.
void StepTimes::slow_down(Sum& sum, RecentLoad* recent, Time now) const {
  Busy all;
  Duration total;
  for (const Busy& each : sum.busy) all.add(each, 1);
  for (const Duration part : sum.parts) total += part;
  total += all.alone;
  const double seconds = total.seconds();
  if (seconds <= 0) return;
  const PowerDraw draw{.tensor = all.draw.tensor / seconds, .memory = all.draw.memory / seconds};
  const double slowdown = recent != nullptr ? recent->slowdown_of(now, total, draw) : slowdown_under(power_, draw);
  for (std::size_t part = 0; part < kKernelParts; ++part) {
    const Busy& its = sum.busy[part];
    if (its.alone <= Duration{}) continue;
    const double stretch = stretch_of(slowdown, its.memory_seconds / its.alone.seconds());
    if (sum.list != nullptr) {
      for (StepKernel& kernel : *sum.list) {
        if (kernel.part != static_cast<StepPart>(part)) continue;
        kernel.each = Duration::nearest_ps(static_cast<double>(kernel.each.ps()) * stretch);
      }
    }
    sum.parts[part] += Duration::nearest_ps(static_cast<double>(its.alone.ps()) * stretch);
  }
}

// The stage's time; where the host is slower than the GPU, the rest is overhead.
Duration StepTimes::finish(Sum& sum, RecentLoad* recent, Time now) const {
  slow_down(sum, recent, now);
  Duration total;
  for (const Duration part : sum.parts) total += part;
  if (recent != nullptr) recent->ended(now + total);
  if (sum.is_graph) return total;
  const Duration host = sum.launches * launch_.host_cost;
  if (host <= total) return total;
  sum.add(StepPart::kOverhead, host - total);
  if (sum.list != nullptr) sum.list->push_back({"wait_for_the_host", StepPart::kOverhead, 1, host - total, 0, 0});
  return host;
}

StepTimes::Sum StepTimes::beside_attention(const StageKey& key, std::vector<StepKernel>* list) {
  if (list == nullptr) {
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
  }
  Sum sum{.is_graph = key.is_graph, .list = list};
  for (const LayerKind& kind : stages_[static_cast<std::size_t>(key.stage)]) {
    add_kernels(sum, linear_kernels(setup_, plan_, kind.layer, key.tokens), kind.count);
    add_messages(sum, key.stage, kind, key.tokens);
  }
  if (setup_.has_ends) add_ends(sum, key.stage, key.samples, key.tokens);
  if (list != nullptr) return sum;
  if (known_.size() >= kRemembered) known_.clear();
  return known_.emplace(key, sum).first->second;
}

StepTime StepTimes::of(const StepMix& mix) { return step_of(mix, nullptr, nullptr); }

StepTime StepTimes::next(const StepMix& mix, Time now) { return step_of(mix, nullptr, &now); }

std::vector<StepKernel> StepTimes::kernels(const StepMix& mix) {
  std::vector<StepKernel> all;
  static_cast<void>(step_of(mix, &all, nullptr));
  std::vector<StepKernel> merged;
  for (const StepKernel& kernel : all) {
    const auto alike = std::ranges::find_if(merged, [&](const StepKernel& other) {
      return other.name == kernel.name && other.each == kernel.each && other.bytes == kernel.bytes;
    });
    if (alike == merged.end()) {
      merged.push_back(kernel);
    } else {
      alike->count += kernel.count;
    }
  }
  return merged;
}

StepTime StepTimes::step_of(const StepMix& mix, std::vector<StepKernel>* list, const Time* now) {
  GroupTokens tokens = group_tokens(mix, plan_);
  const GraphUse use = setup_.scheduler.cuda_graph;
  bool is_graph = use == GraphUse::kAll || (use == GraphUse::kDecode && mix.prefills.empty());
  const std::vector<std::int64_t>& sizes = setup_.scheduler.graph_sizes;
  if (is_graph && !sizes.empty() && tokens.decode > 0) {
    const auto padded = std::ranges::lower_bound(sizes, tokens.decode);
    is_graph = padded != sizes.end();
    if (is_graph) tokens.decode = *padded;
  }
  StepTime step;
  for (int stage = 0; stage < plan_.pipeline; ++stage) {
    std::vector<StepKernel> listed;
    Sum sum = beside_attention({stage, is_graph, mix.samples, tokens}, list == nullptr ? nullptr : &listed);
    for (const LayerKind& kind : stages_[static_cast<std::size_t>(stage)]) {
      add_kernels(sum, attention_kernels(setup_, plan_, kind.shape.mixer, mix), kind.count);
    }
    RecentLoad* recent = now == nullptr ? nullptr : &recent_[static_cast<std::size_t>(stage)];
    step.stages.push_back(finish(sum, recent, now == nullptr ? Time{} : *now));
    if (list != nullptr) list->insert(list->end(), listed.begin(), listed.end());
    for (std::size_t part = 0; part < kStepParts; ++part) step.parts[part] += sum.parts[part];
  }
  if (plan_.pipeline > 1) {
    const double share = static_cast<double>(tokens.total() * setup_.model.hidden) * activation_ / plan_.tensor;
    step.hop = messages_.to_next(0, share);
    step.parts[static_cast<std::size_t>(StepPart::kPipeline)] += (plan_.pipeline - 1) * step.hop;
    if (list != nullptr) list->push_back({"to_next_stage", StepPart::kPipeline, plan_.pipeline - 1, step.hop, share, 0});
  }
  const int drafts = setup_.speculation.draft_tokens;
  step.before = costs_.step;
  if (mix.swapped_tokens > 0) {
    const double bytes = static_cast<double>(mix.swapped_tokens) * kv_bytes_on_gpu(setup_, plan_);
    step.before += transmission_time(Bytes{static_cast<std::int64_t>(bytes)}, costs_.swap_rate);
  }
  if (drafts > 0 && mix.decodes > 0) {
    Duration computing;
    for (const Duration stage : step.stages) computing += stage;
    const double share = drafts * setup_.speculation.draft_cost;
    step.before += Duration::nearest_ps(share * static_cast<double>(computing.ps()));
  }
  step.parts[static_cast<std::size_t>(StepPart::kOverhead)] += step.before;
  if (list != nullptr && step.before > Duration{})
    list->push_back({"before_the_step", StepPart::kOverhead, 1, step.before, 0, 0});
  return step;
}

}  // namespace weft::work
