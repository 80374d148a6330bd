// A run of node ids, axes or labels that lies elsewhere: operands and attributes as they are passed around.
// std::span would do; its iterators made a third of what a pass costs in constant evaluation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace napkin {

class ids {
 public:
  constexpr ids() = default;
  constexpr ids(const std::int32_t* data, std::size_t size) : data_(data), size_(size) {}
  template <std::size_t N>
  constexpr ids(const std::int32_t (&array)[N]) : data_(array), size_(N) {}
  template <class Container>
  requires requires(const Container& c, const std::int32_t*& data, std::size_t& size) {
    data = c.data();
    size = c.size();
  }
  constexpr ids(const Container& run) : data_(run.data()), size_(run.size()) {}

  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const std::int32_t* data() const { return data_; }
  constexpr const std::int32_t* begin() const { return data_; }
  constexpr const std::int32_t* end() const { return data_ + size_; }
  constexpr std::int32_t operator[](std::size_t i) const { return data_[i]; }
  constexpr ids first(std::size_t n) const { return {data_, n}; }
  constexpr ids from(std::size_t n) const { return {data_ + n, size_ - n}; }

 private:
  const std::int32_t* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace napkin
