// A move-only callable that never allocates: what it captures lives inside it, and a capture that does not fit does not
// compile.
//
//   InlineFunction<void(Time)> done = [this, id](Time at) { finished(id, at); };
//
// For callbacks that are stored. A function that is only passed down and called is a template parameter instead.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "sim/core/error.h"

namespace weft {

template <class Signature, std::size_t kCapacity = 48>
class InlineFunction;

template <class R, class... Args, std::size_t kCapacity>
class InlineFunction<R(Args...), kCapacity> {
 public:
  InlineFunction() = default;

  // Implicit, so that a lambda converts where it is passed.
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, InlineFunction> && std::is_invocable_r_v<R, std::decay_t<F>&, Args...>)
      InlineFunction(F&& function) {  // NOLINT(google-explicit-constructor)
    using Stored = std::decay_t<F>;
    static_assert(sizeof(Stored) <= kCapacity, "the capture is larger than the function's capacity");
    static_assert(alignof(Stored) <= alignof(std::max_align_t));
    static_assert(std::is_nothrow_move_constructible_v<Stored>);
    ::new (static_cast<void*>(storage_)) Stored(std::forward<F>(function));
    invoke_ = [](void* stored, Args... args) -> R {
      if constexpr (std::is_void_v<R>) {
        (*static_cast<Stored*>(stored))(std::forward<Args>(args)...);
      } else {
        return (*static_cast<Stored*>(stored))(std::forward<Args>(args)...);
      }
    };
    relocate_ = [](void* from, void* to) noexcept {
      auto* stored = static_cast<Stored*>(from);
      if (to != nullptr) ::new (to) Stored(std::move(*stored));
      stored->~Stored();
    };
  }

  InlineFunction(InlineFunction&& other) noexcept { take(other); }
  InlineFunction& operator=(InlineFunction&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~InlineFunction() { reset(); }

  // Calls what is stored; an empty function is a bug of the caller.
  R operator()(Args... args) {
    WEFT_CHECK(invoke_ != nullptr);
    return invoke_(storage_, std::forward<Args>(args)...);
  }
  explicit operator bool() const { return invoke_ != nullptr; }

  void reset() {
    if (relocate_ != nullptr) relocate_(storage_, nullptr);
    invoke_ = nullptr;
    relocate_ = nullptr;
  }

 private:
  void take(InlineFunction& other) noexcept {
    if (other.relocate_ == nullptr) return;
    other.relocate_(other.storage_, storage_);
    invoke_ = std::exchange(other.invoke_, nullptr);
    relocate_ = std::exchange(other.relocate_, nullptr);
  }

  alignas(std::max_align_t) std::byte storage_[kCapacity];
  R (*invoke_)(void*, Args...) = nullptr;
  void (*relocate_)(void* from, void* to) noexcept = nullptr;  // moves to `to`, or destroys where that is null
};

}  // namespace weft
