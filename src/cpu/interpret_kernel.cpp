// The interpreter of kernels: a routine for each step, by operation and dtype, over stretches of rows.
#include "napkin/cpu/interpret_kernel.hpp"

#include <algorithm>
#include <cstring>
#include <memory_resource>
#include <string>
#include <vector>

#include "napkin/core/error.hpp"
#include "napkin/cpu/executor.hpp"
#include "napkin/passes/verify.hpp"
#include "napkin/plan/program.hpp"
#include "napkin/tensor/storage.hpp"

namespace napkin::on_cpu {

namespace {

using passes::kernel_step;

/// lane_count values of any register type. A step has as many behind one another as a stretch of a row takes.
struct group {
  alignas(64) std::byte bytes[lane_count * 8];
};
template <class R>
R* as(group* x) {
  return reinterpret_cast<R*>(x->bytes);
}
template <class R>
const R* as(const group* x) {
  return reinterpret_cast<const R*>(x->bytes);
}
template <class R>
auto lanes_of(group& x) -> R (&)[lane_count] {
  return *reinterpret_cast<R(*)[lane_count]>(x.bytes);
}

/// Elements of a row that a step computes before the next step does: enough that the choice of what to
/// compute costs little beside it, few enough that a program's values stay in the cache. A power of two of
/// groups, so that sums are folded between stretches.
constexpr std::size_t most_groups = 8, value_bytes = 64 * 1024;
constexpr std::size_t groups_for(std::size_t longest, std::size_t steps) {
  std::size_t groups = most_groups;
  while (groups > 1 && ((groups / 2) * lane_count >= longest || groups * steps * sizeof(group) > value_bytes))
    groups /= 2;
  return groups;
}
static_assert(most_unfolded % (most_groups * lane_count) == 0);

[[noreturn]] void unsupported(op kind, dtype type) {
  throw error("interpret_kernel: " + std::string(facts_of(kind).name) + " of " + std::string(name_of(type)));
}

/// The dtype that a step's formula is compiled for: 16- and 8-bit floats are computed with as f32, and what
/// comes of it is rounded by a routine of its own, so that five dtypes share a formula.
constexpr dtype computed_as(dtype type) { return is_small_float(type) ? dtype::f32 : type; }

/// f.operator()<T>() for the dtype T that is a value here; complex numbers are not computed with.
template <class F>
void with_dtype(dtype type, F&& f) {
  dispatch(type, [&]<class T>(std::type_identity<T>) {
    if constexpr (is_complex(dtype_of<T>))
      unsupported(op::cast, type);
    else
      f.template operator()<dtype_of<T>>();
  });
}
/// The same for what a formula of T is compiled for.
template <class F>
void with_computed(dtype type, F&& f) {
  with_dtype(computed_as(type), [&]<dtype T>() {
    if constexpr (T == computed_as(T)) f.template operator()<T>();
  });
}

template <op Kind, dtype X>
constexpr bool has_formula() {
  if constexpr (passes::is_logical(Kind))
    return X == dtype::b8;
  else if constexpr (passes::is_floating_only(Kind))
    return is_floating(X);
  else
    return is_elementwise(Kind) && (X != dtype::b8 || Kind == op::select || passes::is_comparison(Kind));
}

// ---- what steps do, for each operation and dtype; n elements

template <dtype Type>
void round_values(group* values, std::size_t n) {
  auto* y = as<register_type<Type>>(values);
  for (std::size_t l = 0; l < n; ++l) y[l] = rounded<Type>(y[l]);
}
template <dtype From, dtype To>
void cast_values(group* to, const group* a, const group*, const group*, std::size_t n) {
  const auto* x = as<register_type<From>>(a);
  auto* y = as<register_type<To>>(to);
  for (std::size_t l = 0; l < n; ++l) y[l] = evaluate<op::cast, To>(x[l]);
}
template <op Kind, dtype X>
void compute_values(group* to, const group* a, const group* b, const group* c, std::size_t n) {
  constexpr dtype Y = passes::is_comparison(Kind) ? dtype::b8 : X;
  using R = register_type<X>;
  auto* y = as<register_type<Y>>(to);
  for (std::size_t l = 0; l < n; ++l) {
    if constexpr (Kind == op::select)
      y[l] = evaluate<Kind, Y>(as<register_type<dtype::b8>>(a)[l], as<R>(b)[l], as<R>(c)[l]);
    else if constexpr (primitive<Kind>::arity == 3)
      y[l] = evaluate<Kind, Y>(as<R>(a)[l], as<R>(b)[l], as<R>(c)[l]);
    else if constexpr (primitive<Kind>::arity == 2)
      y[l] = evaluate<Kind, Y>(as<R>(a)[l], as<R>(b)[l]);
    else
      y[l] = evaluate<Kind, Y>(as<R>(a)[l]);
  }
}

template <dtype Type>
void load_values(group* to, const std::byte* from, std::ptrdiff_t by, std::size_t n) {
  using T = type_of<Type>;
  auto* y = as<register_type<Type>>(to);
  std::size_t l = 0;
  if (by == static_cast<std::ptrdiff_t>(sizeof(T)))
    for (; l + lane_count <= n; l += lane_count, from += lane_count * sizeof(T))
      load_lanes<Type>(from, y + l);
  for (; l < n; ++l, from += by) {
    T x;
    std::memcpy(static_cast<void*>(&x), from, sizeof x);
    y[l] = loaded<Type>(x);
  }
}
template <dtype Type>
void store_values(const group* from, std::byte* to, std::ptrdiff_t by, std::size_t n) {
  using T = type_of<Type>;
  const auto* y = as<register_type<Type>>(from);
  std::size_t l = 0;
  if (by == static_cast<std::ptrdiff_t>(sizeof(T)))
    for (; l + lane_count <= n; l += lane_count, to += lane_count * sizeof(T)) store_lanes<Type>(y + l, to);
  for (; l < n; ++l, to += by) {
    const T x = stored<Type>(y[l]);
    std::memcpy(to, static_cast<const void*>(&x), sizeof x);
  }
}
/// begin, begin + by, ...
template <dtype Type>
void count_values(group* to, std::size_t begin, std::size_t by, std::size_t n) {
  auto* y = as<register_type<Type>>(to);
  for (std::size_t l = 0; l < n; ++l) y[l] = rounded<Type>(begin + l * by);
}
template <dtype Type>
void put_constant(group* to, double x) {
  *as<register_type<Type>>(to) = rounded<Type>(x);
}
/// The first element as each of n.
template <dtype Type>
void repeat_first(group* values, std::size_t n) {
  auto* y = as<register_type<Type>>(values);
  for (std::size_t l = 1; l < n; ++l) y[l] = y[0];
}

template <op Kind, dtype Type>
void put_identity(std::byte* sums, std::size_t n) {
  auto* sum = reinterpret_cast<register_type<Type>*>(sums);
  for (std::size_t i = 0; i < n; ++i) sum[i] = identity_of<Kind, Type>();
}
/// Position i of a row is added to lane i % lane_count.
template <op Kind, dtype Type, dtype From>
void add_to_lanes(std::byte* sums, const group* values, std::size_t n) {
  auto& sum = *reinterpret_cast<register_type<Type>(*)[lane_count]>(sums);
  const auto* x = as<register_type<From>>(values);
  std::size_t i = 0;
  for (; i + lane_count <= n; i += lane_count)
    for (std::size_t l = 0; l < lane_count; ++l) sum[l] = combined<Kind, Type>(sum[l], x[i + l]);
  for (std::size_t l = 0; i + l < n; ++l) sum[l] = combined<Kind, Type>(sum[l], x[i + l]);
}
template <op Kind, dtype Type, dtype From>
void add_to_columns(std::byte* sums, const group* values, std::size_t n) {
  auto* sum = reinterpret_cast<register_type<Type>*>(sums);
  const auto* x = as<register_type<From>>(values);
  for (std::size_t i = 0; i < n; ++i) sum[i] = combined<Kind, Type>(sum[i], x[i]);
}
/// A row's sum: what stands in its lanes, and what was folded away.
struct row_sum {
  group partial, total, lost;
};
template <op Kind, dtype Type>
void fold_sum(row_sum& of) {
  using R = register_type<Type>;
  if constexpr (is_folded<Kind, Type>)
    fold(lanes_of<R>(of.partial), lanes_of<R>(of.total), lanes_of<R>(of.lost));
}
template <op Kind, dtype Type>
void join_sum(row_sum& of, bool was_folded, group* to) {
  using R = register_type<Type>;
  if constexpr (is_folded<Kind, Type>)
    if (was_folded) {
      fold_sum<Kind, Type>(of);
      unfold(lanes_of<R>(of.total), lanes_of<R>(of.lost), lanes_of<R>(of.partial));
    }
  *as<R>(to) = joined<Kind, Type>(lanes_of<R>(of.partial));
}

/// Those of one step, chosen once for all elements that a block computes.
struct routines {
  std::size_t sum = 0;  // which of the row's sums it is
  void (*compute)(group* to, const group* a, const group* b, const group* c, std::size_t n) = nullptr;
  void (*round)(group* values, std::size_t n) = nullptr;  // none: the formula gives what the dtype keeps
  void (*load)(group* to, const std::byte* from, std::ptrdiff_t by, std::size_t n) = nullptr;
  void (*store)(const group* from, std::byte* to, std::ptrdiff_t by, std::size_t n) = nullptr;
  void (*count)(group* to, std::size_t begin, std::size_t by, std::size_t n) = nullptr;
  void (*constant)(group* to, double x) = nullptr;
  void (*repeat)(group* values, std::size_t n) = nullptr;
  void (*begin)(std::byte* sums, std::size_t n) = nullptr;
  void (*add)(std::byte* sums, const group* values, std::size_t n) = nullptr;
  void (*fold)(row_sum& of) = nullptr;
  void (*join)(row_sum& of, bool was_folded, group* to) = nullptr;
};

void choose_formula(const kernel_step& s, dtype from, routines& to) {
  if (s.kind == op::cast) {
    with_computed(from, [&]<dtype From>() {
      with_dtype(s.type, [&]<dtype To>() { to.compute = &cast_values<From, To>; });
    });
    return;
  }
  with_primitive(s.kind, [&]<op Kind>(primitive<Kind>) {
    with_computed(from, [&]<dtype X>() {
      if constexpr (has_formula<Kind, X>() && Kind != op::cast)
        to.compute = &compute_values<Kind, X>;
      else
        unsupported(Kind, from);
    });
  });
}
void choose_reduction(const kernel_step& s, dtype from, routines& to) {
  with_primitive(s.kind, [&]<op Kind>(primitive<Kind>) {
    constexpr bool is_of_truths = Kind == op::any || Kind == op::all;  // of any dtype's values, a b8
    with_computed(s.type, [&]<dtype Type>() {
      if constexpr (is_reduction(Kind) && (!is_of_truths || Type == dtype::b8)) {
        to.begin = &put_identity<Kind, Type>;
        to.fold = &fold_sum<Kind, Type>;
        to.join = &join_sum<Kind, Type>;
        const auto add = [&]<dtype From>() {
          to.add = s.what == action::reduce_row ? &add_to_lanes<Kind, Type, From>
                                                : &add_to_columns<Kind, Type, From>;
        };
        if constexpr (is_of_truths)
          with_computed(from, add);
        else
          add.template operator()<Type>();
      } else {
        unsupported(Kind, Type);
      }
    });
  });
}
routines routines_of(const kernel_step* steps, std::size_t j) {
  const kernel_step& s = steps[j];
  routines result;
  with_dtype(s.type, [&]<dtype Type>() {
    result.load = &load_values<Type>;
    result.store = &store_values<Type>;
    result.count = &count_values<Type>;
    result.constant = &put_constant<Type>;
    result.repeat = &repeat_first<Type>;
    if constexpr (is_small_float(Type)) result.round = &round_values<Type>;
  });
  if (s.what == action::compute)
    choose_formula(s, steps[s.kind == op::select ? s.b : s.a].type, result);
  else if (s.what == action::reduce_row || s.what == action::reduce_column)
    choose_reduction(s, steps[s.a].type, result);
  return result;
}

class interpreter {
 public:
  interpreter(const kernel_arguments& k, std::size_t block) : k_(k), block_(block) {
    groups_ = groups_for(std::min(length_of_segment(), k.chunk), k.step_count);
    stretch_ = groups_ * lane_count;
    values_.resize(k.step_count * groups_);
    routines_.reserve(k.step_count);
    std::size_t sums = 0, accesses = 0;
    for (std::size_t j = 0; j < k.step_count; ++j) {
      const kernel_step& s = k.steps[j];
      routines_.push_back(routines_of(k.steps, j));
      if (s.what == action::reduce_row) routines_[j].sum = sums++;
      if (s.phase >= phases_) phases_ = s.phase + 1;
      if (planning::detail::walks_memory(s)) accesses = std::max(accesses, static_cast<std::size_t>(s.a) + 1);
    }
    sums_.resize(sums);
    rows_.resize(accesses);
    bytes_.resize(accesses);
    for (std::size_t j = 0; j < k.step_count; ++j)
      if (const kernel_step& s = k.steps[j]; planning::detail::walks_memory(s))
        bytes_[static_cast<std::size_t>(s.a)] = static_cast<std::ptrdiff_t>(size_of(s.type));
  }

  void run(std::size_t first, std::size_t end) {
    for (std::size_t j = 0; j < k_.step_count; ++j) {
      const kernel_step& s = k_.steps[j];
      if (s.what == action::reduce_column) routines_[j].begin(column(s, 0), k_.row_length);
      if (s.what == action::constant) {
        routines_[j].constant(value(j), k_.constants[s.a]);
        routines_[j].repeat(value(j), stretch_);
      }
    }
    const std::size_t length = length_of_segment();
    for (std::size_t walk = first; walk < end; ++walk) {
      go_to_row(walk / k_.chunks);
      const std::size_t begin = walk % k_.chunks * k_.chunk;
      const std::size_t stop = begin + k_.chunk < length ? begin + k_.chunk : length;
      for (phase_ = 0; phase_ < phases_; ++phase_) phase(begin, stop);
    }
  }

 private:
  const kernel_arguments& k_;
  std::size_t block_;
  int phases_ = 1, phase_ = 0;
  std::size_t stretch_ = 0, groups_ = 0;  // elements of each step's value, and groups of lanes
  // A run allocates nothing, as with compiled kernels: what a program of up to some 500 steps takes is on the
  // stack.
  alignas(64) std::byte room_[2 * value_bytes];
  alignas(64) std::byte scratch_[most_scratch_across_rows];  // where the plan leaves it to the thread
  std::pmr::monotonic_buffer_resource memory_{room_, sizeof room_};
  std::pmr::vector<group> values_{&memory_};
  std::pmr::vector<row_sum> sums_{&memory_};
  std::pmr::vector<routines> routines_{&memory_};
  std::pmr::vector<std::byte*> rows_{&memory_};       // by access: the row's first element
  std::pmr::vector<std::ptrdiff_t> bytes_{&memory_};  // by access: of an element
  std::size_t outer_index_[max_rank]{}, inner_index_[max_rank]{};
  std::size_t segment_ = 0;  // position in the row of the segment's first element

  std::size_t length_of_segment() const { return k_.inner_rank == 0 ? 1 : k_.inner[k_.inner_rank - 1]; }
  group* value(std::size_t step) { return &values_[step * groups_]; }
  row_sum& sum_of(std::size_t step) { return sums_[routines_[step].sum]; }
  const group* operand(std::int16_t step) {
    return step < 0 ? nullptr : value(static_cast<std::size_t>(step));
  }
  std::byte* column(const kernel_step& s, std::size_t i) {
    return k_.partials + block_ * k_.partials_per_block + k_.columns[s.b] + i * register_size(s.type);
  }
  static std::size_t register_size(dtype type) {
    std::size_t result = 0;
    with_dtype(type, [&]<dtype Type>() { result = sizeof(register_type<Type>); });
    return result;
  }
  void round_step(std::size_t j, std::size_t n) {
    if (routines_[j].round != nullptr) routines_[j].round(value(j), n);
  }
  void compute_step(std::size_t j, std::size_t n) {
    const kernel_step& s = k_.steps[j];
    routines_[j].compute(value(j), operand(s.a), operand(s.b), operand(s.c), n);
    if (s.kind != op::cast) round_step(j, n);
  }

  void go_to_row(std::size_t row) {
    for (std::size_t d = k_.outer_rank; d-- > 0;) {
      outer_index_[d] = row % k_.outer[d];
      row /= k_.outer[d];
    }
    for (std::size_t a = 0; a < rows_.size(); ++a) {
      std::ptrdiff_t offset = 0;
      for (std::size_t d = 0; d < k_.outer_rank; ++d)
        offset += static_cast<std::ptrdiff_t>(outer_index_[d]) * k_.memory[a].outer[d];
      rows_[a] = k_.memory[a].data + offset * bytes_[a];
    }
  }

  void phase(std::size_t begin, std::size_t end) {
    for (std::size_t j = 0; j < k_.step_count; ++j)
      if (k_.steps[j].phase == phase_ && k_.steps[j].at == place::row) row_step(j);
    const std::size_t rank = k_.inner_rank, length = length_of_segment();
    for (std::size_t& i : inner_index_) i = 0;
    std::size_t unfolded = 0;
    for (segment_ = 0; segment_ < k_.row_length; segment_ += length) {
      if (unfolded > 0 && unfolded + (end - begin) > most_unfolded) fold_sums(), unfolded = 0;
      for (std::size_t i = begin; i < end;) {
        if (unfolded == most_unfolded) fold_sums(), unfolded = 0;
        const std::size_t n = std::min(end - i, stretch_);
        for (std::size_t j = 0; j < k_.step_count; ++j)
          if (k_.steps[j].phase == phase_) element_step(j, i, n);
        unfolded += n;
        i += n;
      }
      for (std::size_t d = rank == 0 ? 0 : rank - 1; d-- > 0;) {
        if (++inner_index_[d] < k_.inner[d]) break;
        inner_index_[d] = 0;
      }
    }
    for (std::size_t j = 0; j < k_.step_count; ++j)
      if (k_.steps[j].phase == phase_ && k_.steps[j].what == action::reduce_row) {
        routines_[j].join(sum_of(j), k_.row_length > most_unfolded, value(j));
        round_step(j, 1);
        routines_[j].repeat(value(j), stretch_);
      }
  }

  void fold_sums() {
    for (std::size_t j = 0; j < k_.step_count; ++j)
      if (k_.steps[j].phase == phase_ && k_.steps[j].what == action::reduce_row) routines_[j].fold(sum_of(j));
  }

  void row_step(std::size_t j) {
    const kernel_step& s = k_.steps[j];
    const routines& r = routines_[j];
    switch (s.what) {
      case action::load:
        r.load(value(j), rows_[static_cast<std::size_t>(s.a)], 0, 1);
        break;
      case action::iota:
        r.count(value(j), outer_index_[s.a], 0, 1);
        break;
      case action::compute:
        compute_step(j, 1);
        break;
      case action::store:
        return r.store(operand(s.b), rows_[static_cast<std::size_t>(s.a)], 0, 1);
      case action::reduce_row:
        r.begin(sum_of(j).partial.bytes, lane_count);
        sum_of(j).total = sum_of(j).lost = {};
        return;
      default:
        return;
    }
    r.repeat(value(j), stretch_);
  }

  /// Where element i of the segment lies, and how many bytes the next is away.
  std::byte* place_of(const kernel_step& s, std::size_t i, std::ptrdiff_t& by) {
    const auto size = static_cast<std::ptrdiff_t>(size_of(s.type));
    if (s.along == pace::scratch) {
      by = size;
      std::byte* const rows =
          k_.scratch_per_block > 0 ? k_.scratch + block_ * k_.scratch_per_block : scratch_;
      return rows + k_.slots[s.a] + (segment_ + i) * size_of(s.type);
    }
    const auto a = static_cast<std::size_t>(s.a);
    by = k_.inner_rank == 0 ? 0 : k_.memory[a].inner[k_.inner_rank - 1] * size;
    std::ptrdiff_t offset = 0;
    for (std::size_t d = 0; d + 1 < k_.inner_rank; ++d)
      offset += static_cast<std::ptrdiff_t>(inner_index_[d]) * k_.memory[a].inner[d];
    return rows_[a] + offset * size + static_cast<std::ptrdiff_t>(i) * by;
  }

  void element_step(std::size_t j, std::size_t i, std::size_t n) {
    const kernel_step& s = k_.steps[j];
    const routines& r = routines_[j];
    if (s.what == action::reduce_row) return r.add(sum_of(j).partial.bytes, operand(s.a), n);
    if (s.what == action::reduce_column) return r.add(column(s, segment_ + i), operand(s.a), n);
    if (s.at == place::row) return;
    if (s.what == action::compute) return compute_step(j, n);
    if (s.what == action::iota) {
      const auto axis = static_cast<std::size_t>(s.a) - k_.outer_rank;
      const bool is_last = axis + 1 == k_.inner_rank;
      return r.count(value(j), is_last ? i : inner_index_[axis], is_last ? 1 : 0, n);
    }
    std::ptrdiff_t by = 0;
    std::byte* const at = place_of(s, i, by);
    if (s.what == action::load)
      r.load(value(j), at, by, n);
    else
      r.store(operand(s.b), at, by, n);
  }
};

}  // namespace

void interpret_kernel(const kernel_arguments& k, std::size_t block) {
  const std::size_t first = block * k.walks_per_block;
  const std::size_t end = first + k.walks_per_block < k.walks ? first + k.walks_per_block : k.walks;
  interpreter(k, block).run(first, end);
}

void run_plan_interpreted(const plan_view& p, std::span<const void* const> inputs,
                          std::span<void* const> outputs, std::byte poison) {
  const storage arena(p.peak);
  if (p.peak > 0) std::memset(arena.data(), static_cast<int>(poison), p.peak);
  const std::vector<kernel_pointer> kernels(p.count.programs, &interpret_kernel);
  executor run(p, kernels.data(), static_cast<std::byte*>(arena.data()));
  run.bind(inputs, outputs);
  run.run();
}

}  // namespace napkin::on_cpu
