// DLPack's binary interface, version 1.1, and the older one without a version: how libraries of tensors hand
// each other memory within a process. Layouts and numbers only; tensors are in tensor/dlpack.hpp.
// Source: dmlc.github.io/dlpack/latest/c_api.html
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace napkin::dlpack {

struct version {
  std::uint32_t major, minor;
};
/// What we write. A reader that knows another major version may only call the deleter.
inline constexpr version this_version{1, 1};

enum class device_type : std::int32_t {
  cpu = 1,
  cuda = 2,
  cuda_host = 3,  // pinned: the CPU may read it
  opencl = 4,
  vulkan = 7,
  metal = 8,
  vpi = 9,
  rocm = 10,
  rocm_host = 11,
  other = 12,
  cuda_managed = 13,
  oneapi = 14,
  webgpu = 15,
  hexagon = 16,
  maia = 17,
};
struct device {
  device_type type;
  std::int32_t id;
};

enum class type_code : std::uint8_t {
  integer = 0,
  unsigned_integer = 1,
  floating = 2,
  opaque = 3,
  bfloat = 4,
  complex = 5,
  boolean = 6,
  float8_e4m3fn = 10,
  float8_e5m2 = 12,
};
struct data_type {
  type_code code;
  std::uint8_t bits;
  std::uint16_t lanes;

  constexpr bool operator==(const data_type&) const = default;
};

struct tensor {
  void* data;
  dlpack::device device;
  std::int32_t ndim;
  data_type dtype;
  std::int64_t* shape;
  std::int64_t* strides;      // in elements; null: row-major without gaps
  std::uint64_t byte_offset;  // from data to the first element
};

/// Whoever takes it calls `deleter(self)` once, when it needs the elements no more.
struct managed_tensor {
  tensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(managed_tensor* self);
};

inline constexpr std::uint64_t read_only = 1;  // flags
inline constexpr std::uint64_t is_copied = 2;

struct managed_tensor_versioned {
  dlpack::version version;
  void* manager_ctx;
  void (*deleter)(managed_tensor_versioned* self);
  std::uint64_t flags;
  tensor dl_tensor;
};

static_assert(sizeof(void*) != 8 || (sizeof(tensor) == 48 && offsetof(tensor, ndim) == 16 &&
                                     offsetof(tensor, dtype) == 20 && offsetof(tensor, shape) == 24));
static_assert(sizeof(void*) != 8 || (sizeof(managed_tensor) == 64 && sizeof(managed_tensor_versioned) == 80 &&
                                     offsetof(managed_tensor_versioned, flags) == 24 &&
                                     offsetof(managed_tensor_versioned, dl_tensor) == 32));

/// One of the two structs, as declared here or in DLPack's own header.
template <class Managed>
concept ManagedTensor = std::is_standard_layout_v<Managed> && requires(Managed m) {
  m.dl_tensor.byte_offset;
  m.manager_ctx;
  m.deleter(&m);
};
template <class Managed>
inline constexpr bool is_versioned = requires(Managed m) {
  m.version.major;
  m.flags;
};
/// Ours of the two layouts.
template <ManagedTensor Managed>
using layout_of = std::conditional_t<is_versioned<Managed>, managed_tensor_versioned, managed_tensor>;

}  // namespace napkin::dlpack
