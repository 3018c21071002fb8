#include "sim/workloads/trace/input_stream.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/memory.h"
#include "sim/core/used_files.h"

namespace weft::work {
namespace {

constexpr std::size_t kPackedBytes = std::size_t{1} << 18;
constexpr int kGzipOnly = 16;  // added to the window's bits: zlib's way of asking for gzip's header and checksum

[[noreturn]] void fail_reading(const std::filesystem::path& file, std::string message, std::string note = {}) {
  throw ConfigError(std::vector{
      Diagnostic{.where = {.file = file.string()}, .message = std::move(message), .source_line = {}, .note = std::move(note)}});
}

}  // namespace

struct InputStream::State {
  struct CloseFile {
    void operator()(std::FILE* open) const { std::fclose(open); }
  };

  State(std::filesystem::path path, std::uint64_t most) : file{std::move(path)}, max_bytes{most} {}
  ~State() {
    if (is_gzip) inflateEnd(&inflater);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void open();
  void refill();
  std::size_t read_plain(std::span<char> into);
  std::size_t read_gzip(std::span<char> into);
  bool next_member();

  std::filesystem::path file;
  std::uint64_t max_bytes;
  std::unique_ptr<std::FILE, CloseFile> handle;
  std::vector<unsigned char> packed = std::vector<unsigned char>(kPackedBytes);
  std::size_t packed_size = 0;
  std::size_t packed_at = 0;  // what is used of `packed`
  bool at_end = false;        // of the file
  bool is_gzip = false;
  bool member_ended = false;
  bool done = false;
  z_stream inflater{};
  std::uint64_t offset = 0;
  MemoryPhase reading{"reading a trace"};
  std::uint64_t file_bytes = 0;  // 0: not known
  std::uint64_t file_read = 0;
};

void InputStream::State::open() {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) fail_reading(file, "is a folder, not a file");
  note_input(file);
  handle.reset(std::fopen(file.c_str(), "rb"));
  if (handle == nullptr) fail_reading(file, fmt::format("cannot be read: {}", std::strerror(errno)));
  if (std::filesystem::is_regular_file(file, ignored)) file_bytes = std::filesystem::file_size(file, ignored);
  refill();
  if (std::string_view{reinterpret_cast<const char*>(packed.data()), packed_size}.starts_with(kByteOrderMark)) {
    packed_at = kByteOrderMark.size();
  }
  is_gzip = packed_size >= 2 && packed[0] == 0x1f && packed[1] == 0x8b;
  if (is_gzip && inflateInit2(&inflater, MAX_WBITS + kGzipOnly) != Z_OK) {
    is_gzip = false;
    fail_reading(file, "zlib has no memory to unpack it");
  }
}

void InputStream::State::refill() {
  packed_at = 0;
  packed_size = std::fread(packed.data(), 1, packed.size(), handle.get());
  file_read += packed_size;
  reading.tell(file_read, file_bytes);
  if (packed_size == packed.size()) return;
  if (std::ferror(handle.get()) != 0) fail_reading(file, fmt::format("cannot be read: {}", std::strerror(errno)));
  at_end = true;
}

std::size_t InputStream::State::read_plain(std::span<char> into) {
  std::size_t count = 0;
  while (count < into.size()) {
    if (packed_at == packed_size) {
      if (at_end) break;
      refill();
      continue;
    }
    const std::size_t taken = std::min(into.size() - count, packed_size - packed_at);
    std::memcpy(into.data() + count, packed.data() + packed_at, taken);
    packed_at += taken;
    count += taken;
  }
  return count;
}

// Gzip files may be several one after another (RFC 1952 §2.2). Zeros that pad the end are no further one.
bool InputStream::State::next_member() {
  while (true) {
    if (packed_at == packed_size) {
      if (at_end) return false;
      refill();
      continue;
    }
    if (packed[packed_at] != 0) break;
    ++packed_at;
  }
  if (packed[packed_at] != 0x1f)
    fail_reading(file, fmt::format("damaged gzip: bytes that are none follow after {} unpacked", offset));
  inflateReset(&inflater);
  member_ended = false;
  return true;
}

std::size_t InputStream::State::read_gzip(std::span<char> into) {
  std::size_t count = 0;
  while (count < into.size() && !done) {
    if (member_ended && !next_member()) {
      done = true;
      break;
    }
    if (packed_at == packed_size && !at_end) refill();
    const auto room = std::min<std::size_t>(into.size() - count, std::numeric_limits<uInt>::max());
    inflater.next_in = packed.data() + packed_at;
    inflater.avail_in = static_cast<uInt>(packed_size - packed_at);
    inflater.next_out = reinterpret_cast<unsigned char*>(into.data() + count);
    inflater.avail_out = static_cast<uInt>(room);
    const int status = inflate(&inflater, Z_NO_FLUSH);
    packed_at = packed_size - inflater.avail_in;
    count += room - inflater.avail_out;
    if (status == Z_STREAM_END) {
      member_ended = true;
    } else if (status == Z_BUF_ERROR && at_end && packed_at == packed_size) {
      fail_reading(file, fmt::format("cut gzip: ends in the middle, after {} bytes unpacked", offset + count));
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      fail_reading(file, fmt::format("damaged gzip after {} bytes unpacked: {}", offset + count,
                                     inflater.msg == nullptr ? "not readable" : inflater.msg));
    }
  }
  return count;
}

InputStream::InputStream(const std::filesystem::path& file, std::uint64_t max_bytes)
    : state_{std::make_unique<State>(file, max_bytes)} {
  state_->open();
}

InputStream::~InputStream() = default;
InputStream::InputStream(InputStream&&) noexcept = default;
InputStream& InputStream::operator=(InputStream&&) noexcept = default;

std::size_t InputStream::read(std::span<char> into) {
  State& state = *state_;
  const std::size_t count = state.is_gzip ? state.read_gzip(into) : state.read_plain(into);
  state.offset += count;
  if (state.offset > state.max_bytes) {
    fail_reading(state.file,
                 fmt::format("{}more than {} bytes, which is the limit", state.is_gzip ? "unpacks to " : "", state.max_bytes),
                 state.is_gzip ? "a small file that unpacks to very much is damaged, or was made to fill memory" : "");
  }
  return count;
}

std::uint64_t InputStream::offset() const { return state_->offset; }
const std::filesystem::path& InputStream::file() const { return state_->file; }

std::string read_head(const std::filesystem::path& file, std::size_t bytes) {
  InputStream stream{file, std::numeric_limits<std::uint64_t>::max()};
  std::string head(bytes, '\0');
  head.resize(stream.read(head));
  return head;
}

std::string read_whole(const std::filesystem::path& file, std::uint64_t max_bytes) {
  InputStream stream{file, max_bytes};
  std::string text;
  std::size_t size = 0;
  while (true) {
    text.resize(std::max<std::size_t>(std::size_t{1} << 16, 2 * size));
    const std::size_t count = stream.read(std::span{text}.subspan(size));
    size += count;
    if (size < text.size()) break;
  }
  text.resize(size);
  return text;
}

}  // namespace weft::work
