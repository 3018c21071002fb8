// Names of kernels as profilers have written them.
#include "sim/workloads/trace/kineto/kernel_names.h"

#include <gtest/gtest.h>

#include <array>

namespace weft::work::kineto {
namespace {

TEST(KernelNamesTest, CommunicationIsKnownWhoeverWroteTheKernel) {
  for (const std::string_view name : {
           "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
           "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)",
           "mscclKernel_Sum_half_Simple_LL(ncclDevComm*)",
           "void vllm::cross_device_reduce_2stage<__half, 8>(vllm::RankData*, vllm::RankSignals)",
           "void sglang::cross_device_reduce_1stage<__nv_bfloat16, 4>(sglang::RankData*)",
           "void tensorrt_llm::kernels::oneShotAllReduceKernel<__half, 8>(tensorrt_llm::kernels::AllReduceParams)",
           "allreduce_fusion_kernel_oneshot_lamport<4>",
           "void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot>()",
           "void c10d::symmetric_memory::multimem_one_shot_all_reduce_kernel<c10::BFloat16, 8>(c10::BFloat16*)",
           "void two_shot_all_reduce_kernel<c10::BFloat16, 16, 8>(c10::BFloat16**)",
           "void deep_ep::internode_ll::dispatch<true, false, 7168>(void*)",
           "_ZN7deep_ep9intranode7combineI13__nv_bfloat16Li8ELi768ELi8192EEEvPT_",
           "mori::moe::EpDispatchIntraNodeKernel<hip_bfloat16>",
           "nvshmemi_barrier_all_kernel",
           "userbuffers_fp16_sum_inplace_gpu_rw_ag<8>",
       }) {
    EXPECT_TRUE(is_communication_kernel(name)) << name;
  }
  for (const std::string_view name : {
           "void deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*)",
           "triton_poi_fused_all_reduce_add_3",
           "void small_reduce_kernel<float>(float*)",
           "void at::native::_scatter_gather_elementwise_kernel<128, 4>(int)",
           "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>",
           "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNT",
       }) {
    EXPECT_FALSE(is_communication_kernel(name)) << name;
  }
}

TEST(KernelNamesTest, ComputeIsSplitAsProfilesUsuallyAre) {
  constexpr auto kGemm = Category::kGemm;
  constexpr auto kAttention = Category::kAttention;
  constexpr auto kOther = Category::kOtherCompute;
  constexpr std::array<std::pair<std::string_view, Category>, 29> kNames{{
      {"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x256x32", kGemm},
      {"nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNT", kGemm},
      {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", kGemm},
      {"_ZN2ck16tensor_operation6device12_GLOBAL__N_139kernel_grouped_conv_fwd_xdl_cshuffle_v3INS_", kGemm},
      {"_matmul_ogs_NNT_bf16xbf16xmxfp4_128x128x128x1_swiglu", kGemm},
      {"triton_tem_fused_addmm_12", kGemm},
      {"fused_moe_kernel", kGemm},
      {"void gemv2T_kernel_val<int, int, __nv_bfloat16>", kGemm},
      {"cudnn_volta_scudnn_128x64_relu_xregs_large_nn_v1", kGemm},
      {"void marlin::Marlin<__half, 256, 1, 8, 8, 4, false>(int4 const*)", kGemm},
      {"void splitKreduce_kernel<32, 16, int, float>(cublasSplitKParams<float>)", kGemm},
      {"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64>>", kAttention},
      {"attn_fwd", kAttention},
      {"kernel_unified_attention_2d", kAttention},
      {"void vllm::paged_attention_v2_kernel<__half, 128>", kAttention},
      {"_ZN7ck_tile6kentryILi2ENS_38FmhaBatchPrefillWithPagedKVCacheKernelINS_", kAttention},
      {"triton_tem_fused_flex_attention_2", kAttention},
      {"_fwd_grouped_kernel_stage1", kAttention},
      {"void flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTraits<(flashinfer::MaskMode)1>>", kAttention},
      {"void flashinfer::norm::RMSNormKernel<8u, __nv_bfloat16>", kOther},
      {"void flashinfer::activation::act_and_mul_kernel<__nv_bfloat16, &silu>", kOther},
      {"__amd_rocclr_copyBuffer", Category::kIo},
      {"__amd_rocclr_fillBufferAligned", kOther},
      {"triton_poi_fused__scaled_dot_product_flash_attention_cat_transpose_view_10", kOther},
      {"triton_red_fused__to_copy_add_addmm_div_mean_mul_19", kOther},
      {"triton_per_fused__to_copy_add_mm_mean_8", kOther},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>", kOther},
      {"void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, float>", Category::kOptimizer},
      {"triton_for_fused_adamw_0", Category::kOptimizer},
  }};
  for (const auto& [name, category] : kNames) EXPECT_EQ(kernel_category(name), category) << name;
}

TEST(KernelNamesTest, ANameTellsTheCollective) {
  EXPECT_EQ(collective_of_kernel("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"), coll::Collective::kAllReduce);
  EXPECT_EQ(collective_of_kernel("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL"), coll::Collective::kReduceScatter);
  EXPECT_EQ(collective_of_kernel("ncclDevKernel_Reduce_Sum_f32_RING_LL"), coll::Collective::kReduce);
  EXPECT_EQ(collective_of_kernel("ncclDevKernel_SendRecv"), coll::Collective::kSendRecv);
}

}  // namespace
}  // namespace weft::work::kineto
