#include "sim/collectives/msccl/links.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace weft::coll::msccl {
namespace {

constexpr std::array<char, 3> kBufferNames{'i', 'o', 's'};

std::string path(Rank gpu, std::size_t block) { return fmt::format("algo.gpu[{}].tb[{}]", gpu, block); }
std::string path(Rank gpu, std::size_t block, std::size_t step) { return fmt::format("{}.step[{}]", path(gpu, block), step); }

// Chunks of the input and of the output, as `nchunksperloop` of the collective says (models/nccl §9.1); 0: not a whole number.
struct VectorChunks {
  int input = 0;
  int output = 0;
};
VectorChunks vector_chunks(const Program& program) {
  const int all = program.chunks_per_loop;
  const int n = program.ranks();
  const int one = all % n == 0 ? all / n : 0;
  switch (program.collective) {
    case Collective::kAllGather:
      return {one, all};
    case Collective::kReduceScatter:
      return {all, one};
    case Collective::kAllToAll:
      return one == 0 ? VectorChunks{} : VectorChunks{all, all};
    case Collective::kGather:  // the count of a gather and a scatter is one rank's block
      return {all, all * n};
    case Collective::kScatter:
      return {all * n, all};
    default:
      return {all, all};
  }
}

class LinkChecker {
 public:
  LinkChecker(const Program& program, const net::SourceText& source) : program_{program}, source_{source} {}

  std::vector<Diagnostic> run() {
    check_sizes();
    for_each_block([&](Rank rank, std::size_t id, const ThreadBlock& block) { check_block(rank, id, block); });
    check_channels();
    check_connections();
    return std::move(errors_);
  }

 private:
  struct Use {  // of one end of a connection
    std::size_t block = 0;
    std::vector<std::size_t> steps;
  };
  using ConnectionKey = std::tuple<int, Rank, Rank>;  // channel, from, to

  template <class Visit>
  void for_each_block(const Visit& visit) const {
    for (Rank rank = 0; rank < program_.ranks(); ++rank) {
      const std::vector<ThreadBlock>& blocks = gpu(rank).blocks;
      for (std::size_t id = 0; id < blocks.size(); ++id) visit(rank, id, blocks[id]);
    }
  }
  [[nodiscard]] const Gpu& gpu(Rank rank) const { return program_.gpus[static_cast<std::size_t>(rank)]; }

  void fail(const Origin& at, std::string_view element, std::string message) {
    errors_.push_back(source_.at(at.offset, std::move(message), static_cast<int>(element.size()) + 1));
  }

  void check_sizes() {
    const VectorChunks chunks = vector_chunks(program_);
    if (chunks.input == 0 || chunks.output == 0) {
      fail(program_.origin, "algo",
           fmt::format("algo.nchunksperloop: {} chunks cannot be shared by {} GPUs", program_.chunks_per_loop,
                       program_.ranks()));
      return;
    }
    for (Rank rank = 0; rank < program_.ranks(); ++rank) {
      const Gpu& g = gpu(rank);
      // In place the two are one buffer, of the larger size.
      const int most = std::max(chunks.input, chunks.output);
      const int input = program_.out_of_place ? chunks.input : most;
      const int output = program_.out_of_place ? chunks.output : most;
      if (g.input_chunks > input)
        fail(g.origin, "gpu", fmt::format("algo.gpu[{}].i_chunks: {}, but the input has {}", rank, g.input_chunks, input));
      if (g.output_chunks > output)
        fail(g.origin, "gpu", fmt::format("algo.gpu[{}].o_chunks: {}, but the output has {}", rank, g.output_chunks, output));
    }
  }

  void check_block(Rank rank, std::size_t id, const ThreadBlock& block) {
    for (std::size_t i = 0; i < block.steps.size(); ++i) {
      const ProgramStep& step = block.steps[i];
      const OpTraits& op = traits(step.op);
      if (op.reads_source) check_place(rank, path(rank, id, i), step, step.source);
      if (op.stores) check_place(rank, path(rank, id, i), step, step.destination);
      if (op.stores && step.destination.buffer == Buffer::kInput && program_.out_of_place)
        fail(step.origin, "step", path(rank, id, i) + ": writes the input, but the algorithm may be used out of place");
      check_wait(rank, id, i, step);
    }
  }

  void check_place(Rank rank, const std::string& at, const ProgramStep& step, const Place& place) {
    const Gpu& g = gpu(rank);
    const std::array<int, 3> sizes{g.input_chunks, g.output_chunks, g.scratch_chunks};
    const auto buffer = static_cast<std::size_t>(place.buffer);
    if (place.chunk + step.count <= sizes[buffer]) return;
    const std::string chunks = step.count == 1 ? fmt::format("chunk {}", place.chunk)
                                               : fmt::format("chunks {} to {}", place.chunk, place.chunk + step.count - 1);
    fail(step.origin, "step",
         fmt::format("{}: {} of buffer '{}', which has {} ({}_chunks)", at, chunks, kBufferNames[buffer], sizes[buffer],
                     kBufferNames[buffer]));
  }

  void check_wait(Rank rank, std::size_t id, std::size_t index, const ProgramStep& step) {
    if (step.wait_block < 0) return;
    const std::string at = path(rank, id, index);
    const std::vector<ThreadBlock>& blocks = gpu(rank).blocks;
    const auto block = static_cast<std::size_t>(step.wait_block);
    if (block >= blocks.size()) {
      fail(step.origin, "step", fmt::format("{}.depid: no tb {} on this GPU, which has {}", at, block, blocks.size()));
      return;
    }
    const auto wait_step = static_cast<std::size_t>(step.wait_step);
    if (step.wait_step < 0 || wait_step >= blocks[block].steps.size()) {
      fail(step.origin, "step",
           fmt::format("{}.deps: no step {} in tb {}, which has {}", at, step.wait_step, block, blocks[block].steps.size()));
    } else if (block == id && wait_step >= index) {
      fail(step.origin, "step",
           fmt::format("{}: waits for step {} of its own threadblock, which comes after it", at, wait_step));
    } else if (!blocks[block].steps[wait_step].waited_for) {
      fail(step.origin, "step",
           fmt::format("{}: waits for ever: step {} of tb {} has hasdep 0 and never tells", at, wait_step, block));
    }
  }

  void check_channels() {
    for (Rank rank = 0; rank < program_.ranks(); ++rank) {
      std::vector<int> blocks(static_cast<std::size_t>(program_.channels), 0);
      for (const ThreadBlock& block : gpu(rank).blocks) {
        if (++blocks[static_cast<std::size_t>(block.channel)] != kMaxBlocksPerChannel + 1) continue;
        fail(gpu(rank).origin, "gpu",
             fmt::format("algo.gpu[{}]: more than {} threadblocks on channel {}", rank, kMaxBlocksPerChannel, block.channel));
      }
    }
  }

  // A connection has one user at each end, and both move the same chunks in the same order.
  void check_connections() {
    std::map<ConnectionKey, Use> sends;
    std::map<ConnectionKey, Use> receives;
    for_each_block([&](Rank rank, std::size_t id, const ThreadBlock& block) {
      if (block.send >= 0)
        add_use(sends, {block.channel, rank, block.send}, rank, id, "sends to", block.send, &OpTraits::sends);
      if (block.receive >= 0)
        add_use(receives, {block.channel, block.receive, rank}, rank, id, "receives from", block.receive, &OpTraits::receives);
    });
    for (const auto& [key, use] : sends) {
      const auto found = receives.find(key);
      check_pairs(key, &use, found == receives.end() ? nullptr : &found->second);
    }
    for (const auto& [key, use] : receives) {
      if (!sends.contains(key)) check_pairs(key, nullptr, &use);
    }
  }

  void add_use(std::map<ConnectionKey, Use>& uses, const ConnectionKey& key, Rank rank, std::size_t id, std::string_view does,
               Rank peer, bool OpTraits::*takes_part) {
    const ThreadBlock& block = gpu(rank).blocks[id];
    Use use{.block = id, .steps = {}};
    for (std::size_t i = 0; i < block.steps.size(); ++i) {
      if (traits(block.steps[i].op).*takes_part) use.steps.push_back(i);
    }
    const auto [found, added] = uses.try_emplace(key, std::move(use));
    if (added) return;
    fail(block.origin, "tb",
         fmt::format("{}: {} GPU {} on channel {}, as tb {} does; one threadblock only may", path(rank, id), does, peer,
                     block.channel, found->second.block));
  }

  void check_pairs(const ConnectionKey& key, const Use* send, const Use* receive) {
    const auto [channel, from, to] = key;
    const std::size_t sent = send == nullptr ? 0 : send->steps.size();
    const std::size_t received = receive == nullptr ? 0 : receive->steps.size();
    for (std::size_t k = 0; k < std::min(sent, received); ++k) {
      const ProgramStep& out = gpu(from).blocks[send->block].steps[send->steps[k]];
      const ProgramStep& in = gpu(to).blocks[receive->block].steps[receive->steps[k]];
      if (out.count == in.count) continue;
      fail(in.origin, "step",
           fmt::format("{}.cnt: receives {} chunks, but {} sends {}", path(to, receive->block, receive->steps[k]), in.count,
                       path(from, send->block, send->steps[k]), out.count));
      return;
    }
    if (sent == received) return;
    const bool more_sent = sent > received;
    const Use& longer = more_sent ? *send : *receive;
    const Rank rank = more_sent ? from : to;
    const std::size_t step = longer.steps[std::min(sent, received)];
    fail(gpu(rank).blocks[longer.block].steps[step].origin, "step",
         fmt::format("{}: {} GPU {} on channel {}, which {} it only {} times", path(rank, longer.block, step),
                     more_sent ? "sends to" : "receives from", more_sent ? to : from, channel,
                     more_sent ? "receives from" : "sends to", std::min(sent, received)));
  }

  const Program& program_;
  const net::SourceText& source_;
  std::vector<Diagnostic> errors_;
};

}  // namespace

std::vector<Diagnostic> check_links(const Program& program, const net::SourceText& source) {
  return LinkChecker{program, source}.run();
}

}  // namespace weft::coll::msccl
