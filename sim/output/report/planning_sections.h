// Sections of a report on what planners ask: which parallel plan, how to serve, which cluster to buy.
#pragma once

#include "sim/output/report/report_parts.h"

namespace weft::output {

void add_plan(Document& document, const OrderedJson& result);
// With the Pareto front as a chart, and the commands of engines.
void add_serving_plan(Document& document, const OrderedJson& result);
// One column a cluster, and what would change the decision.
void add_size(Document& document, const OrderedJson& result);

}  // namespace weft::output
