#include "sim/output/explain/glossary.h"

#include <array>

namespace weft::output {

std::span<const Term> glossary() {
  static constexpr std::array kTerms{
      Term{"algbw",
           "algorithm bandwidth, in GB/s of 1e9 bytes: the size of a collective, as nccl-tests counts it, over its time",
           "busbw"},
      Term{
          "busbw",
          "bus bandwidth, in GB/s: algbw times what each rank must move for a byte, so that collectives of different kinds and "
          "sizes of group compare with the speed of a link. Of n ranks the factor is 2 (n - 1) / n for all_reduce; (n - 1) / n "
          "for all_gather, reduce_scatter, alltoall, gather and scatter; 1 for broadcast, reduce and sendrecv",
          "algbw"},
      Term{"bubble", "time of a pipeline's stage without work, as it waits for microbatches of its neighbours", "1f1b"},
      Term{"cnp",
           "congestion notification packet: a receiver of RoCE sends it to the sender of marked packets, which then slows down",
           "dcqcn"},
      Term{"exposed",
           "communication that no computing of the same rank hides: the part of its time that the step would save without it",
           ""},
      Term{"fct", "flow completion time: from the start of a flow to the arrival of its last byte", ""},
      Term{"hfu", "hardware FLOP utilization: as MFU, but operations that recomputation repeats count each time", "mfu"},
      Term{"incast", "many senders to one receiver at the same time: the last link is shared, and the queue before it grows",
           "pfc"},
      Term{"jain",
           "Jain's index of fairness of n rates: the square of their sum over n times the sum of their squares; 1 is equal",
           ""},
      Term{"makespan", "time from the start of the first item of a workload to the end of the last one", ""},
      Term{
          "mfu",
          "model FLOP utilization: operations that the model's formulas need, over what the GPUs could do at their peak in the "
          "time of the step. Recomputation does not count",
          "hfu"},
      Term{"pxn", "a GPU sends through the NIC of another GPU, over NVLink, so that messages stay on one rail", "nccl"},
      Term{"rail", "the switches that connect the NICs of the same number in every node", ""},
      Term{"skew",
           "unevenness. Of a step: time in which a rank waits for others of its group that are late. Of experts "
           "(--skew S): the k-th most popular is drawn in proportion to 1 / k^S",
           "exposed"},
      Term{"tpot", "time per output token of a request, after its first one", "ttft"},
      Term{"ttft", "time to first token: from the arrival of a request to its first output token", "tpot"},
  };
  return kTerms;
}

}  // namespace weft::output
