// Where a head's rows lie: what the kernels of attention share.
#pragma once

#include <type_traits>

#include "napkin/cuda/attention.hpp"
#include "napkin/cuda/device_function.hpp"
#include "napkin/plan/scalar.hpp"

namespace napkin::on_cuda::detail {

/// What a tensor holds in an attention of Type: sums as they are computed; a mask is counted in bytes.
template <dtype Type, attention_tensor X>
using attention_element = std::conditional_t<
    X == attention_tensor::log_sum || X == attention_tensor::delta || X == attention_tensor::largest,
    planning::register_type<Type>, std::conditional_t<X == attention_tensor::mask, std::byte, type_of<Type>>>;

/// Where a head of each of these tensors begins: divided once for all of them. Heads count the axes of keys
/// first: those of a group follow one another.
template <dtype Type, attention_tensor... X>
class attention_head {
  const attention_arguments& a_;
  std::int64_t offset_[sizeof...(X)] = {};  // elements
  static constexpr unsigned index_of(attention_tensor x) {
    unsigned index = 0;
    bool found = false;
    ((found = found || X == x, index += !found), ...);
    return index;
  }

 public:
  NAPKIN_DEVICE attention_head(const attention_arguments& a, unsigned head) : a_(a) {
    for (unsigned o = a.outer_rank; o-- > 0;) {
      const std::int64_t place = head % a.outer_size[o];
      head /= a.outer_size[o];
      ((offset_[index_of(X)] += place * a.template walk<X>().outer[o]), ...);
    }
  }
  template <attention_tensor Y>
  NAPKIN_DEVICE attention_element<Type, Y>* at() const {
    return reinterpret_cast<attention_element<Type, Y>*>(a_.template at<Y>()) + offset_[index_of(Y)];
  }
};

}  // namespace napkin::on_cuda::detail
