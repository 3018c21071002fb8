#include "sim/apps/trace_options.h"

#include <CLI/CLI.hpp>

namespace weft::apps {

void add_trace_options(CLI::App& command, work::TraceReadOptions& reading) {
  command.add_option("--format", reading.format, "Format, where the files do not tell (weft list trace_formats)")
      ->type_name("NAME");
  command.add_flag("--mix-jobs", reading.mix_jobs, "Take files together that are not of one step of one job");
}

}  // namespace weft::apps
