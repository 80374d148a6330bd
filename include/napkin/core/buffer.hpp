// A growing array for constant evaluation: what graphs are built in. std::vector would do; this one
// costs a third less compile time (it skips iterator and allocator machinery).
#pragma once

#include <cstddef>
#include <type_traits>

namespace napkin {

/// By pointers: std::array's own accessors take a constant evaluation three calls for each element.
template <class T>
constexpr void copy_run(const T* from, std::size_t n, T* to) {
  for (const T* end = from + n; from != end;) *to++ = *from++;
}

template <class T>
class buffer {
 public:
  constexpr buffer() = default;
  constexpr explicit buffer(std::size_t n, const T& value = T{}) { resize(n, value); }
  constexpr buffer(const buffer& other) {
    reserve(other.size_);
    copy_run(other.data_, other.size_, data_);
    size_ = other.size_;
  }
  // std::exchange and std::swap would be calls, three for each buffer of a plan that is moved.
  constexpr buffer(buffer&& other) noexcept
      : data_(other.data_), size_(other.size_), capacity_(other.capacity_) {
    other.data_ = nullptr;
    other.size_ = other.capacity_ = 0;
  }
  constexpr buffer& operator=(buffer other) noexcept {
    T* const mine = data_;
    data_ = other.data_;
    other.data_ = mine;
    size_ = other.size_;
    capacity_ = other.capacity_;
    return *this;
  }
  constexpr ~buffer() {
    if (data_ != nullptr) delete[] data_;
  }

  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr void reserve(std::size_t n) {
    if (n <= capacity_) return;
    T *grown = make_room(n), *to = grown;
    for (T *from = data_, *end = data_ + size_; from != end;) *to++ = static_cast<T&&>(*from++);
    delete[] data_;
    data_ = grown;
    capacity_ = n;
  }
  constexpr void resize(std::size_t n, const T& value = T{}) {
    reserve(n);
    for (T *at = data_ + size_, *end = data_ + n; at < end;) *at++ = value;
    size_ = n;
  }
  constexpr void push_back(const T& value) {
    if (size_ == capacity_) {
      if (capacity_ > 0) return grow_by(value);
      reserve(first_capacity);
    }
    data_[size_++] = value;
  }
  /// n elements from elsewhere, not from this buffer.
  constexpr void append(const T* values, std::size_t n) {
    const std::size_t needed = size_ + n;
    if (needed > capacity_) {
      const std::size_t grown = capacity_ == 0 ? first_capacity : 2 * capacity_;
      reserve(needed > grown ? needed : grown);
    }
    copy_run(values, n, data_ + size_);
    size_ += n;
  }
  constexpr void pop_back() { --size_; }
  constexpr void insert(std::size_t at, const T& value) {
    const T copy = value;  // value may lie in this buffer
    push_back(copy);
    T* to = data_ + size_ - 1;
    for (const T* stop = data_ + at; to != stop; --to) *to = to[-1];
    *to = copy;
  }
  constexpr void erase(std::size_t at) {
    T* to = data_ + at;
    for (const T* last = data_ + size_ - 1; to != last; ++to) *to = to[1];
    --size_;
  }
  constexpr void clear() { size_ = 0; }
  constexpr T& operator[](std::size_t i) { return data_[i]; }
  constexpr const T& operator[](std::size_t i) const { return data_[i]; }
  constexpr T& back() { return data_[size_ - 1]; }
  constexpr const T& back() const { return data_[size_ - 1]; }
  constexpr T* begin() { return data_; }
  constexpr T* end() { return data_ + size_; }
  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr T* data() { return data_; }
  constexpr const T* data() const { return data_; }

 private:
  /// Without values where that is allowed: each would take a constant evaluation some thirty steps.
  static constexpr T* make_room(std::size_t n) {
    if constexpr (std::is_trivially_default_constructible_v<T>)
      return new T[n];
    else
      return new T[n]{};
  }
  // Elements are made when room is, at some steps each: large ones are few, more often than not.
  static constexpr std::size_t first_capacity = sizeof(T) > 16 ? 4 : 16;
  /// By value: it may have lain in this buffer.
  constexpr void grow_by(T value) {
    reserve(capacity_ * 2);
    data_[size_++] = value;
  }
  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace napkin
