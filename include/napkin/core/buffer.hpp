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
struct buffer {
  // Read where a constant evaluation is hot: each call of an accessor takes it as long as three reads.
  T* items = nullptr;
  std::size_t count = 0;
  std::size_t room = 0;

  constexpr buffer() = default;
  constexpr explicit buffer(std::size_t n, const T& value = T{}) { resize(n, value); }
  constexpr buffer(const buffer& other) {
    reserve(other.count);
    copy_run(other.items, other.count, items);
    count = other.count;
  }
  // std::exchange and std::swap would be calls, three for each buffer of a plan that is moved.
  constexpr buffer(buffer&& other) noexcept : items(other.items), count(other.count), room(other.room) {
    other.items = nullptr;
    other.count = other.room = 0;
  }
  constexpr buffer& operator=(buffer other) noexcept {
    T* const mine = items;
    items = other.items;
    other.items = mine;
    count = other.count;
    room = other.room;
    return *this;
  }
  constexpr ~buffer() {
    if (items != nullptr) delete[] items;
  }

  constexpr std::size_t size() const { return count; }
  constexpr bool empty() const { return count == 0; }
  constexpr void reserve(std::size_t n) {
    if (n <= room) return;
    T *const grown = make_room(n), *to = grown;
    for (T *from = items, *end = items + count; from != end;) *to++ = static_cast<T&&>(*from++);
    delete[] items;
    items = grown;
    room = n;
  }
  constexpr void resize(std::size_t n, const T& value = T{}) {
    reserve(n);
    for (T *at = items + count, *end = items + n; at < end;) *at++ = value;
    count = n;
  }
  constexpr void push_back(const T& value) {
    if (count == room) {
      if (room > 0) return grow_by(value);
      reserve(first_capacity);
    }
    items[count++] = value;
  }
  /// n elements from elsewhere, not from this buffer.
  constexpr void append(const T* values, std::size_t n) {
    const std::size_t needed = count + n;
    if (needed > room) {
      const std::size_t grown = room == 0 ? first_capacity : 2 * room;
      reserve(needed > grown ? needed : grown);
    }
    copy_run(values, n, items + count);
    count += n;
  }
  constexpr void pop_back() { --count; }
  constexpr void insert(std::size_t at, const T& value) {
    const T copy = value;  // value may lie in this buffer
    push_back(copy);
    T* to = items + count - 1;
    for (const T* stop = items + at; to != stop; --to) *to = to[-1];
    *to = copy;
  }
  constexpr void erase(std::size_t at) {
    T* to = items + at;
    for (const T* last = items + count - 1; to != last; ++to) *to = to[1];
    --count;
  }
  constexpr void clear() { count = 0; }
  constexpr T& operator[](std::size_t i) { return items[i]; }
  constexpr const T& operator[](std::size_t i) const { return items[i]; }
  constexpr T& back() { return items[count - 1]; }
  constexpr const T& back() const { return items[count - 1]; }
  constexpr T* begin() { return items; }
  constexpr T* end() { return items + count; }
  constexpr const T* begin() const { return items; }
  constexpr const T* end() const { return items + count; }
  constexpr T* data() { return items; }
  constexpr const T* data() const { return items; }

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
    reserve(room * 2);
    items[count++] = value;
  }
};

/// Ascending. Of few, or of many that nearly are.
template <class T>
constexpr void insertion_sort(buffer<T>& run) {
  T* const first = run.items;
  for (std::size_t i = 1; i < run.count; ++i) {
    T* at = first + i;
    const T now = *at;
    for (; at != first && now < at[-1]; --at) *at = at[-1];
    *at = now;
  }
}

}  // namespace napkin
