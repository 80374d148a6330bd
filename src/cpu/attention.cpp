// From a record of a plan to blocks, or to the loops of passes/attention_loops.hpp, in the record's dtype.
#include "napkin/cpu/attention.hpp"

#include <string>

#include "attention_blocks.hpp"
#include "napkin/core/error.hpp"
#include "napkin/cpu/threads.hpp"
#include "napkin/passes/attention_loops.hpp"

namespace napkin::on_cpu {

namespace {

using passes::attention_tensor;

template <class T>
void attend_in(const planning::attention_record& r, const attention_call& at) {
  using A = accumulator_type<T>;
  const auto of = [&]<class E>(std::type_identity<E>, attention_tensor x) {
    return reinterpret_cast<E*>(at.of[static_cast<std::size_t>(x)]);
  };
  constexpr std::type_identity<T> element;
  constexpr std::type_identity<A> sum;
  passes::attention_loops<T, A> loops{r.extent};
  loops.query = of(element, attention_tensor::query);
  loops.key = of(element, attention_tensor::key);
  loops.value = of(element, attention_tensor::value);
  loops.mask = at.of[static_cast<std::size_t>(attention_tensor::mask)];
  if (!r.backward) {
    loops.output = of(element, attention_tensor::output);
    loops.log_sum = of(sum, attention_tensor::log_sum);
    loops.largest = of(sum, attention_tensor::largest);
    parallel_for(loops.query_rows(), [&loops](std::size_t row) { loops.forward_row(row); });
    return;
  }
  loops.d_output = of(element, attention_tensor::output);
  loops.log_sums = of(sum, attention_tensor::log_sum);
  loops.deltas = of(sum, attention_tensor::delta);
  loops.all_largest = of(sum, attention_tensor::largest);
  loops.d_query = of(element, attention_tensor::d_query);
  loops.d_key = of(element, attention_tensor::d_key);
  loops.d_value = of(element, attention_tensor::d_value);
  if (loops.d_query != nullptr)
    parallel_for(loops.query_rows(), [&loops](std::size_t row) { loops.query_row(row); });
  if (loops.d_key != nullptr || loops.d_value != nullptr)
    parallel_for(loops.key_rows(), [&loops](std::size_t row) { loops.key_row(row); });
}

}  // namespace

void attend(const planning::attention_record& record, const attention_call& at) {
  dispatch(record.type, [&]<class T>(std::type_identity<T>) {
    if constexpr (has_blocks(dtype_of<T>))
      if (goes_by_blocks(record)) return detail::attend_by_blocks<T>(record, at);
    if constexpr (is_floating(dtype_of<T>))
      attend_in<T>(record, at);
    else
      throw error("attention: it is computed in floating point, not in " + std::string(name_of(record.type)));
  });
}

}  // namespace napkin::on_cpu
