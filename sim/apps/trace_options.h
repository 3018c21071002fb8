// How trace files are read: the options of the commands that take some.
#pragma once

#include "sim/workloads/trace/trace_format.h"

namespace CLI {
class App;
}

namespace weft::apps {

void add_trace_options(CLI::App& command, work::TraceReadOptions& reading);

}  // namespace weft::apps
