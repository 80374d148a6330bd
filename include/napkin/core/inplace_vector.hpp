// A vector with a fixed capacity, usable in constant evaluation and as a structural type: what the
// pattern language and the graph's shapes are made of. Exceeding the capacity is a compile error in
// constant evaluation and an exception at run time.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <stdexcept>

namespace napkin {

template <class T, std::size_t Capacity>
struct inplace_vector {
  T items[Capacity]{};  // std::array's accessors would take g++ three calls for each element
  std::size_t count = 0;

  constexpr inplace_vector() = default;
  constexpr inplace_vector(std::initializer_list<T> listed) {
    for (const T& value : listed) push_back(value);
  }
  constexpr explicit inplace_vector(std::size_t n, const T& value) {
    if (n > Capacity) throw std::length_error("napkin: inplace_vector is full");
    for (; count < n; ++count) items[count] = value;
  }

  static constexpr std::size_t capacity() { return Capacity; }
  constexpr std::size_t size() const { return count; }
  constexpr bool empty() const { return count == 0; }
  constexpr void clear() { count = 0; }
  constexpr void push_back(const T& value) {
    if (count == Capacity) throw std::length_error("napkin: inplace_vector is full");
    items[count++] = value;
  }
  constexpr void pop_back() { --count; }
  constexpr void insert(std::size_t at, const T& value) {
    push_back(value);
    for (std::size_t i = count - 1; i > at; --i) items[i] = items[i - 1];
    items[at] = value;
  }
  /// Without the element at a position; those behind it move up.
  constexpr void erase(std::size_t at) {
    for (--count; at < count; ++at) items[at] = items[at + 1];
  }
  constexpr T& operator[](std::size_t i) { return items[i]; }
  constexpr const T& operator[](std::size_t i) const { return items[i]; }
  constexpr T& back() { return items[count - 1]; }
  constexpr const T& back() const { return items[count - 1]; }
  constexpr T* data() { return items; }
  constexpr const T* data() const { return items; }
  constexpr T* begin() { return items; }
  constexpr const T* begin() const { return items; }
  constexpr T* end() { return items + count; }
  constexpr const T* end() const { return items + count; }

  constexpr bool contains(const T& value) const { return index_of(value) < count; }
  /// The position of the first element equal to value, size() if there is none.
  constexpr std::size_t index_of(const T& value) const {
    for (std::size_t i = 0; i < count; ++i)
      if (items[i] == value) return i;
    return count;
  }

  friend constexpr bool operator==(const inplace_vector& a, const inplace_vector& b) {
    std::size_t i = a.count;
    if (i != b.count) return false;
    while (i != 0 && a.items[i - 1] == b.items[i - 1]) --i;
    return i == 0;
  }
};

}  // namespace napkin
