// Attention as one operation on the CPU: by blocks, or by the plain loops of passes/attention_loops.hpp, which
// take whatever blocks do not and which nothing is lowered to.
#pragma once

#include "napkin/cpu/attention_blocks.hpp"
#include "napkin/cpu/tables.hpp"
#include "napkin/passes/expression_attention.hpp"

namespace napkin::on_cpu {

/// What passes::find_attention asks: f64, f32, f16 and bf16, heads of up to 256, any masks.
struct attention_fits {
  constexpr passes::attention_fit operator()(const row::attention_form& f, dtype type) const {
    using form = row::attention_form;
    if (!has_blocks(type)) return passes::attention_fit::no_kernel_for_dtype;
    return f.size[form::hidden] <= widest_of_blocks && f.size[form::value] <= widest_of_blocks
               ? passes::attention_fit::fits
               : passes::attention_fit::products_are_faster;
  }
};

/// The graph of a lazy expression as it is lowered here; and of a gradient's, what it is rewritten by.
template <class E>
struct host_expression : passes::expression_with_attention<E, attention_fits> {};
using gradient_rewrite = passes::attention_before_gradient<attention_fits>;
/// That of a model's function.
template <class Function>
struct host_function : Function {
  static constexpr graph make() { return passes::find_attention(Function::make(), attention_fits{}, {}); }
};

/// Allocates nothing. The same bits at any number of threads; by blocks, which take 0.6 MB of each thread's
/// stack, on every x86-64 with FMA too.
///
/// Errors  `error` for a dtype that is not floating
void attend(const planning::attention_record& record, const attention_call& at);

}  // namespace napkin::on_cpu
