// What of a DLPack tensor can be a tensor here, and the words where it cannot.
#include "napkin/tensor/dlpack.hpp"

#include <limits>
#include <optional>
#include <vector>

#include "napkin/core/error.hpp"
#include "napkin/tensor/misfit.hpp"

namespace napkin::detail {
namespace {

using dlpack::type_code;

constexpr std::array<dlpack::data_type, all_dtypes.size()> types{{
    {type_code::floating, 64, 1},
    {type_code::floating, 32, 1},
    {type_code::floating, 16, 1},
    {type_code::bfloat, 16, 1},
    {type_code::float8_e4m3fn, 8, 1},
    {type_code::float8_e5m2, 8, 1},
    {type_code::complex, 128, 1},
    {type_code::complex, 64, 1},
    {type_code::integer, 64, 1},
    {type_code::integer, 32, 1},
    {type_code::integer, 16, 1},
    {type_code::integer, 8, 1},
    {type_code::unsigned_integer, 32, 1},
    {type_code::unsigned_integer, 16, 1},
    {type_code::unsigned_integer, 8, 1},
    {type_code::boolean, 8, 1},
}};

[[noreturn]] void fail(const std::string& what) { throw input_error("from_dlpack: " + what); }

std::optional<dtype> find_dtype(dlpack::data_type found) {
  for (const dtype type : all_dtypes)
    if (to_dlpack(type) == found) return type;
  return std::nullopt;
}

}  // namespace

dlpack::data_type to_dlpack(dtype type) { return types[static_cast<std::size_t>(type)]; }

void check_dlpack_version(dlpack::version found) {
  if (found.major != dlpack::this_version.major)
    fail("expected version " + std::to_string(dlpack::this_version.major) + " of DLPack, found " +
         std::to_string(found.major) + "." + std::to_string(found.minor));
}

void check_dlpack(const dlpack::tensor& found, dtype type, std::span<const axis_info> axes,
                  std::span<std::size_t> sizes, std::span<std::ptrdiff_t> strides) {
  if (found.device.type != dlpack::device_type::cpu && found.device.type != dlpack::device_type::cuda_host)
    fail("the tensor lies on a device (type " + std::to_string(static_cast<int>(found.device.type)) +
         ", number " + std::to_string(found.device.id) + "): copy it to the CPU first");
  const std::optional<dtype> known = find_dtype(found.dtype);
  if (!known)
    fail("no dtype here is of code " + std::to_string(static_cast<int>(found.dtype.code)) + ", " +
         std::to_string(found.dtype.bits) + " bits and " + std::to_string(found.dtype.lanes) + " lanes");
  if (found.ndim < 0 || (found.ndim > 0 && found.shape == nullptr)) fail("the tensor has no shape");
  std::vector<std::uint64_t> shape;
  bool empty = false;
  for (std::int32_t i = 0; i < found.ndim; ++i) {
    if (found.shape[i] < 0)
      fail("axis " + std::to_string(i) + " has the negative size " + std::to_string(found.shape[i]));
    shape.push_back(static_cast<std::uint64_t>(found.shape[i]));
    empty = empty || shape.back() == 0;
  }
  if (const std::string problems = misfit(type, axes, *known, shape, "the tensor"); !problems.empty())
    fail(problems);
  if (found.data == nullptr && !empty) fail("the tensor has elements but no memory");
  std::ptrdiff_t dense = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    sizes[i] = static_cast<std::size_t>(shape[i]);
    strides[i] = found.strides == nullptr ? dense : static_cast<std::ptrdiff_t>(found.strides[i]);
    dense *= static_cast<std::ptrdiff_t>(shape[i]);
  }
}

}  // namespace napkin::detail
