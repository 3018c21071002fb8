// How much calls that are on the same NVLinks at once hold each other up.
//
// Model: collectives that run on one GPU at once are in step: while one has bytes for an NVLink, so have the others, and they
// share it; while one waits for its own steps' latencies, the others do too, and the link stands still. So on the link where
// that is most, a call takes longer by the time that another would occupy it alone, or by as much as it occupies it itself,
// whichever is less: T' = T (1 + min(u, u')), u the share of its time alone for which a call fills the link. Two that fill it
// take twice their times, as with fair shares; two that fill half of it half as long again, where fair shares would let both
// pass undelayed. No parameter is fitted to this.
//
// Source: our measurements of 4 x H200 (validate/measured/h200x4_full.jsonl, case=pairs_and_cross: two all-reduces of pairs on
// every GPU; ratios of a call's time beside the other to its time alone, with 1 + u in brackets): 1 MiB 1.10 (1.18), 4 MiB 1.39
// (1.37), 16 MiB 1.65 (1.61), 64 MiB 1.75 (1.79), 256 MiB 1.87 (1.88), 1 GiB 1.93 (1.96).
//
// Model: where the steps of one are shorter than those of the other, the shorter ones' waits meet the other's bytes, and their
// flags, fences and credits queue behind them: T' = T (1 + min(u, u') + w (1 - u) (1 - s / s')), s the time for which a step
// fills the link. The longer one is delayed by what the shorter one puts on the link, as before: T' (1 + m / (1 + e)), m the
// first of these terms and e the second.
//
// Source for w and this form: two runs on 2 x H200 (validate/measured/h200x2_two_communicators*.json), all-reduces of 17, 34
// and 67 MB beside larger ones of up to 180 MB, begun at once: w of least squares over the 32 pairs 2.7, of one run 2.3 and of
// the other 3.1; the shorter calls then within 12 % (rms 4.8 %). 34 MB takes beside 34, 45, 67, 90 and 180 MB in the two
// runs 1.71, 1.84, 1.98 to 2.11, 2.13 to 2.31 and 2.17 to 2.38 times its time alone; T': 1.70, 1.91, 2.11, 2.22 and 2.25.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "sim/core/ids.h"
#include "sim/core/units.h"
#include "sim/network/fabric.h"
#include "sim/network/topology.h"

namespace weft::work {

class LinkTurns {
 public:
  // A call on the wire: what it loads per byte, how much it moves, and for how long alone.
  struct Call {
    FootprintId loads = {};  // of one kind of call only: bytes, duration and step are always the same
    Bytes bytes;
    Duration alone;
    double step = 0;  // share of it that moves at once (GroupCost::step); 0: not known, as long as those of others
  };

  // Both must outlive it.
  LinkTurns(const net::Topology& topology, const net::Fabric& fabric) : topology_{topology}, fabric_{fabric} {}

  // By what share of its time alone a call is delayed by others; 0 where it has no NVLink in common with them.
  double delay(const Call& call, std::span<const Call> others);

 private:
  // A link, with the share of the call's time alone that it fills it.
  struct Filled {
    ResourceId link;
    double share = 0;
  };
  // In ascending order of links.
  const std::vector<Filled>& filled_by(const Call& call);
  static double delay(const Call& call, double share, const Call& other, double its_share);

  const net::Topology& topology_;
  const net::Fabric& fabric_;
  std::map<FootprintId, std::vector<Filled>> filled_;
  std::map<std::pair<FootprintId, FootprintId>, double> delays_;  // of the first by the second alone
  std::vector<double> sums_;                                      // scratch, by link of the call
};

}  // namespace weft::work
