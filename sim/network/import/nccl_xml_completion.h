// Completes an NCCL topology file as NCCL does when it loads one (NCCL_TOPO_FILE): clouds ship files with the places of GPUs
// and NICs only, and NCCL asks the machine for the rest. Here the user says it. Private to import/.
#pragma once

#include "sim/network/import/hints.h"
#include "sim/network/import/nccl_xml_checks.h"

namespace weft::net {

// Where no GPU has a rank: functions of class 0x03 become GPUs, in the order of their bus ids, and those of class 0x02 NICs.
// NICs without a speed and CPUs without an `arch` get what `hints` says of them. Errors and warnings go to `checks`.
void complete_topology(XmlElement& system, const ImportHints& hints, XmlChecks& checks);

}  // namespace weft::net
