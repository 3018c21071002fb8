// Values as the bytes that they are in memory, for processes of one program on machines that are alike.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/core/error.h"

namespace weft {

class PlainWriter {
 public:
  template <class T>
  void value(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  void list(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    value(values.size());
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }
  template <class T>
  void list(const std::vector<T>& values) {
    list(std::span<const T>{values});
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Takes what a PlainWriter wrote, in its order.
class PlainReader {
 public:
  explicit PlainReader(std::string_view bytes) : bytes_{bytes} {}

  template <class T>
  [[nodiscard]] T value() {
    T out;
    std::memcpy(&out, next(sizeof out), sizeof out);
    return out;
  }
  // Appended to `to`.
  template <class T>
  void list(std::vector<T>& to) {
    const auto count = value<std::size_t>();
    const std::size_t before = to.size();
    to.resize(before + count);
    if (count > 0) std::memcpy(static_cast<void*>(to.data() + before), next(count * sizeof(T)), count * sizeof(T));
  }
  [[nodiscard]] bool is_at_end() const { return bytes_.empty(); }

 private:
  const char* next(std::size_t count) {
    WEFT_CHECK(count <= bytes_.size());
    const char* const begin = bytes_.data();
    bytes_.remove_prefix(count);
    return begin;
  }

  std::string_view bytes_;
};

}  // namespace weft
