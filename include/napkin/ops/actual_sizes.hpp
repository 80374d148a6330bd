// How long axes are that are sized at run time: asked of the tensors that an expression, a gradient or a step
// is computed of, checked, and handed to a plan, whose last inputs they are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "napkin/core/error.hpp"
#include "napkin/ops/expression_graph.hpp"

namespace napkin::detail {

/// Actual sizes of axes that are sized at run time, of what a graph is computed with: as its size inputs want
/// them.
class run_time_sizes {
 public:
  /// Of all leaves in order. Throws input_error where one axis has two sizes, or two that must be equal are
  /// not.
  template <class X>
  void add(const X& x) {
    if constexpr (has_dynamic_axis<X>)
      [&]<class... Ds>(axes<Ds...>) {
        std::size_t i = 0;
        ((Ds::dynamic ? add(traced_shape_over<axes<Ds...>>().items[i], Ds::name.view(), x.sizes()[i])
                      : void(),
          ++i),
         ...);
      }(axes_of<X>{});
  }
  /// One of them, as a graph has it.
  void add(std::size_t marked, std::string_view name, std::size_t actual) {
    std::size_t k = 0;
    while (k < count_ && marked_[k] != marked) ++k;
    if (k == max_run_time_sizes)
      throw input_error("an expression has more than " + std::to_string(max_run_time_sizes) +
                        " axes that are sized at run time");
    if (k < count_ && static_cast<std::size_t>(actual_[k]) != actual) throw_two_sizes(k, name, actual);
    marked_[k] = marked;
    names_[k] = name;
    actual_[k] = static_cast<std::int32_t>(actual);
    if (k == count_) ++count_;
  }
  void agree(const run_time_slots& slots) const {
    for (std::size_t k = 0; k < count_; ++k) refuse_unequal(k, slots.equal_to[k]);
  }
  std::size_t size() const { return count_; }
  std::size_t operator[](std::size_t k) const { return static_cast<std::size_t>(actual_[k]); }
  const std::int32_t* address(std::size_t k) const { return &actual_[k]; }

 private:
  std::size_t count_ = 0;
  std::array<std::size_t, max_run_time_sizes> marked_{};
  std::array<std::string_view, max_run_time_sizes> names_{};
  std::array<std::int32_t, max_run_time_sizes> actual_{};

  void refuse_unequal(std::size_t k, std::size_t other) const {
    if (actual_[k] != actual_[other]) throw_two_sizes(other, names_[k], static_cast<std::size_t>(actual_[k]));
  }
  [[noreturn]] void throw_two_sizes(std::size_t k, std::string_view name, std::size_t actual) const {
    throw input_error(
        "axis '" + std::string(names_[k]) + "' has " + std::to_string(actual_[k]) +
        " elements in one operand and " + std::to_string(actual) + " in another" +
        (name == names_[k] ? std::string() : ", where it is called '" + std::string(name) + "'"));
  }
};

template <class E>
run_time_sizes run_time_sizes_of(const E& e) {
  run_time_sizes sizes;
  for_each_leaf(e, [&sizes](const auto& leaf) { sizes.add(leaf); });
  sizes.agree(run_time_slots_of<E>);
  return sizes;
}
template <class E>
std::array<std::size_t, axes_of<E>::rank> actual_sizes_of(const E& e) {
  const run_time_sizes sizes = run_time_sizes_of(e);
  std::array<std::size_t, axes_of<E>::rank> all = facts_of_axes<axes_of<E>>::shape;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (const std::size_t k = run_time_slots_of<E>.of_output[i]; k < sizes.size()) all[i] = sizes[k];
  return all;
}

/// A leaf as a plan reads it, up to the bounds of its axes: where a view does not reach as far in its
/// storage, a copy.
class bounded_leaves {
 public:
  template <class X>
  const void* address_of(const X& x) {
    if constexpr (Scalar<X>) {
      return &x.value;
    } else {
      if constexpr (X::dynamic && !is_tensor<X>) {
        using T = typename X::element;
        constexpr reach whole = reach_of(X::strides, facts_of_axes<axes_of<X>>::shape);
        const auto* const first = static_cast<const T*>(x.shared_storage().data());
        const auto there = static_cast<std::ptrdiff_t>(x.shared_storage().bytes() / sizeof(T));
        const std::ptrdiff_t at = x.data() - first;
        if (at + whole.lowest < 0 || at + whole.highest >= there) {
          copies_.emplace_back(static_cast<std::size_t>(whole.highest - whole.lowest + 1) * sizeof(T));
          T* const copy = static_cast<T*>(copies_.back().data()) - whole.lowest;
          copy_strided(copy, X::strides, x.data(), X::strides, x.sizes(), sizeof(T));
          return copy;
        }
      }
      return x.data();
    }
  }

 private:
  std::vector<storage> copies_;
};

}  // namespace napkin::detail
