// Rules of NCCL that changed between 2.18.3 and 2.30.7, but for the numbers of its tuning model (tuning_tables.cpp) and the
// speeds of its search (search_speeds.cpp). Each row names the first release with the value. Sources: models/nccl §5.8.
#pragma once

#include "sim/collectives/nccl/release.h"

namespace weft::coll::nccl {

// --- Topology: src/graph/topo.h, topo.cc, paths.cc ---

// GB/s of an NVLink of sm90 and of sm100. Releases before the first row of sm100 know no such GPU.
inline constexpr Since<float> kNvlinkSm90[] = {{kOldestRelease, 20.0F}, {release(20, 3), 20.6F}};
inline constexpr Since<float> kNvlinkSm100[] = {{release(25, 1), 40.0F}, {release(27, 5), 40.1F}};
inline constexpr NcclVersion kFirstWithSm100 = release(25, 1);
// A link between AMD's sockets had no limit of its own.
inline constexpr NcclVersion kFirstWithAmdSockets = release(19, 1);
// Sapphire and Emerald Rapids are told from Skylake.
inline constexpr NcclVersion kFirstWithSapphireRapids = release(26, 2);
inline constexpr NcclVersion kFirstWithSeparateNics = release(24, 3);  // functions of one device
inline constexpr NcclVersion kFirstWithRails = release(30, 7);
inline constexpr NcclVersion kFirstWithDeviceNodes = release(30, 3);  // a GPU hangs from the node of its device
// The class of a path decides before its bandwidth.
inline constexpr NcclVersion kFirstByClass = release(30, 7);
inline constexpr NcclVersion kFirstWithC2cClass = release(26, 2);
inline constexpr NcclVersion kFirstWithP2cClass = release(27, 3);
// P2P through the CPU is off for all but two GPUs on AMD; before, for Intel, Arm and Zhaoxin only.
inline constexpr NcclVersion kFirstWithoutFarP2p = release(23, 4);
inline constexpr NcclVersion kFirstThatReadsByAmpere = release(19, 1);  // GPUDirect reads without NVLink
// NCCL_PXN_C2C is 1: relays reach their NIC over C2C too. And they need GPUDirect.
inline constexpr NcclVersion kFirstWithC2cRelays = release(28, 3);
inline constexpr NcclVersion kFirstRelaysByGdr = release(30, 3);
// A GPU's first NIC counts from its index among those that share the NICs.
inline constexpr NcclVersion kFirstOfSharedNics = release(30, 7);

// --- Search: src/graph/search.cc ---

inline constexpr Since<int> kMaxChannels[] = {{kOldestRelease, 32}, {release(25, 1), 64}};  // src/include/device.h
inline constexpr Since<int> kSearchSteps[] = {{kOldestRelease, 5 << 16}, {release(19, 1), 1 << 19}};
// NCCL_CROSS_NIC=2 lets rings cross as they like (1), or in pairs that swap NICs (2).
inline constexpr Since<int> kCrossing[] = {{kOldestRelease, 1}, {release(20, 3), 2}};
inline constexpr NcclVersion kFirstToSwapOnOddNodes = release(21, 5);  // before, on even numbers of nodes only
inline constexpr NcclVersion kFirstByPresentClasses = release(25, 1);  // begins and ends with the classes that the node has
inline constexpr NcclVersion kFirstToSeeIslands = release(26, 2);
inline constexpr NcclVersion kFirstThatKeepsNics = release(28, 7);        // of a communicator of one node
inline constexpr NcclVersion kFirstThroughAnySocket = release(29, 2);     // before Hopper, whatever the NICs' classes
inline constexpr NcclVersion kFirstToSkipForAmdSockets = release(19, 1);  // different channels
inline constexpr NcclVersion kFirstToDuplicateEarly = release(19, 3);     // before it raises speeds; and rings' speeds too
inline constexpr NcclVersion kFirstWithNvlsSpeeds = release(19, 1);       // raises those of NVLS between nodes
inline constexpr NcclVersion kFirstAlongIndices = release(19, 3);         // with an NVSwitch neighbours in index come first
inline constexpr NcclVersion kFirstNeighboursOnly = release(21, 5);       // and no others
inline constexpr NcclVersion kFirstByLocalGpus = release(27, 3);          // a NIC's channels begin at GPUs local to it
inline constexpr NcclVersion kFirstByNearestGpu = release(27, 5);         // the one that the NIC serves first
inline constexpr NcclVersion kFirstToSpreadHosts = release(27, 5);

// --- Channels: src/graph/connect.cc, paths.cc, src/transport/nvls.cc ---

// Doubling the channels of Hopper over several nodes: only where twice as many still fit, then only below 16; and whether newer
// GPUs have it too.
struct Doubling {
  bool below_sixteen = true;
  bool newer_gpus = true;
};
inline constexpr Since<Doubling> kDoubling[] = {{kOldestRelease, {.below_sixteen = false, .newer_gpus = false}},
                                                {release(20, 3), {.newer_gpus = false}},
                                                {release(25, 1), {}}};
// Who gets as many channels as NVLS has.
enum class NvlsExtends : std::uint8_t { kNothing, kSendsOnly, kAll };
inline constexpr Since<NvlsExtends> kNvlsExtends[] = {{kOldestRelease, NvlsExtends::kNothing},
                                                      {release(20, 3), NvlsExtends::kSendsOnly},
                                                      {release(22, 3), NvlsExtends::kAll},
                                                      {release(28, 3), NvlsExtends::kNothing}};
struct NvlsChannels {
  int sm90 = 16;
  int sm100_one_node = 16;
  int sm100 = 16;
};
inline constexpr Since<NvlsChannels> kNvlsChannels[] = {{kOldestRelease, {}},
                                                        {release(25, 1), {.sm100_one_node = 32, .sm100 = 32}},
                                                        {release(27, 3), {.sm100_one_node = 24, .sm100 = 32}}};
inline constexpr NcclVersion kFirstWithBlackwellShapes = release(30, 3);  // of NVLS over several nodes
// The chunk of NVLSTree: a buffer's step, 64 KiB from four nodes on, at most NVLS's own chunk.
inline constexpr NcclVersion kFirstSmallTreeChunks = release(19, 3);
inline constexpr NcclVersion kFirstNvlsTreeChunks = release(21, 5);
inline constexpr NcclVersion kFirstSlowNvlsChunks = release(19, 3);  // 32 KiB where the network sets the pace

// Channels to a peer on another node.
enum class PeerChannels : std::uint8_t { kTwo, kByRanks, kByBandwidth };
inline constexpr Since<PeerChannels> kPeerChannels[] = {{kOldestRelease, PeerChannels::kTwo},
                                                        {release(20, 3), PeerChannels::kByRanks},
                                                        {release(29, 2), PeerChannels::kByBandwidth}};
inline constexpr NcclVersion kFirstManyOverRelays = release(30, 7);  // NVLink through a third GPU counts as NVLink
inline constexpr NcclVersion kFirstWideOnGrace = release(29, 2);     // chunks of 256 KiB for sm100 under Arm

// --- Choice: src/enqueue.cc, src/transport/nvls.cc ---

inline constexpr Since<int> kLeastNvlsGpus[] = {{kOldestRelease, 3}, {release(28, 7), 2}};
// All-gathers, which NCCL runs as bytes, may run on NVLS all the same.
inline constexpr Since<bool> kNvlsGathers[] = {{kOldestRelease, true}, {release(20, 3), false}, {release(22, 3), true}};
inline constexpr NcclVersion kFirstWithNvlsGather = release(19, 1);
inline constexpr NcclVersion kFirstWithCollNetGather = release(20, 3);
inline constexpr NcclVersion kFirstNvlsGatherOverNodes = release(27, 3);
inline constexpr NcclVersion kFirstWithPat = release(23, 4);
inline constexpr NcclVersion kFirstWithFloat8 = release(24, 3);
// The answer where NCCL_ALGO and NCCL_PROTO leave nothing.
enum class NothingLeft : std::uint8_t { kRingButForAllReduce, kRing, kRingInProtocols, kRefused };
inline constexpr Since<NothingLeft> kNothingLeft[] = {{kOldestRelease, NothingLeft::kRingButForAllReduce},
                                                      {release(19, 1), NothingLeft::kRing},
                                                      {release(22, 3), NothingLeft::kRingInProtocols},
                                                      {release(24, 3), NothingLeft::kRefused}};
// LL128 by default on these GPUs.
enum class Ll128Gpus : std::uint8_t { kVoltaToHopper, kAndTwoBlackwells, kFromVolta };
inline constexpr Since<Ll128Gpus> kLl128Gpus[] = {{kOldestRelease, Ll128Gpus::kVoltaToHopper},
                                                  {release(25, 1), Ll128Gpus::kAndTwoBlackwells},
                                                  {release(27, 3), Ll128Gpus::kFromVolta}};
inline constexpr NcclVersion kFirstWithMixedLl128 = release(30, 3);  // GPUs of several generations, from Hopper on
inline constexpr NcclVersion kFirstWithLl128C2c = release(27, 3);

// --- Plan: src/enqueue.cc ---

inline constexpr NcclVersion kFirstWithFullTreeBlocks = release(22, 3);  // 640 threads whatever the protocol
inline constexpr NcclVersion kFirstWithoutTreeChunks = release(20, 3);   // Tree Simple keeps its chunk
// How bytes are cut over channels: evenly, or in cells of traffic. `least` bytes of traffic are worth a channel.
struct Split {
  std::int64_t least = 0;  // 0: evenly
  bool cells = true;       // as large as that; else of 16 B
  bool rounds_up = true;   // a channel's share goes up to whole units, with no least one
  std::int64_t ll_factor = 4;
};
inline constexpr Since<Split> kSplit[] = {{kOldestRelease, {.least = 0, .ll_factor = 1}},
                                          {release(22, 3), {.least = 512, .cells = false, .rounds_up = false, .ll_factor = 1}},
                                          {release(23, 4), {.least = 16 << 10, .rounds_up = false, .ll_factor = 1}},
                                          {release(26, 2), {.least = 16 << 10, .rounds_up = false}},
                                          {release(29, 2), {.least = 32 << 10}}};

// --- Send and receive: src/enqueue.cc, src/include/channel.h, src/init.cc ---

// LL is for parts of up to the threshold; for what it holds times the channels that a peer could have; times those in use.
enum class SendLl : std::uint8_t { kByPart, kByPeerChannels, kByChannelsInUse };
inline constexpr Since<SendLl> kSendLl[] = {
    {kOldestRelease, SendLl::kByPart}, {release(22, 3), SendLl::kByPeerChannels}, {release(29, 2), SendLl::kByChannelsInUse}};
inline constexpr NcclVersion kFirstHalfStepParts =
    release(20, 3);  // least part over several nodes: half a step, before an eighth
// Ranks of one group of the order in which peers are served: a node's, or at most eight.
enum class SendGroups : std::uint8_t { kNodes, kEight, kEightOverNodes };
inline constexpr Since<SendGroups> kSendGroups[] = {
    {kOldestRelease, SendGroups::kNodes}, {release(28, 7), SendGroups::kEight}, {release(28, 9), SendGroups::kEightOverNodes}};
// Peers of a group are served by triangular numbers, or one after the other.
inline constexpr Since<bool> kTriangularPeers[] = {{kOldestRelease, false}, {release(22, 3), true}, {release(28, 7), false}};
// Which bits of a part's channel are reversed: those of the part, or those of the round.
inline constexpr Since<bool> kReversedRounds[] = {{kOldestRelease, true}, {release(22, 3), false}, {release(28, 3), true}};

}  // namespace weft::coll::nccl
