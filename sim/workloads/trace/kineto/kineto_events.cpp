#include "sim/workloads/trace/kineto/kineto_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "sim/core/error.h"
#include "sim/workloads/trace/json_pull.h"
#include "sim/workloads/trace/kineto/event_keys.h"
#include "sim/workloads/trace/line_reader.h"

namespace weft::work::kineto {
namespace {

constexpr std::string_view kNcclFunction = "nccl:";
constexpr std::int64_t kLatestNs = std::int64_t{1} << 61;  // since 1970: in 2043

// So many of 16 B are the largest transfer.
constexpr std::int64_t kMostElements = kLargestTask.count() / 16;

// One element of traceEvents.
struct Event {
  char phase = 0;
  EventCategory category = EventCategory::kUnknown;
  std::string name = {};
  std::int64_t start = 0;
  std::int64_t duration = 0;
  bool has_start = false;
  bool has_duration = false;
  std::int64_t process = -1;
  std::int64_t thread = -1;
  std::int64_t correlation = -1;
  std::int64_t external = -1;
  std::int64_t record_function = -1;
  std::int64_t stream = -1;
  std::int64_t device = -1;
  std::int64_t bytes = 0;
  std::int64_t blocks = 0;
  std::int64_t on_stream = -1;
  std::int64_t record_correlation = -1;
  std::vector<OperatorInput> inputs = {};
  CommCall comm = {};

  void clear() {
    phase = 0;
    category = EventCategory::kUnknown;
    name.clear();
    start = duration = bytes = blocks = 0;
    has_start = has_duration = false;
    process = thread = correlation = external = record_function = stream = device = on_stream = record_correlation = -1;
    inputs.clear();
    if (comm.is_named() || !comm.group.empty() || !comm.dtype.empty()) comm = CommCall{};
  }
};

class Reader {
 public:
  Reader(const std::filesystem::path& file, const TraceReadOptions& options, Operators operators)
      : stream_{file, options.max_bytes},
        json_{stream_},
        most_{options.max_operations},
        most_ranks_{options.max_ranks},
        operators_{operators != Operators::kLeftOut},
        shapes_{operators == Operators::kReadWithShapes} {
    result_.file = file;
  }

  RankEvents read() {
    if (json_.kind() != JsonPull::Kind::kObject) json_.fail("expected a Kineto trace: an object with traceEvents");
    json_.begin_object();
    bool has_events = false;
    while (json_.next_member()) {
      if (json_.key() == "traceEvents") {
        has_events = true;
        read_trace_events();
      } else if (json_.key() == "deviceProperties" && json_.kind() == JsonPull::Kind::kArray) {
        read_devices();
      } else if (json_.key() == "distributedInfo" && json_.kind() == JsonPull::Kind::kObject) {
        read_distributed();
      } else if (json_.key() == "baseTimeNanoseconds") {
        if (!read_integer(json_.scalar(), result_.base_ns)) json_.fail("baseTimeNanoseconds is no whole number");
        if (result_.base_ns < 0 || result_.base_ns > kLatestNs) json_.fail("baseTimeNanoseconds is no time since 1970");
      } else {
        json_.skip();
      }
    }
    json_.check_end();
    if (!has_events) json_.fail("no traceEvents: not a Kineto trace");
    const bool described =
        !result_.host_comms.empty() ||
        std::ranges::any_of(result_.activities, [](const DeviceActivity& each) { return each.comm != kNone; });
    if (!described) result_.host_comms = std::move(nccl_functions_);
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      if (devices_[i].first == device_) result_.gpu = devices_[i].second;
    }
    return std::move(result_);
  }

 private:
  std::int64_t integer(std::int64_t otherwise = -1) {
    std::int64_t value = 0;
    if (json_.kind() != JsonPull::Kind::kString && json_.kind() != JsonPull::Kind::kLiteral) {
      json_.skip();
      return otherwise;
    }
    return read_integer(json_.scalar(), value) ? value : otherwise;
  }

  std::int64_t time(std::string_view what) {
    std::int64_t ns = 0;
    const std::string_view text = json_.scalar();
    if (!parse_us_as_ns(text, ns) || ns > kLatestNs || ns < -kLatestNs)
      json_.fail(fmt::format("{} '{}' is no time in microseconds", what, text.substr(0, 40)));
    return ns;
  }

  void text(std::string& into) {
    if (json_.kind() == JsonPull::Kind::kString || json_.kind() == JsonPull::Kind::kLiteral) {
      into = json_.scalar();
    } else {
      json_.skip();
    }
  }

  // A list of numbers as most versions print it, "[0, 1]", also where it is one.
  void list_text(std::string& into) {
    if (json_.kind() != JsonPull::Kind::kArray) {
      text(into);
      return;
    }
    into = "[";
    json_.begin_array();
    while (json_.next_element()) into += fmt::format("{},", integer());
    into += ']';
  }

  void read_devices() {
    json_.begin_array();
    while (json_.next_element()) {
      if (json_.kind() != JsonPull::Kind::kObject) {
        json_.skip();
        continue;
      }
      std::pair<std::int64_t, std::string> device{-1, {}};
      json_.begin_object();
      while (json_.next_member()) {
        if (json_.key() == "id") {
          device.first = integer();
        } else if (json_.key() == "name") {
          text(device.second);
        } else {
          json_.skip();
        }
      }
      devices_.push_back(std::move(device));
    }
  }

  std::vector<std::int64_t> ranks_value() {
    if (json_.kind() == JsonPull::Kind::kString) return parse_rank_list(json_.scalar());
    std::vector<std::int64_t> ranks;
    if (json_.kind() != JsonPull::Kind::kArray) {
      json_.skip();
      return ranks;
    }
    json_.begin_array();
    while (json_.next_element()) ranks.push_back(integer());
    return ranks;
  }

  void read_distributed() {
    json_.begin_object();
    while (json_.next_member()) {
      if (json_.key() == "rank") {
        result_.rank = rank_number("rank");
      } else if (json_.key() == "world_size") {
        result_.world = rank_number("world_size");
      } else if (json_.key() == "pg_config" && json_.kind() == JsonPull::Kind::kArray) {
        json_.begin_array();
        while (json_.next_element()) read_group();
      } else {
        json_.skip();
      }
    }
  }

  std::int64_t rank_number(std::string_view what) {
    const std::int64_t number = integer();
    if (number > most_ranks_) json_.fail(fmt::format("{} is {}; at most {} ranks are read", what, number, most_ranks_));
    return number;
  }

  void read_group() {
    if (json_.kind() != JsonPull::Kind::kObject) {
      json_.skip();
      return;
    }
    ProcessGroup group;
    json_.begin_object();
    while (json_.next_member()) {
      if (json_.key() == "pg_name") {
        text(group.name);
      } else if (json_.key() == "pg_desc") {
        text(group.description);
      } else if (json_.key() == "ranks") {
        group.ranks = ranks_value();
      } else {
        json_.skip();
      }
    }
    result_.groups.push_back(std::move(group));
  }

  void read_trace_events() {
    if (json_.kind() != JsonPull::Kind::kArray) json_.fail("traceEvents is no list");
    json_.begin_array();
    while (json_.next_element()) {
      if (json_.kind() != JsonPull::Kind::kObject) json_.fail("an element of traceEvents is no object");
      read_event();
      if ((event_.phase == 'X' || event_.phase == 'B') && event_.duration >= 0) keep();
    }
  }

  // Arguments matter of some categories only; where the category comes after them they are read all the same.
  [[nodiscard]] bool wants_arguments() const {
    switch (event_.category) {
      case EventCategory::kUnknown:
      case EventCategory::kKernel:
      case EventCategory::kMemcpy:
      case EventCategory::kMemset:
      case EventCategory::kRuntime:
      case EventCategory::kSync:
        return event_.phase == 0 || event_.phase == 'X';
      case EventCategory::kOperator:
        return operators_ || event_.name.empty() || event_.name == "record_param_comms" || is_nccl_function();
      case EventCategory::kAnnotation:
        return is_nccl_function();
      case EventCategory::kOverhead:
      case EventCategory::kOther:
        return false;
    }
    return false;
  }

  void read_event() {
    event_.clear();
    json_.begin_object();
    while (json_.next_member()) read_member(event_key(json_.key()));
    check_duration();  // its category may have come after its duration
    if (event_.duration < 0) ++result_.negative_durations;
  }

  void read_member(EventKey key) {
    switch (key) {
      case EventKey::kPhase: {
        const std::string_view phase = json_.scalar();
        event_.phase = phase.empty() ? '\0' : phase.front();
        return;
      }
      case EventKey::kCategory:
        event_.category = event_category(json_.scalar());
        return;
      case EventKey::kName:
        return text(event_.name);
      case EventKey::kStart:
        event_.start = time("ts");
        event_.has_start = true;
        return;
      case EventKey::kDuration:
        event_.duration = time("dur");
        check_duration();
        event_.has_duration = true;
        return;
      case EventKey::kProcess:
        event_.process = integer();
        return;
      case EventKey::kThread:
        event_.thread = integer();
        return;
      case EventKey::kArguments:
        if (wants_arguments() && json_.kind() == JsonPull::Kind::kObject) return read_arguments();
        break;
      case EventKey::kOther:
        break;
    }
    json_.skip();
  }

  // Whether the event is of the GPU or its driver; the category may not be known yet.
  [[nodiscard]] bool is_timed() const {
    return event_.category == EventCategory::kKernel || event_.category == EventCategory::kMemcpy ||
           event_.category == EventCategory::kMemset || event_.category == EventCategory::kRuntime;
  }

  void check_duration() {
    if (event_.category == EventCategory::kUnknown || event_.category == EventCategory::kOther) return;
    if (event_.duration < 0 && is_timed()) json_.fail("dur is negative");
    if (event_.duration > kLongestTask.ps() / 1'000) json_.fail("dur is more than 28 hours");
  }

  void read_arguments() {
    json_.begin_object();
    while (json_.next_member()) read_argument(argument_key(json_.key()));
  }

  void read_argument(ArgumentKey key) {
    CommCall& comm = event_.comm;
    switch (key) {
      case ArgumentKey::kCorrelation:
        event_.correlation = integer();
        return;
      case ArgumentKey::kExternal:
        event_.external = integer();
        return;
      case ArgumentKey::kRecordFunction:
        event_.record_function = integer();
        return;
      case ArgumentKey::kStream:
        event_.stream = integer();
        return;
      case ArgumentKey::kDevice:
        event_.device = integer();
        return;
      case ArgumentKey::kBytes:
        event_.bytes = bytes_of(integer(0), result_.odd_bytes);
        return;
      case ArgumentKey::kGrid:
        event_.blocks = grid();
        return;
      case ArgumentKey::kOnStream:
        event_.on_stream = integer();
        return;
      case ArgumentKey::kRecordCorrelation:
        event_.record_correlation = integer();
        return;
      case ArgumentKey::kCollective:
        return text(comm.name);
      case ArgumentKey::kGroup:
        return text(comm.group);
      case ArgumentKey::kGroupDescription:
        return text(comm.group_description);
      case ArgumentKey::kGroupRanks:
        return list_text(comm.ranks);
      case ArgumentKey::kInSplit:
        return list_text(comm.in_split);
      case ArgumentKey::kOutSplit:
        return list_text(comm.out_split);
      case ArgumentKey::kDtype:
        return text(comm.dtype);
      case ArgumentKey::kInputDims:
        if (!shapes_ && !is_nccl_function()) break;
        event_.inputs = shapes();
        return;
      case ArgumentKey::kInputType:
        if (is_nccl_function()) return first_text(comm.dtype);
        break;
      case ArgumentKey::kInElements:
        comm.in_elements = elements("In msg nelems");
        return;
      case ArgumentKey::kOutElements:
        comm.out_elements = elements("Out msg nelems");
        return;
      case ArgumentKey::kGroupSize:
        comm.group_size = integer();
        return;
      case ArgumentKey::kSource:
        comm.source = integer();
        return;
      case ArgumentKey::kDestination:
        comm.destination = integer();
        return;
      case ArgumentKey::kSequence:
        comm.sequence = integer();
        return;
      case ArgumentKey::kRankStart:
        comm.rank_start = integer();
        return;
      case ArgumentKey::kRankStride:
        comm.rank_stride = integer();
        return;
      case ArgumentKey::kOther:
        break;
    }
    json_.skip();
  }

  std::int64_t elements(std::string_view what) {
    const std::int64_t count = integer();
    if (count > kMostElements) json_.fail(fmt::format("'{}': {} is no number of elements", what, count));
    return count;
  }

  // PyTorch's own record of a call of NCCL, "nccl:all_reduce". Before version 2.2 nothing else says its size, where shapes
  // were recorded; of its group nothing says anything.
  [[nodiscard]] bool is_nccl_function() const { return event_.name.starts_with(kNcclFunction); }

  // Lists of sides, one for each input: [[1024, 8], []]; of a list of tensors one for each of them: [[[1024], [512]]].
  std::vector<OperatorInput> shapes() {
    std::vector<OperatorInput> inputs;
    if (json_.kind() != JsonPull::Kind::kArray) {
      json_.skip();
      return inputs;
    }
    json_.begin_array();
    while (json_.next_element()) {
      OperatorInput& input = inputs.emplace_back();
      if (json_.kind() != JsonPull::Kind::kArray) {
        json_.skip();
        continue;
      }
      std::vector<std::int64_t> sides;
      json_.begin_array();
      while (json_.next_element()) {
        if (json_.kind() != JsonPull::Kind::kArray) {
          sides.push_back(integer(0));
          continue;
        }
        input.is_list = true;
        std::vector<std::int64_t>& tensor = input.tensors.emplace_back();
        json_.begin_array();
        while (json_.next_element()) tensor.push_back(integer(0));
      }
      if (!sides.empty()) input.tensors.push_back(std::move(sides));
    }
    return inputs;
  }

  void first_text(std::string& into) {
    if (json_.kind() != JsonPull::Kind::kArray) {
      json_.skip();
      return;
    }
    json_.begin_array();
    for (bool is_first = true; json_.next_element(); is_first = false) {
      if (is_first) {
        text(into);
      } else {
        json_.skip();
      }
    }
  }

  std::int64_t grid() {
    if (json_.kind() != JsonPull::Kind::kArray) {
      json_.skip();
      return 0;
    }
    std::array<std::int64_t, 3> sides{1, 1, 1};
    std::size_t count = 0;
    json_.begin_array();
    for (; json_.next_element(); ++count) {
      const std::int64_t side = integer(0);
      if (count < sides.size()) sides[count] = side;
    }
    return blocks_of(sides, result_.odd_grids);
  }

  void keep() {
    if (!event_.has_start) {
      if (event_.category == EventCategory::kKernel) json_.fail("a kernel without ts");
      return;
    }
    if (event_.category == EventCategory::kKernel && !event_.has_duration) json_.fail("a kernel without dur");
    switch (event_.category) {
      case EventCategory::kKernel:
        keep_activity(DeviceActivity::Kind::kKernel);
        break;
      case EventCategory::kMemcpy:
        keep_activity(DeviceActivity::Kind::kMemcpy);
        break;
      case EventCategory::kMemset:
        keep_activity(DeviceActivity::Kind::kMemset);
        break;
      case EventCategory::kRuntime:
        result_.calls.push_back({.start = event_.start,
                                 .duration = event_.duration,
                                 .correlation = event_.correlation,
                                 .thread = event_.thread,
                                 .kind = call_kind(event_.name)});
        break;
      case EventCategory::kOperator:
        if (event_.name == "record_param_comms" && event_.comm.is_named()) {
          result_.host_comms.push_back(
              {event_.start, event_.thread, event_.external, static_cast<std::uint32_t>(result_.comms.size())});
          result_.comms.push_back(event_.comm);
        }
        keep_nccl_function();
        keep_annotation();  // older traces annotate steps so
        if (operators_) keep_operator();
        break;
      case EventCategory::kAnnotation:
        keep_nccl_function();
        keep_annotation();
        break;
      case EventCategory::kOverhead:
        result_.overhead_ns = std::min(result_.overhead_ns + event_.duration, kLatestNs);
        if (event_.name == "Command Buffer Full") result_.queue_full.push_back({event_.start, event_.duration, 0});
        break;
      case EventCategory::kSync:
        result_.syncs.push_back({event_.correlation, event_.stream, event_.on_stream, event_.record_correlation});
        break;
      case EventCategory::kUnknown:
      case EventCategory::kOther:
        break;
    }
  }

  void keep_nccl_function() {
    if (event_.inputs.empty() || event_.inputs.front().tensors.empty() || !is_nccl_function()) return;
    event_.comm.name = event_.name.substr(kNcclFunction.size());
    event_.comm.in_elements = event_.inputs.front().elements();
    nccl_functions_.push_back({event_.start, event_.thread, event_.external, static_cast<std::uint32_t>(result_.comms.size())});
    result_.comms.push_back(event_.comm);
  }

  void keep_operator() {
    if (result_.operators.size() >= most_) json_.fail(fmt::format("more than {} operators, which is the limit", most_));
    if (result_.process < 0) result_.process = event_.process;
    result_.operators.push_back({.start = event_.start,
                                 .thread = event_.thread,
                                 .external = event_.external,
                                 .record_function = event_.record_function,
                                 .name = name_of(event_.name),
                                 .inputs = std::move(event_.inputs)});
  }

  void keep_activity(DeviceActivity::Kind kind) {
    if (result_.activities.size() >= most_) json_.fail(fmt::format("more than {} activities, which is the limit", most_));
    DeviceActivity activity{.start = event_.start,
                            .duration = event_.duration,
                            .bytes = event_.bytes,
                            .stream = stream_of(event_.device >= 0 ? event_.device : event_.process),
                            .correlation = event_.correlation,
                            .external = event_.external,
                            .name = name_of(event_.name),
                            .comm = kNone,
                            .blocks = static_cast<std::int32_t>(event_.blocks),
                            .kind = kind};
    if (event_.comm.is_named()) {
      activity.comm = static_cast<std::uint32_t>(result_.comms.size());
      result_.comms.push_back(event_.comm);
    }
    result_.activities.push_back(activity);
  }

  // A process may drive several GPUs, each with streams of its own: beside those of the first, others' are numbered from -2
  // down.
  std::int64_t stream_of(std::int64_t device) {
    const std::int64_t stream = event_.stream >= 0 ? event_.stream : event_.thread;
    if (device_ < 0) device_ = device;
    if (device == device_) return stream;
    if (std::ranges::find(result_.other_devices, device) == result_.other_devices.end())
      result_.other_devices.push_back(device);
    const auto next = -2 - static_cast<std::int64_t>(other_streams_.size());
    return other_streams_.try_emplace({device, stream}, next).first->second;
  }

  std::uint32_t name_of(const std::string& name) {
    const auto [at, is_new] = name_index_.try_emplace(name, static_cast<std::uint32_t>(result_.names.size()));
    if (is_new) result_.names.push_back(name);
    return at->second;
  }

  void keep_annotation() {
    constexpr std::string_view kStep = "ProfilerStep#";
    if (!event_.name.starts_with(kStep)) return;
    std::int64_t number = 0;
    if (!read_integer(std::string_view{event_.name}.substr(kStep.size()), number) || number < 0) return;
    result_.steps.push_back({event_.start, event_.duration, number});
  }

  InputStream stream_;
  JsonPull json_;
  std::uint64_t most_;
  std::int64_t most_ranks_;
  bool operators_;
  bool shapes_;
  RankEvents result_;
  Event event_;
  std::vector<std::pair<std::int64_t, std::string>> devices_;
  std::int64_t device_ = -1;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> other_streams_;
  std::vector<HostComm> nccl_functions_;
  std::unordered_map<std::string, std::uint32_t> name_index_;
};

}  // namespace

RankEvents read_events(const std::filesystem::path& file, const TraceReadOptions& options, Operators operators) {
  RankEvents events = Reader{file, options, operators}.read();
  std::ranges::stable_sort(events.calls, {}, &HostCall::start);
  return events;
}

}  // namespace weft::work::kineto
