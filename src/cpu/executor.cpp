#include "napkin/cpu/executor.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>

#include "napkin/core/error.hpp"
#include "napkin/cpu/attention.hpp"
#include "napkin/cpu/gemm.hpp"
#include "napkin/cpu/threads.hpp"
#include "napkin/plan/uses.hpp"

namespace napkin::on_cpu {

namespace {

/// A join_pointer.
template <op Kind, dtype Type>
void join_columns(const std::byte* partials, std::size_t per_block, std::size_t blocks, std::size_t begin,
                  std::size_t end, [[maybe_unused]] const void* added, void* to) {
  using R = register_type<Type>;
  auto* out = static_cast<type_of<Type>*>(to);
  for (; begin < end; begin += lane_count) {
    const std::size_t n = end - begin < lane_count ? end - begin : lane_count;
    R sum[lane_count];
    std::memcpy(sum, partials + begin * sizeof(R), n * sizeof(R));
    for (std::size_t block = 1; block < blocks; ++block) {
      const R* more = reinterpret_cast<const R*>(partials + block * per_block) + begin;
      for (std::size_t l = 0; l < n; ++l) sum[l] = combined<Kind, Type>(sum[l], more[l]);
    }
    if constexpr (passes::can_add_to_column(Type))
      if (added != nullptr)
        for (std::size_t l = 0; l < n; ++l)
          sum[l] = evaluate<op::add, Type>(sum[l], static_cast<const R*>(added)[begin + l]);
    for (std::size_t l = 0; l < n; ++l) out[begin + l] = stored<Type>(rounded<Type>(sum[l]));
  }
}

join_pointer join_of(op kind, dtype type) {
  join_pointer found = nullptr;
  with_primitive(kind, [&]<op Kind>(primitive<Kind>) {
    if constexpr (is_reduction(Kind))
      found = dispatch(type, []<class T>(std::type_identity<T>) -> join_pointer {
        if constexpr (is_complex(dtype_of<T>))
          return nullptr;
        else
          return &join_columns<Kind, dtype_of<T>>;
      });
  });
  if (found == nullptr)
    throw error("a reduction over columns has no kernel for this dtype: " + std::string(name_of(type)));
  return found;
}

constexpr std::size_t columns_per_task = 1024;

}  // namespace

tables tables::make(const planning::plan_sizes& n, std::byte* at) {
  const auto take = [&at]<class T>(std::type_identity<T>, std::size_t count) {
    static_assert(alignof(T) == alignof(void*) && std::is_trivially_destructible_v<T>);
    auto* const first = reinterpret_cast<T*>(at);
    std::uninitialized_value_construct_n(first, count);
    at += count * sizeof(T);
    return first;
  };
  tables t;
  t.kernels = take(std::type_identity<kernel_call>{}, n.kernels);
  t.accesses = take(std::type_identity<kernel_memory>{}, n.accesses);
  t.columns = take(std::type_identity<column_call>{}, n.columns);
  t.column_begins = take(std::type_identity<std::size_t>{}, n.columns);
  t.movements = take(std::type_identity<movement>{}, n.movements);
  t.contractions = take(std::type_identity<contraction_call>{}, n.contractions);
  t.attentions = take(std::type_identity<attention_call>{}, n.attentions);
  return t;
}

executor::executor(const plan_view& p, const kernel_pointer* kernels, std::byte* arena)
    : plan_(p), arena_(arena), own_(tables::bytes(p.count)), tables_(tables::make(p.count, own_.data())) {
  fill(kernels);
}
executor::executor(const plan_view& p, const kernel_pointer* kernels, std::byte* arena, std::byte* memory)
    : plan_(p), arena_(arena), tables_(tables::make(p.count, memory)) {
  fill(kernels);
}

void executor::fill(const kernel_pointer* kernels) {
  const plan_view& p = plan_;
  for (std::size_t i = 0; i < p.count.columns; ++i) {
    tables_.column_begins[i] = p.columns[i].begin;
    tables_.columns[i].join = join_of(p.columns[i].kind, p.columns[i].type);
  }
  for (std::size_t i = 0; i < p.count.kernels; ++i) {
    const kernel_record& r = p.kernels[i];
    kernel_call& call = tables_.kernels[i];
    kernel_arguments& k = call.arguments;
    call.run = kernels[r.program];
    k.index = i;
    k.steps = p.steps + p.programs[r.program].first_step;
    k.step_count = static_cast<std::size_t>(p.programs[r.program].steps);
    k.outer_rank = static_cast<std::size_t>(r.outer_rank);
    k.inner_rank = static_cast<std::size_t>(r.inner_rank);
    const std::size_t* sizes = p.sizes + r.first_size;
    for (std::size_t d = 0; d < k.outer_rank; ++d) k.outer[d] = sizes[d];
    for (std::size_t d = 0; d < k.inner_rank; ++d) k.inner[d] = sizes[k.outer_rank + d];
    k.row_length = r.row_length;
    k.chunk = r.chunk;
    k.chunks = r.chunks;
    k.walks = r.walks;
    k.walks_per_block = r.walks_per_block;
    k.memory = tables_.accesses + r.first_access;
    k.constants = p.constants + r.first_constant;
    k.scratch = arena_ + r.scratch;
    k.scratch_per_block = r.scratch_per_block;
    k.slots = p.slots + r.first_slot;
    k.partials = arena_ + r.partials;
    k.partials_per_block = r.partials_per_block;
    k.columns = tables_.column_begins + r.first_column;
  }
}

void executor::bind(std::span<const void* const> inputs, std::span<void* const> outputs) {
  const plan_view& p = plan_;
  const auto address = [&](const location& l) {
    switch (l.where) {
      case region::input:
        return static_cast<std::byte*>(const_cast<void*>(inputs[l.at]));
      case region::output:
        return static_cast<std::byte*>(outputs[l.at]);
      case region::arena:
        break;
    }
    return arena_ + l.at;
  };
  for (std::size_t i = 0; i < p.count.kernels; ++i) {
    const kernel_record& r = p.kernels[i];
    for (int a = 0; a < r.accesses; ++a) {
      const access_record& from = p.accesses[r.first_access + a];
      kernel_memory& to = tables_.accesses[r.first_access + a];
      to.data = address(from.base) + from.offset;
      const std::ptrdiff_t* strides = p.strides + from.first_stride;
      for (int d = 0; d < r.outer_rank; ++d) to.outer[d] = strides[d];
      for (int d = 0; d < r.inner_rank; ++d) to.inner[d] = strides[r.outer_rank + d];
    }
    for (int c = 0; c < r.columns; ++c) {
      const column_record& column = p.columns[r.first_column + c];
      tables_.columns[r.first_column + c].to = address(column.to);
      if (column.adds) tables_.columns[r.first_column + c].added = address(column.added);
    }
  }
  for (std::size_t i = 0; i < p.count.contractions; ++i) {
    const contraction_record& r = p.contractions[i];
    tables_.contractions[i] = {address(r.a) + r.a_offset, address(r.b) + r.b_offset, address(r.c),
                               arena_ + r.workspace};
  }
  for (std::size_t i = 0; i < p.count.attentions; ++i)
    for (std::size_t x = 0; x < passes::attention_tensors; ++x) {
      const attention_operand& from = p.attentions[i].operands[x];
      tables_.attentions[i].of[x] = from.there ? address(from.at) + from.offset : nullptr;
    }
  for (std::size_t i = 0; i < p.count.movements; ++i) {
    const movement_record& r = p.movements[i];
    const bool indexed = planning::looks_up(r.kind);
    tables_.movements[i] = movement(r, address(r.from) + r.from_offset,
                                    indexed ? address(r.index) + r.index_offset : nullptr, address(r.to));
  }
}

void executor::run() {
  for (std::size_t i = 0; i < plan_.count.instructions; ++i) run_instruction(i);
}
void executor::run_timed(std::span<double> seconds) {
  using clock = std::chrono::steady_clock;
  for (std::size_t i = 0; i < plan_.count.instructions; ++i) {
    const clock::time_point begin = clock::now();
    run_instruction(i);
    seconds[i] += std::chrono::duration<double>(clock::now() - begin).count();
  }
}
void executor::run_first_output() {
  for (std::size_t i = 0; i < plan_.count.instructions; ++i)
    if (plan_.instructions[i].first_output) run_instruction(i);
}

void executor::run_instruction(std::size_t i) {
  const instruction& now = plan_.instructions[i];
  const auto index = static_cast<std::size_t>(now.index);
  switch (now.kind) {
    case unit_kind::kernel: {
      const kernel_call& call = tables_.kernels[index];
      const kernel_record& r = plan_.kernels[index];
      parallel_for(r.blocks, [&call](std::size_t block) { call.run(call.arguments, block); });
      for (int c = 0; c < r.columns; ++c) {
        const column_call& column = tables_.columns[r.first_column + c];
        const std::byte* partials = call.arguments.partials + call.arguments.columns[c];
        parallel_for((r.row_length + columns_per_task - 1) / columns_per_task, [&](std::size_t task) {
          const std::size_t begin = task * columns_per_task;
          const std::size_t end = std::min(begin + columns_per_task, r.row_length);
          column.join(partials, r.partials_per_block, r.blocks, begin, end, column.added, column.to);
        });
      }
      break;
    }
    case unit_kind::contraction: {
      const contraction_call& call = tables_.contractions[index];
      const contraction_plan& product = plan_.products[plan_.contractions[index].product];
      if (now.epilogue < 0) {
        contract(product, call.a, call.b, call.c, call.workspace);
        break;
      }
      const kernel_call& epilogue = tables_.kernels[static_cast<std::size_t>(now.epilogue)];
      const std::size_t range = target::finish_by(product);  // elements of a block of the kernel
      contract(product, call.a, call.b, call.c, call.workspace, [&](std::size_t first, std::size_t last) {
        for (std::size_t at = first; at < last; at += range) epilogue.run(epilogue.arguments, at / range);
      });
      break;
    }
    case unit_kind::gather:
    case unit_kind::scatter_add:
    case unit_kind::pad:
    case unit_kind::concat:
      tables_.movements[index].run();
      break;
    case unit_kind::attention:
      attend(plan_.attentions[index], tables_.attentions[index]);
      break;
  }
}

}  // namespace napkin::on_cpu
