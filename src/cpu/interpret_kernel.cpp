#include "napkin/cpu/interpret_kernel.hpp"

#include <cstring>
#include <string>
#include <vector>

#include "napkin/core/error.hpp"
#include "napkin/cpu/executor.hpp"
#include "napkin/passes/verify.hpp"
#include "napkin/tensor/storage.hpp"

namespace napkin::on_cpu {

namespace {

using passes::kernel_step;

/// The lanes of one step, of any register type. A row's value stands in all of them.
struct cell {
  alignas(64) std::byte bytes[lane_count * 8];
  template <class R>
  R* as() {
    return reinterpret_cast<R*>(bytes);
  }
};

[[noreturn]] void unsupported(op kind, dtype type) {
  throw error("interpret_kernel: " + std::string(facts_of(kind).name) + " of " + std::string(name_of(type)));
}

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

template <op Kind, dtype X>
constexpr bool has_formula() {
  if constexpr (passes::is_logical(Kind))
    return X == dtype::b8;
  else if constexpr (passes::is_floating_only(Kind))
    return is_floating(X);
  else
    return is_elementwise(Kind) && (X != dtype::b8 || Kind == op::select || passes::is_comparison(Kind));
}

void compute(const kernel_step& s, dtype from, cell& to, cell* a, cell* b, cell* c) {
  if (s.kind == op::cast) {
    with_dtype(from, [&]<dtype From>() {
      with_dtype(s.type, [&]<dtype To>() {
        const auto* x = a->as<register_type<From>>();
        auto* y = to.as<register_type<To>>();
        for (std::size_t l = 0; l < lane_count; ++l) y[l] = evaluate<op::cast, To>(x[l]);
      });
    });
    return;
  }
  with_primitive(s.kind, [&]<op Kind>(primitive<Kind>) {
    with_dtype(from, [&]<dtype X>() {
      if constexpr (has_formula<Kind, X>() && Kind != op::cast) {
        constexpr dtype Y = passes::is_comparison(Kind) ? dtype::b8 : X;
        using R = register_type<X>;
        auto* y = to.as<register_type<Y>>();
        for (std::size_t l = 0; l < lane_count; ++l) {
          if constexpr (Kind == op::select)
            y[l] = evaluate<Kind, Y>(a->as<register_type<dtype::b8>>()[l], b->as<R>()[l], c->as<R>()[l]);
          else if constexpr (primitive<Kind>::arity == 3)
            y[l] = evaluate<Kind, Y>(a->as<R>()[l], b->as<R>()[l], c->as<R>()[l]);
          else if constexpr (primitive<Kind>::arity == 2)
            y[l] = evaluate<Kind, Y>(a->as<R>()[l], b->as<R>()[l]);
          else
            y[l] = evaluate<Kind, Y>(a->as<R>()[l]);
        }
      } else {
        unsupported(Kind, from);
      }
    });
  });
}

/// f.operator()<Kind, Type>() for a reduction.
template <class F>
void with_reduction(const kernel_step& s, F&& f) {
  with_primitive(s.kind, [&]<op Kind>(primitive<Kind>) {
    if constexpr (is_reduction(Kind))
      with_dtype(s.type, [&]<dtype Type>() { f.template operator()<Kind, Type>(); });
    else
      unsupported(s.kind, s.type);
  });
}

class interpreter {
 public:
  interpreter(const kernel_arguments& k, std::size_t block)
      : k_(k),
        block_(block),
        values_(k.step_count),
        partials_(k.step_count),
        totals_(k.step_count),
        lost_(k.step_count) {
    for (std::size_t j = 0; j < k.step_count; ++j) {
      const kernel_step& s = k.steps[j];
      if (s.phase >= phases_) phases_ = s.phase + 1;
      const bool walks = (s.what == action::load || s.what == action::store) && s.along != pace::scratch;
      if (walks && static_cast<std::size_t>(s.a) >= rows_.size())
        rows_.resize(static_cast<std::size_t>(s.a) + 1), bytes_.resize(rows_.size());
      if (walks) bytes_[static_cast<std::size_t>(s.a)] = static_cast<std::ptrdiff_t>(size_of(s.type));
    }
  }

  void run(std::size_t first, std::size_t end) {
    for (std::size_t j = 0; j < k_.step_count; ++j) {
      const kernel_step& s = k_.steps[j];
      if (s.what == action::reduce_column)
        with_reduction(s, [&]<op Kind, dtype Type>() {
          auto* sum = column<register_type<Type>>(s);
          for (std::size_t i = 0; i < k_.row_length; ++i) sum[i] = identity_of<Kind, Type>();
        });
      if (s.what == action::constant) fill(j, k_.constants[s.a]);
    }
    const std::size_t length = k_.inner_rank == 0 ? 1 : k_.inner[k_.inner_rank - 1];
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
  std::vector<cell> values_, partials_;
  std::vector<cell> totals_, lost_;    // of sums that are folded
  std::vector<std::byte*> rows_;       // by access: the row's first element
  std::vector<std::ptrdiff_t> bytes_;  // by access: of an element
  std::size_t outer_index_[max_rank]{}, inner_index_[max_rank]{};
  std::size_t segment_ = 0;  // position in the row of the segment's first element

  cell* operand(std::int16_t step) { return step < 0 ? nullptr : &values_[static_cast<std::size_t>(step)]; }
  dtype type_of_step(std::int16_t step) const { return k_.steps[step].type; }
  template <class R>
  R* column(const kernel_step& s) {
    return reinterpret_cast<R*>(k_.partials + block_ * k_.partials_per_block + k_.columns[s.b]);
  }
  /// One number in every lane.
  template <class U>
  void fill(std::size_t j, U x) {
    with_dtype(k_.steps[j].type, [&]<dtype Type>() {
      auto* to = values_[j].as<register_type<Type>>();
      for (std::size_t l = 0; l < lane_count; ++l) to[l] = rounded<Type>(x);
    });
  }
  void compute_step(std::size_t j) {
    const kernel_step& s = k_.steps[j];
    const dtype from = type_of_step(s.kind == op::select ? s.b : s.a);
    compute(s, from, values_[j], operand(s.a), operand(s.b), operand(s.c));
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
    const std::size_t rank = k_.inner_rank, length = rank == 0 ? 1 : k_.inner[rank - 1];
    for (std::size_t& i : inner_index_) i = 0;
    std::size_t unfolded = 0;
    for (segment_ = 0; segment_ < k_.row_length; segment_ += length) {
      if (unfolded > 0 && unfolded + (end - begin) > most_unfolded) fold_sums(), unfolded = 0;
      for (std::size_t i = begin; i < end; i += lane_count) {
        if (unfolded == most_unfolded) fold_sums(), unfolded = 0;
        const std::size_t n = end - i < lane_count ? end - i : lane_count;
        for (std::size_t j = 0; j < k_.step_count; ++j)
          if (k_.steps[j].phase == phase_) element_step(j, i, n);
        unfolded += n;
      }
      for (std::size_t d = rank == 0 ? 0 : rank - 1; d-- > 0;) {
        if (++inner_index_[d] < k_.inner[d]) break;
        inner_index_[d] = 0;
      }
    }
    for (std::size_t j = 0; j < k_.step_count; ++j)
      if (k_.steps[j].phase == phase_ && k_.steps[j].what == action::reduce_row)
        with_reduction(k_.steps[j], [&]<op Kind, dtype Type>() {
          using R = register_type<Type>;
          if constexpr (is_folded<Kind, Type>)
            if (k_.row_length > most_unfolded) {
              fold(lanes_of<R>(partials_[j]), lanes_of<R>(totals_[j]), lanes_of<R>(lost_[j]));
              unfold(lanes_of<R>(totals_[j]), lanes_of<R>(lost_[j]), lanes_of<R>(partials_[j]));
            }
          R lanes[lane_count];
          std::memcpy(lanes, partials_[j].bytes, sizeof lanes);
          const R x = joined<Kind, Type>(lanes);
          for (std::size_t l = 0; l < lane_count; ++l) values_[j].as<R>()[l] = x;
        });
  }

  template <class R>
  static auto lanes_of(cell& x) -> R (&)[lane_count] {
    return *reinterpret_cast<R(*)[lane_count]>(x.bytes);
  }
  void fold_sums() {
    for (std::size_t j = 0; j < k_.step_count; ++j)
      if (k_.steps[j].phase == phase_ && k_.steps[j].what == action::reduce_row)
        with_reduction(k_.steps[j], [&]<op Kind, dtype Type>() {
          using R = register_type<Type>;
          if constexpr (is_folded<Kind, Type>)
            fold(lanes_of<R>(partials_[j]), lanes_of<R>(totals_[j]), lanes_of<R>(lost_[j]));
        });
  }

  void row_step(std::size_t j) {
    const kernel_step& s = k_.steps[j];
    switch (s.what) {
      case action::load:
        return with_dtype(s.type, [&]<dtype Type>() {
          type_of<Type> x;
          std::memcpy(static_cast<void*>(&x), rows_[static_cast<std::size_t>(s.a)], sizeof x);
          const register_type<Type> value = loaded<Type>(x);
          auto* to = values_[j].as<register_type<Type>>();
          for (std::size_t l = 0; l < lane_count; ++l) to[l] = value;
        });
      case action::iota:
        return fill(j, outer_index_[s.a]);
      case action::compute:
        return compute_step(j);
      case action::store:
        return with_dtype(s.type, [&]<dtype Type>() {
          const auto x = stored<Type>(operand(s.b)->as<register_type<Type>>()[0]);
          std::memcpy(rows_[static_cast<std::size_t>(s.a)], static_cast<const void*>(&x), sizeof x);
        });
      case action::reduce_row:
        return with_reduction(s, [&]<op Kind, dtype Type>() {
          auto* to = partials_[j].as<register_type<Type>>();
          for (std::size_t l = 0; l < lane_count; ++l) to[l] = identity_of<Kind, Type>();
          totals_[j] = lost_[j] = {};
        });
      default:
        return;
    }
  }

  /// Where element i of the segment lies, and how many bytes the next is away.
  std::byte* place_of(const kernel_step& s, std::size_t i, std::ptrdiff_t& by) {
    const auto size = static_cast<std::ptrdiff_t>(size_of(s.type));
    if (s.along == pace::scratch) {
      by = size;
      return k_.scratch + block_ * k_.scratch_per_block + k_.slots[s.a] + (segment_ + i) * size_of(s.type);
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
    if (s.what == action::reduce_row || s.what == action::reduce_column) {
      with_reduction(s, [&]<op Kind, dtype Type>() {
        using R = register_type<Type>;
        R* sum = s.what == action::reduce_row ? partials_[j].as<R>() : column<R>(s) + segment_ + i;
        const auto add = [&](const auto* x) {
          for (std::size_t l = 0; l < n; ++l) sum[l] = combined<Kind, Type>(sum[l], x[l]);
        };
        if constexpr (Kind == op::any || Kind == op::all)  // of any dtype
          with_dtype(type_of_step(s.a), [&]<dtype From>() { add(operand(s.a)->as<register_type<From>>()); });
        else
          add(operand(s.a)->as<R>());
      });
      return;
    }
    if (s.at == place::row) return;
    if (s.what == action::compute) return compute_step(j);
    if (s.what == action::iota) {
      const auto axis = static_cast<std::size_t>(s.a) - k_.outer_rank;
      with_dtype(s.type, [&]<dtype Type>() {
        for (std::size_t l = 0; l < lane_count; ++l)
          values_[j].as<register_type<Type>>()[l] =
              rounded<Type>(axis + 1 == k_.inner_rank ? i + l : inner_index_[axis]);
      });
      return;
    }
    std::ptrdiff_t by = 0;
    std::byte* at = place_of(s, i, by);
    with_dtype(s.type, [&]<dtype Type>() {
      for (std::size_t l = 0; l < lane_count; ++l, at += by) {
        type_of<Type> x{};
        if (s.what == action::load) {
          if (l < n) std::memcpy(static_cast<void*>(&x), at, sizeof x);
          values_[j].as<register_type<Type>>()[l] = loaded<Type>(x);
        } else if (l < n) {
          x = stored<Type>(operand(s.b)->as<register_type<Type>>()[l]);
          std::memcpy(at, static_cast<const void*>(&x), sizeof x);
        }
      }
    });
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
