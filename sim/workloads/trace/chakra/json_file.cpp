// Chakra's JSON variant: {"workload_graph": [{"Id": 0, "Name": "..", "NodeType": 4, "runtime": 5, "data_deps": [], ...}]}.
// Read as a stream of events; no more than one node is held.
#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/workloads/trace/chakra/chakra_file.h"
#include "sim/workloads/trace/input_stream.h"

namespace weft::work::chakra {
namespace {

constexpr std::size_t kLongestList = 10'000'000;
constexpr double kMostMicros = 1e15;

// The bytes of a file as the parser wants them.
class Bytes {
 public:
  Bytes(const std::filesystem::path& file, std::uint64_t max_bytes) : stream_{file, max_bytes} { refill(); }
  [[nodiscard]] bool ended() const { return buffer_.empty(); }
  [[nodiscard]] char front() const { return buffer_[at_]; }
  void pop() {
    if (++at_ == buffer_.size()) refill();
  }

 private:
  void refill() {
    buffer_.resize(kPiece);
    buffer_.resize(stream_.read(buffer_));
    at_ = 0;
  }
  InputStream stream_;
  std::string buffer_;
  std::size_t at_ = 0;
};

class ByteIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;
  ByteIterator() = default;
  explicit ByteIterator(Bytes& bytes) : bytes_{&bytes} {}
  char operator*() const { return bytes_->front(); }
  ByteIterator& operator++() {
    bytes_->pop();
    return *this;
  }
  void operator++(int) { bytes_->pop(); }
  bool operator==(const ByteIterator& other) const { return is_end() == other.is_end(); }

 private:
  [[nodiscard]] bool is_end() const { return bytes_ == nullptr || bytes_->ended(); }
  Bytes* bytes_ = nullptr;
};

// Depth 1: the whole; 2: the list of nodes; 3: a node; 4: a list or object in it.
class Handler final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Handler(const std::filesystem::path& file, const FileReader& reader) : file_{file}, reader_{reader} {}

  bool null() override { return true; }
  bool boolean(bool value) override { return integer(value ? 1 : 0); }
  bool number_integer(number_integer_t value) override { return integer(value); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) wrong("a number of up to 63 bits");
    return integer(static_cast<std::int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t&) override {
    if (in_node()) {
      if (key_ == "runtime") {
        set_duration(value);
      } else if (std::isfinite(value)) {
        node_.attributes.reals[key_] = value;
      }
    }
    if (in_waits()) wrong("whole numbers");
    return true;
  }
  bool string(string_t& value) override {
    if (in_waits()) wrong("whole numbers");
    if (!in_node()) return true;
    if (key_ == "Name" || key_ == "name") {
      node_.name = value;
    } else if (key_ == "Id" || key_ == "id" || key_ == "NodeType" || key_ == "runtime") {
      wrong("a number");
    } else {
      node_.attributes.texts[key_] = value;
    }
    return true;
  }
  bool binary(binary_t&) override { return true; }

  bool start_object(std::size_t) override {
    if (depth_ == 2 && in_graph_) {
      node_ = {};
      has_id_ = false;
    } else if (in_waits()) {
      wrong("whole numbers");
    }
    ++depth_;
    return true;
  }
  bool key(string_t& value) override {
    if (depth_ == 1) in_graph_ = value == "workload_graph";
    if (depth_ == 1 && in_graph_) seen_graph_ = true;
    if (in_node()) key_ = value;
    return true;
  }
  bool end_object() override {
    if (in_node()) {
      if (!has_id_) fail(file_, fmt::format("node {} of the list has no 'Id'", count_));
      ++count_;
      reader_.on_node(node_);
    }
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    if (in_waits()) wrong("whole numbers");
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    const std::string what = error.what();
    const std::size_t detail = what.find("syntax error");
    fail(file_, fmt::format("byte {}: not JSON: {}", position, detail == std::string::npos ? what : what.substr(detail, 160)));
  }
  [[nodiscard]] bool seen_graph() const { return seen_graph_; }

 private:
  [[nodiscard]] bool in_node() const { return in_graph_ && depth_ == 3; }
  [[nodiscard]] bool in_waits() const { return in_graph_ && depth_ == 4 && (key_ == "data_deps" || key_ == "ctrl_deps"); }

  [[noreturn]] void wrong(std::string_view expected) const {
    fail(file_, fmt::format("node {} of the list: '{}': expected {}", count_, key_, expected));
  }

  void set_duration(double micros) {
    if (!(micros >= 0 && micros <= kMostMicros)) wrong("microseconds from 0 to 1e15");
    node_.duration_us = micros;
  }

  bool integer(std::int64_t value) {
    if (in_waits()) {
      if (value < 0) wrong("ids of nodes, which are not negative");
      if (node_.waits.size() >= kLongestList) wrong("a list of at most 10000000 nodes");
      node_.waits.push_back(static_cast<std::uint64_t>(value));
      return true;
    }
    if (!in_node()) return true;
    if (key_ == "Id" || key_ == "id") {
      if (value < 0) wrong("a number that is not negative");
      node_.id = static_cast<std::uint64_t>(value);
      has_id_ = true;
    } else if (key_ == "NodeType") {
      if (value < 0 || static_cast<std::uint64_t>(value) >= kNodeTypes) wrong("a node type from 0 to 7");
      node_.type = static_cast<NodeType>(value);
    } else if (key_ == "runtime") {
      set_duration(static_cast<double>(value));
    } else {
      node_.attributes.integers[key_] = value;
    }
    return true;
  }

  const std::filesystem::path& file_;
  const FileReader& reader_;
  int depth_ = 0;
  bool in_graph_ = false;
  bool seen_graph_ = false;
  std::string key_;
  Node node_;
  bool has_id_ = false;
  std::size_t count_ = 0;
};

}  // namespace

bool looks_like_json(std::string_view head) {
  return head.substr(0, 4096).find("\"workload_graph\"") != std::string_view::npos;
}

void read_json(const std::filesystem::path& file, const TraceReadOptions& options, const FileReader& reader) {
  Bytes bytes{file, options.max_bytes};
  Handler handler{file, reader};
  reader.on_metadata({});
  nlohmann::json::sax_parse(ByteIterator{bytes}, ByteIterator{}, &handler);
  if (!handler.seen_graph()) fail(file, "there is no list \"workload_graph\" of nodes");
}

void read_file(const std::filesystem::path& file, const TraceReadOptions& options, const FileReader& reader) {
  const std::string head = read_head(file, 64);
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && head[first] == '{') {
    read_json(file, options, reader);
  } else {
    read_protobuf(file, options, reader);
  }
}

}  // namespace weft::work::chakra
