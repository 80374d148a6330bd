// Which attentions warpgroups do (warpgroup_attention_body.hpp), and from a record of a plan to a kernel.
#pragma once

#include "attention_launch.hpp"
#include "warpgroup_attention_body.hpp"

namespace napkin::on_cuda::detail {

/// On a device that has the instructions.
inline bool is_for_warpgroups(const planning::attention_record& r, const attention_arguments& a) {
  return (r.type == dtype::bf16 || r.type == dtype::f16) && a.by_vectors && !is_general(r) &&
         attention_masking_of(r) == attention_masking::causal &&
         attention_kernel_of(r) != attention_kernel::adjoints;
}

/// f.operator()<Type, Width, Kernel>() for the kernel that does it.
template <class F>
void dispatch_warpgroup_attention(const planning::attention_record& r, F&& f) {
  const auto by_kernel = [&]<dtype Type, unsigned Width>() {
    switch (attention_kernel_of(r)) {
      case attention_kernel::forward:
        return f.template operator()<Type, Width, attention_kernel::forward>();
      case attention_kernel::query_adjoint:
        return f.template operator()<Type, Width, attention_kernel::query_adjoint>();
      case attention_kernel::key_adjoints:
        return f.template operator()<Type, Width, attention_kernel::key_adjoints>();
      case attention_kernel::adjoints:  // is not for them
        break;
    }
  };
  const auto by_width = [&]<dtype Type>() {
    return r.extent.widest() <= 64 ? by_kernel.template operator()<Type, 64>()
                                   : by_kernel.template operator()<Type, 128>();
  };
  return r.type == dtype::bf16 ? by_width.template operator()<dtype::bf16>()
                               : by_width.template operator()<dtype::f16>();
}

/// Of those that are for warpgroups, on a device of compute capability 9.0.
void attend_by_warpgroups(const planning::attention_record& record, const attention_arguments& a,
                          CUstream_st* on);

}  // namespace napkin::on_cuda::detail
