// Writes a timeline in the Chrome trace format, span by span as it comes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string_view>

#include "sim/core/json_writer.h"
#include "sim/core/units.h"

namespace weft::output {

class TraceWriter {
 public:
  explicit TraceWriter(std::ostream& out) : json_{out} {
    json_.begin_object().field("displayTimeUnit", "ns").key("traceEvents").begin_array();
  }

  void name_process(std::size_t process, std::string_view name) { name_track("process_name", process, 0, name); }
  void name_thread(std::size_t process, std::size_t thread, std::string_view name) {
    name_track("thread_name", process, thread, name);
  }

  // Leaves "args" open for fields; end_span() closes it.
  JsonWriter& begin_span(std::string_view name, std::string_view category, std::size_t process, std::size_t thread, Time begin,
                         Duration duration) {
    json_.begin_object().field("name", name).field("cat", category).field("ph", "X");
    json_.key("ts").raw(us_text(begin - Time{})).key("dur").raw(us_text(duration));
    return json_.field("pid", process).field("tid", thread).key("args").begin_object();
  }
  void end_span() { json_.end_object().end_object(); }

  // Leaves "args" open for its values, a line each; end_counter() closes it.
  JsonWriter& begin_counter(std::string_view name, std::size_t process, Time at) {
    json_.begin_object().field("name", name).field("ph", "C").key("ts").raw(us_text(at - Time{}));
    return json_.field("pid", process).key("args").begin_object();
  }
  void end_counter() { json_.end_object().end_object(); }

  // An arrow from one span to another: the same id at both ends, at times within the spans.
  void begin_arrow(std::string_view name, std::uint64_t id, std::size_t process, std::size_t thread, Time at) {
    arrow("s", name, id, process, thread, at);
  }
  void end_arrow(std::string_view name, std::uint64_t id, std::size_t process, std::size_t thread, Time at) {
    arrow("f", name, id, process, thread, at);
  }

  void finish() {
    json_.end_array().end_object();
    json_.finish();
  }

 private:
  void arrow(std::string_view phase, std::string_view name, std::uint64_t id, std::size_t process, std::size_t thread,
             Time at) {
    json_.begin_object().field("name", name).field("cat", "message").field("ph", phase).field("id", id);
    if (phase == "f") json_.field("bp", "e");
    json_.key("ts").raw(us_text(at - Time{})).field("pid", process).field("tid", thread).end_object();
  }
  void name_track(std::string_view what, std::size_t process, std::size_t thread, std::string_view name) {
    json_.begin_object().field("name", what).field("ph", "M").field("pid", process).field("tid", thread);
    json_.key("args").begin_object().field("name", name).end_object().end_object();
  }

  JsonWriter json_;
};

}  // namespace weft::output
