// The texts on transformers: what is counted of their parameters, FLOPs and memory.
#include "sim/output/explain/explain_texts.h"

namespace weft::output {

const std::vector<ModelText>& transformer_texts() {
  static const std::vector<ModelText> texts{
      {.names = {"transformer", "flops", "activations"},
       .title = "parameters, FLOPs and memory of a transformer, from its shapes",
       .assumes =
           "FLOPs count multiplications and additions of matrices and of attention's products; the convention (full "
           "attention, causal, 6N) is named with every figure. Activations are the tensors a layer keeps for its backward "
           "pass under flash attention; optimizer states are Adam's.",
       .leaves_out =
           {"transformer: of a Hugging Face config.json the decoder is counted, vision and audio towers are not",
            "transformer: biases, sinks, gates' functions and caps of scores are counted or named, and take no time",
            "transformer: recurrent layers (Mamba-2, linear, gated delta) are timed as products with their states, the "
            "convolution and the states' reads and writes as kernels bound by memory; training has no operators for them",
            "activations: inputs of matrices are kept in the precision of activations, in fp8 training too",
            "activations: what experts return is not kept for the gradient of their weights",
            "transformer: the vocabulary is split evenly over tensor ranks, without Megatron's padding"},
       .sources = {"models/workloads §1", "Narayanan et al., 2021", "Korthikanti et al., 2022", "Rajbhandari et al., 2019"},
       .files = {"workloads/model/parameters.h", "workloads/model/flops.h", "workloads/model/memory.cpp",
                 "workloads/model/layer_shape.h", "workloads/model/families/family.h"}},
  };
  return texts;
}

}  // namespace weft::output
