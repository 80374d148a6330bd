// Arrays in numpy's .npy files, read into tensors and written from them. One array a file; no .npz, no
// pickled objects, no records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "napkin/core/dim.hpp"
#include "napkin/core/dtype.hpp"
#include "napkin/core/rules.hpp"
#include "napkin/tensor/tensor.hpp"
#include "napkin/train/file_system.hpp"

namespace napkin {

namespace rule {
/// of_type<the tensor's>
template <class... Facts>
struct no_dtype_of_numpy {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "save_npy, load_npy: numpy has no such dtype: cast to f32, which holds every value of it");
};
}  // namespace rule

/// As in a file's header: "<f4"; empty for bf16 and the 8-bit floats, which numpy does not have.
constexpr std::string_view numpy_name(dtype type) {
  constexpr std::array<std::string_view, all_dtypes.size()> names{
      "<f8", "<f4", "<f2", "", "", "", "<c16", "<c8", "<i8", "<i4", "<i2", "|i1", "<u4", "<u2", "|u1", "|b1"};
  return names[static_cast<std::size_t>(type)];
}

/// An open file whose header was found sound and whose length is the header's and its elements', no more.
/// Every defect is one `input_error` line that names the file, what was expected and what was found.
///
/// Reads   versions 1.0, 2.0 and 3.0, both orders of elements, both orders of bytes
/// Source  numpy.lib.format; NEP 1
class npy_file {
 public:
  static npy_file open(file_system& files, const std::string& path);

  const std::string& path() const { return file_.path(); }
  dtype type() const { return type_; }
  const std::vector<std::uint64_t>& shape() const { return shape_; }
  /// The first index runs fastest.
  bool fortran_order() const { return fortran_order_; }

  /// The elements in C order and the machine's order of bytes into `out`, of their very size. In Fortran
  /// order takes as much memory again. `input_error` for a bool that is neither 0 nor 1.
  void read(std::span<std::byte> out) const;

  /// Sizes for these axes: `input_error` that says all that does not fit, axis by axis, else the file's.
  std::vector<std::size_t> expect(dtype type, std::span<const axis_info> axes) const;

 private:
  explicit npy_file(input_file file) : file_(std::move(file)) {}

  input_file file_;
  dtype type_{};
  std::vector<std::uint64_t> shape_;
  bool fortran_order_ = false;
  bool swapped_ = false;  // the most significant byte comes first
  std::uint64_t begin_ = 0;
};

/// Elements in C order as a file that appears whole or not at all, byte for byte what numpy.save writes.
/// `error` for a dtype that numpy does not have; else as `atomic_file`.
void save_npy(file_system& files, const std::string& path, dtype type, std::span<const std::uint64_t> shape,
              const void* data);

/// A file as a tensor of these axes, in their order: as many, of their sizes, and of the very dtype; axes
/// sized at run time have the file's.
///
/// Errors   `input_error` as `npy_file`; no dtype is converted unasked
/// Rules    no_dtype_of_numpy
/// Example  auto images = nk::load_npy<nk::f32, batch, pixel>("images.npy");
template <ElementType T, Axis... Dims>
auto load_npy(const std::string& path, file_system& files = posix_file_system()) {
  if constexpr (numpy_name(dtype_of<T>).empty()) {
    return rule::no_dtype_of_numpy<fact::of_type<dtype_of<T>>, axes<Dims...>>::raise();
  } else {
    const npy_file file = npy_file::open(files, path);
    const std::vector<std::size_t> found = file.expect(dtype_of<T>, axis_infos<Dims...>);
    sized<(std::size_t{Dims::dynamic} + ... + 0)> given{};
    std::size_t next = 0;
    for (std::size_t i = 0; i < found.size(); ++i)
      if (axis_infos<Dims...>[i].size.dynamic) given.values[next++] = found[i];
    tensor<T, Dims...> result(uninitialized, given);
    if constexpr (tensor<T, Dims...>::dense) {
      file.read(std::as_writable_bytes(std::span(result.data(), result.numel())));
    } else {  // laid out for bounds that are not reached
      std::vector<T> elements(result.numel());
      file.read(std::as_writable_bytes(std::span(elements)));
      auto to = result.begin();
      for (const T& x : elements) *to++ = x;
    }
    return result;
  }
}

template <class T, class... Dims>
requires(detail::MakesNoTensor<T, Dims...>) auto load_npy(const auto&...) {  // refused
  return detail::declaration_mistake<T, Dims...>::raise();
}

/// A tensor or a view as a file, in C order.
///
/// Errors   as `atomic_file`
/// Rules    no_dtype_of_numpy; not_computed_yet, of an expression
template <TensorLike X>
auto save_npy(const std::string& path, const X& x, file_system& files = posix_file_system()) {
  using T = typename X::element;
  if constexpr (numpy_name(dtype_of<T>).empty()) {
    return rule::no_dtype_of_numpy<fact::of_type<dtype_of<T>>, axes_of<X>>::raise();
  } else {
    const std::vector<std::uint64_t> given(x.sizes().begin(), x.sizes().end());
    if constexpr (X::dense) {
      save_npy(files, path, dtype_of<T>, given, x.data());
    } else {
      const std::vector<T> elements(x.begin(), x.end());
      save_npy(files, path, dtype_of<T>, given, elements.data());
    }
  }
}
template <LazyExpression X>
auto save_npy(const std::string&, const X&) {  // refused
  return rule::not_computed_yet<axes_of<X>, fact::call<"save_npy">>::raise();
}

}  // namespace napkin
