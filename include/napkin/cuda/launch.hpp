// A compiled kernel as plain data: how large its arguments are, and how they are filled in and launched.
#pragma once

#include <cstddef>
#include <cstdint>

#include "napkin/core/dtype.hpp"
#include "napkin/cuda/calls.hpp"

namespace napkin::on_cuda {

/// Where a kernel reads and writes, as addresses; in the order of its plan.
struct kernel_memory {
  std::byte* const* memory = nullptr;
  std::size_t accesses = 0;
  const double* constants = nullptr;
  std::size_t constants_count = 0;
  std::byte* scratch = nullptr;
  std::size_t scratch_per_team = 0;
  const std::size_t* slots = nullptr;
  std::size_t slots_count = 0;
  std::byte* partials = nullptr;
  std::size_t partials_per_team = 0;
  const std::size_t* columns = nullptr;  // bytes into a team's partials
  std::size_t columns_count = 0;
};

/// Where a column's sums go, and what is added to them first, if it is not null.
struct column_target {
  std::byte* to = nullptr;
  const std::byte* added = nullptr;
};

struct small_product;

/// What of a product a kernel that takes it in is compiled for (cuda/taken_product.hpp).
struct taken_form {
  std::int32_t access = -1;  // of the kernel, which reads it
  dtype type = dtype::bf16;
  bool a_along_rows = false;  // small_product's
  constexpr bool operator==(const taken_form&) const = default;
};

struct kernel_entry {
  std::size_t argument_bytes = 0;
  /// Make the arguments at `to`, which has argument_bytes bytes, aligned to 16.
  void (*fill)(const kernel_memory& from, void* to) = nullptr;
  /// Launch the kernel, without what joins its column sums. Launch errors are the stream's to check.
  void (*launch)(const void* arguments, stream_handle on) = nullptr;
  /// Launch what joins them, behind it, of a kernel that has any: they go to `columns`.
  void (*join)(const void* arguments, const column_target* columns, stream_handle on) = nullptr;
  /// Launch the kernel with the product that `takes` says, in place of both launches. Null: it takes none in.
  void (*take)(const void* arguments, const small_product& with, stream_handle on) = nullptr;
  taken_form takes{};
  /// Whether the kernel may start early: waits_for_earlier. Null: it may.
  bool (*waits)() = nullptr;
};

/// Let a kernel be launched with so many bytes of shared memory beside its own, if the device in use has room
/// for so many blocks of it on a multiprocessor; else false. `kernel`: as nvcc names it on the host.
bool take_room(const void* kernel, std::size_t bytes, std::size_t blocks);

/// Whether a kernel that starts early waits for those before it (early_start.cuh): its code, as the device in
/// use has it, was compiled for compute capability 9.0 or later. A device makes its own of earlier PTX.
bool waits_for_earlier(const void* kernel);
/// The same of the library's kernels.
bool library_waits_for_earlier();

/// A frozen plan's kernels, if this file's compiler has made them: nvcc has, in cuda/launch.cuh. Then
/// `table()` gives their entries.
template <class Plan>
struct compiled_kernels {
  static constexpr bool there = false;
};

}  // namespace napkin::on_cuda
