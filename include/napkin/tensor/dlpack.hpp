// Tensors handed to and taken from other libraries of this process by DLPack: PyTorch, numpy, JAX, CuPy.
// Memory of the CPU only; nothing is copied where the layout allows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "napkin/tensor/copy.hpp"
#include "napkin/tensor/dlpack_abi.hpp"
#include "napkin/tensor/tensor.hpp"

namespace napkin {

namespace rule {
/// type<what was given>
template <class... Facts>
struct no_managed_tensor {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "from_dlpack takes what another library hands out, a pointer to DLPack's DLManagedTensor or "
      "DLManagedTensorVersioned; of a tensor of this one a copy shares the storage");
};
}  // namespace rule

namespace detail {

/// As DLPack says it.
dlpack::data_type to_dlpack(dtype type);

/// `input_error` unless there is a tensor of these axes and dtype in memory that the CPU reads. Fills in
/// actual sizes and strides, in elements.
void check_dlpack(const dlpack::tensor& found, dtype type, std::span<const axis_info> axes,
                  std::span<std::size_t> sizes, std::span<std::ptrdiff_t> strides);
void check_dlpack_version(dlpack::version found);

template <class Managed>
void release_dlpack(void* managed) noexcept {
  auto* const m = static_cast<Managed*>(managed);
  if (m->deleter != nullptr) m->deleter(m);
}

/// What someone else handed over: its deleter is called when this goes, unless another does it.
template <class Managed>
class dlpack_import {
 public:
  explicit dlpack_import(Managed* m) : managed_(m) {}
  dlpack_import(const dlpack_import&) = delete;
  dlpack_import& operator=(const dlpack_import&) = delete;
  ~dlpack_import() {
    if (managed_ != nullptr) release_dlpack<Managed>(managed_);
  }
  Managed* operator->() const { return managed_; }
  /// Share what is at `first`; the deleter is then called by the last to let go of it.
  storage share(void* first, std::size_t bytes) {
    storage shared = storage::adopt(first, bytes, &release_dlpack<Managed>, managed_);
    managed_ = nullptr;
    return shared;
  }

 private:
  Managed* managed_;
};

/// What a tensor is handed out in: lives until the taker calls the deleter.
template <class Managed, std::size_t Rank>
struct dlpack_export {
  Managed managed{};
  std::array<std::int64_t, Rank> shape{}, strides{};
  storage owner;

  static void remove(Managed* self) { delete static_cast<dlpack_export*>(self->manager_ctx); }
};

}  // namespace detail

/// Hand out a tensor or a view, strides and all, without a copy. Its storage lives until the taker calls the
/// deleter, from any thread; the taker may write to it, and both see what is written. Managed is the struct
/// wanted: dlpack::managed_tensor for takers from before version 1.0, or those of DLPack's own header.
///
/// Example  PyCapsule_New(nk::to_dlpack(x), "dltensor_versioned", ...);
template <dlpack::ManagedTensor Managed = dlpack::managed_tensor_versioned, TensorLike X>
Managed* to_dlpack(const X& x) {
  using ours = dlpack::layout_of<Managed>;
  static_assert(sizeof(Managed) == sizeof(ours) && alignof(Managed) == alignof(ours));
  auto* const out = new detail::dlpack_export<ours, X::rank>;  // from here on nothing throws
  for (std::size_t i = 0; i < X::rank; ++i) {
    out->shape[i] = static_cast<std::int64_t>(x.sizes()[i]);
    out->strides[i] = X::strides[i];
  }
  out->owner = x.shared_storage();
  ours& m = out->managed;
  if constexpr (dlpack::is_versioned<ours>) m.version = dlpack::this_version;
  m.manager_ctx = out;
  m.deleter = &detail::dlpack_export<ours, X::rank>::remove;
  m.dl_tensor = {x.data(),
                 {dlpack::device_type::cpu, 0},
                 static_cast<std::int32_t>(X::rank),
                 detail::to_dlpack(dtype_of<typename X::element>),
                 out->shape.data(),
                 out->strides.data(),
                 0};
  return reinterpret_cast<Managed*>(&m);
}

template <dlpack::ManagedTensor Managed = dlpack::managed_tensor_versioned, LazyExpression X>
auto to_dlpack(const X&) {
  return rule::not_computed_yet<axes_of<X>, fact::call<"to_dlpack">>::raise(detail::by<X>);
}

/// Take a tensor over, with these axes in their order and the very dtype: the deleter is called, whatever
/// happens, once. What lies row-major without gaps, aligned to its dtype, at the bound of every axis sized at
/// run time, and is not read-only, is shared, and the deleter called when the last tensor lets go of it; all
/// else is copied.
///
/// Errors   `input_error`: none given, another major version, memory of a device, another dtype, number of
///          axes or size, all of these at once
/// Example  auto x = nk::from_dlpack<nk::f32, batch, embed>(managed);
template <ElementType T, Axis... Dims, dlpack::ManagedTensor Managed>
tensor<T, Dims...> from_dlpack(Managed* given) {
  using ours = dlpack::layout_of<Managed>;
  using result = tensor<T, Dims...>;
  constexpr std::size_t rank = sizeof...(Dims);
  static_assert(sizeof(Managed) == sizeof(ours) && alignof(Managed) == alignof(ours));
  if (given == nullptr) throw input_error("from_dlpack: a null pointer was given");
  detail::dlpack_import<ours> managed(reinterpret_cast<ours*>(given));
  bool writable = true;
  if constexpr (dlpack::is_versioned<ours>) {
    detail::check_dlpack_version(managed->version);
    writable = (managed->flags & dlpack::read_only) == 0;
  }
  const dlpack::tensor& from = managed->dl_tensor;
  std::array<std::size_t, rank> sizes{};
  std::array<std::ptrdiff_t, rank> found{};
  detail::check_dlpack(from, dtype_of<T>, axis_infos<Dims...>, sizes, found);

  sized<(std::size_t{Dims::dynamic} + ... + 0)> given_sizes{};
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i)
    if (axis_infos<Dims...>[i].size.dynamic) given_sizes.values[next++] = sizes[i];
  auto* const first = static_cast<std::byte*>(from.data) + from.byte_offset;
  bool same = writable && sizes == result::shape && reinterpret_cast<std::uintptr_t>(first) % alignof(T) == 0;
  for (std::size_t i = 0; i < rank; ++i) same = same && (sizes[i] == 1 || found[i] == result::strides[i]);
  if (same && total_size<Dims...> != 0)
    return result(managed.share(first, total_size<Dims...> * sizeof(T)), 0, given_sizes);
  result copied(uninitialized, given_sizes);
  detail::copy_strided(copied.data(), result::strides, first, found, sizes, sizeof(T));
  return copied;
}

// Refused: what is no such pointer, and the types of no tensor.

template <ElementType T, Axis... Dims, class X>
auto from_dlpack(const X&) {
  return detail::unless_failed<rule::no_managed_tensor<fact::type<X>>, X>::raise();
}
template <class T, class... Dims>
requires(detail::MakesNoTensor<T, Dims...>) auto from_dlpack(const auto&...) {
  return detail::declaration_mistake<T, Dims...>::raise();
}

}  // namespace napkin
