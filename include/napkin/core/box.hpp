// An object on the heap with one owner, for headers. std::unique_ptr's own header brings shared pointers and
// iostreams along, which every file that nvcc compiles would read three times: 0.4 s of it.
#pragma once

#include <utility>

namespace napkin {

/// Owns an object of a type that may be incomplete where the box is not made, moved or destroyed.
template <class T>
class box {
 public:
  /// Nothing.
  box() = default;
  template <class... Arguments>
  explicit box(std::in_place_t, Arguments&&... arguments)
      : object_(new T(std::forward<Arguments>(arguments)...)) {}
  box(box&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  box& operator=(box other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~box() {
    static_assert(sizeof(T) > 0, "an incomplete type would not be destroyed");
    delete object_;
  }

  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

}  // namespace napkin
