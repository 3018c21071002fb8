// Sections of a report on a run of flows and jobs: their completion times and rates, and what ports of packets did.
#pragma once

#include "sim/output/report/document.h"
#include "sim/output/report/report_parts.h"

namespace weft::output {

// Nothing of what the result does not hold.
void add_flow_sections(Document& document, const OrderedJson& result);

}  // namespace weft::output
