// passes/interpret.hpp. Compiled, as everything here, without contraction of a * b + c.
#include "napkin/passes/interpret.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "napkin/core/error.hpp"
#include "napkin/core/truncate.hpp"
#include "napkin/ops/primitives/table.hpp"
#include "napkin/passes/attention_loops.hpp"
#include "napkin/passes/verify.hpp"

namespace napkin {

namespace {

using values = std::vector<double>;
using steps = std::vector<std::ptrdiff_t>;  // of each axis, in elements

steps strides_of(const shape& s) {
  steps out(s.size());
  std::ptrdiff_t step = 1;
  for (std::size_t i = s.size(); i-- > 0;) {
    out[i] = step;
    step *= static_cast<std::ptrdiff_t>(s[i]);
  }
  return out;
}

/// f(coordinates) for every position, the last axis fastest.
template <class Sizes, class F>
void for_each_position(const Sizes& sizes, F f) {
  for (std::size_t size : sizes)
    if (size == 0) return;
  std::vector<std::size_t> at(sizes.size(), 0);
  for (;;) {
    f(at);
    std::size_t i = sizes.size();
    while (i > 0 && ++at[i - 1] == sizes[i - 1]) at[--i] = 0;
    if (i == 0) return;
  }
}

std::size_t offset_of(const std::vector<std::size_t>& at, const steps& step, std::ptrdiff_t start = 0) {
  for (std::size_t i = 0; i < at.size(); ++i) start += static_cast<std::ptrdiff_t>(at[i]) * step[i];
  return static_cast<std::size_t>(start);
}

/// Keeps the low bits, as a conversion between integers does.
double as_integer(double x, dtype t) {
  const auto whole = truncated<std::int64_t>(x);
  if (std::isinf(x)) {  // the maximum of nothing is the least value of the type itself
    return dispatch(t, [&]<class T>(std::type_identity<T>) -> double {
      if constexpr (std::integral<T>)
        return static_cast<double>(x > 0 ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min());
      else
        return x;
    });
  }
  return dispatch(t, [&]<class T>(std::type_identity<T>) -> double {
    if constexpr (std::integral<T>)
      return static_cast<double>(static_cast<T>(whole));
    else
      return x;
  });
}

/// The low bits of a whole number, beyond 2^53 too.
double low_bits(std::uint64_t whole, dtype t) {
  return dispatch(t, [whole]<class T>(std::type_identity<T>) -> double {
    if constexpr (std::integral<T>)
      return static_cast<double>(static_cast<T>(whole));
    else
      return static_cast<double>(whole);
  });
}
std::uint64_t as_bits(double x) { return static_cast<std::uint64_t>(truncated<std::int64_t>(x)); }

/// As a tensor of this dtype would keep it.
double stored(double x, dtype t, rounding mode) {
  if (t == dtype::b8) return x != 0 ? 1 : 0;
  if (is_integer(t)) return as_integer(x, t);
  if (mode == rounding::none) return x;
  return dispatch(t, [&]<class T>(std::type_identity<T>) -> double {
    if constexpr (std::same_as<T, c64> || std::same_as<T, c128>)
      return x;
    else
      return static_cast<double>(static_cast<T>(x));
  });
}

[[noreturn]] void fail(int id, const std::string& what) {
  throw input_error("interpret: node " + std::to_string(id) + ": " + what);
}

class interpreter {
 public:
  interpreter(const graph_view& g, std::span<const values> inputs, rounding mode)
      : g_(g), inputs_(inputs), mode_(mode), values_(g.size()) {}

  std::vector<values> run() {
    for (int id = 0; id < static_cast<int>(g_.size()); ++id) {
      values& y = values_[static_cast<std::size_t>(id)];
      y.assign(numel(g_.shape_of(id)), 0);
      evaluate(id, y);
      for (double& v : y) v = stored(v, g_[id].type, mode_);
    }
    std::vector<values> out;
    for (std::int32_t id : g_.output_ids()) out.push_back(values_[static_cast<std::size_t>(id)]);
    return out;
  }

 private:
  const graph_view& g_;
  std::span<const values> inputs_;
  rounding mode_;
  std::vector<values> values_;

  const values& of(int id, int k) const { return values_[static_cast<std::size_t>(g_.operand(id, k))]; }
  const shape& shape_of(int id, int k) const { return g_.shape_of(g_.operand(id, k)); }

  void evaluate(int id, values& y) {
    switch (category_of(g_[id].kind)) {
      case category::leaf:
        return leaf(id, y);
      case category::elementwise:
        return elementwise(id, y);
      case category::movement:
        return movement(id, y);
      case category::reduction:
        return reduce(id, y);
      case category::contraction:
        return einsum(id, y);
      case category::indexing:
        return index(id, y);
      case category::attention:
        return attention(id, y);
    }
  }

  void leaf(int id, values& y) {
    const node& n = g_[id];
    if (n.kind == op::constant) y.assign(y.size(), n.value);
    if (n.kind == op::iota) {
      const auto axis = static_cast<std::size_t>(g_.attribute(id, 0));
      std::size_t next = 0;
      for_each_position(g_.shape_of(id), [&](const auto& at) { y[next++] = static_cast<double>(at[axis]); });
    }
    if (n.kind == op::input) {
      const auto slot = static_cast<std::size_t>(g_.attribute(id, 0));
      if (slot >= inputs_.size()) fail(id, "input slot " + std::to_string(slot) + " was not given");
      if (inputs_[slot].size() != y.size())
        fail(id, "input slot " + std::to_string(slot) + " has " + std::to_string(inputs_[slot].size()) +
                     " elements, not " + std::to_string(y.size()));
      y = inputs_[slot];
    }
  }

  /// The row's formula over T, element by element.
  template <op O, class T>
  void apply(int id, values& y) {
    using row = primitive<O>;
    const dtype type = g_[id].type;
    const auto kept = [type](auto result) {
      if constexpr (std::same_as<decltype(result), std::int64_t>)
        return is_integer(type) ? low_bits(static_cast<std::uint64_t>(result), type)
                                : static_cast<double>(result);
      else
        return static_cast<double>(result);
    };
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto x = [&](int k) { return static_cast<T>(of(id, k)[i]); };
      if constexpr (O == op::div && std::integral<T>)
        if (x(1) == T(0)) fail(id, "an integer is divided by zero");
      if constexpr (O == op::select)
        y[i] = row::apply(of(id, 0)[i], of(id, 1)[i], of(id, 2)[i]);
      else if constexpr (row::arity == 1)
        y[i] = kept(row::apply(x(0)));
      else if constexpr (row::arity == 2)
        y[i] = kept(row::apply(x(0), x(1)));
      else
        y[i] = kept(row::apply(x(0), x(1), x(2)));
    }
  }

  /// Of a float to an integer; all other casts are the rounding of every node.
  void cast(int id, values& y) {
    y = of(id, 0);
    if (!is_floating(g_[g_.operand(id, 0)].type) || !is_integer(g_[id].type)) return;
    dispatch(g_[id].type, [&]<class T>(std::type_identity<T>) {
      if constexpr (std::integral<T>)
        for (double& x : y) x = static_cast<double>(truncated<T>(x));
    });
  }

  void elementwise(int id, values& y) {
    const dtype t = g_[g_.operand(id, 0)].type;
    with_primitive(g_[id].kind, [&]<op O>(primitive<O>) {
      if constexpr (O == op::cast)
        cast(id, y);
      else if constexpr (O == op::stop_gradient)
        y = of(id, 0);
      else if constexpr (passes::is_logical(O))
        apply<O, bool>(id, y);
      else if constexpr (O == op::select)
        apply<O, double>(id, y);
      else if constexpr (is_elementwise(O)) {
        if (is_integer(t)) {
          if constexpr (!passes::is_floating_only(O)) return apply<O, std::int64_t>(id, y);
        } else if (mode_ == rounding::as_typed && t != dtype::f64) {
          apply<O, float>(id, y);
        } else {
          apply<O, double>(id, y);
        }
      }
    });
  }

  void movement(int id, values& y) {
    const ids attributes = g_.attributes(id);
    const auto axis_of = [&](std::size_t i) { return static_cast<std::size_t>(attributes[i]); };
    const shape &from = shape_of(id, 0), &to = g_.shape_of(id);
    const steps in = strides_of(from), out = strides_of(to);
    const values& x = of(id, 0);
    switch (g_[id].kind) {
      case op::expand: {
        steps read(to.size(), 0);
        for (std::size_t i = 0; i < to.size(); ++i)
          if (attributes[i] >= 0) read[i] = in[axis_of(i)];
        return copy(to, y, out, 0, x, read, 0);
      }
      case op::diagonal: {
        steps read(to.size(), 0);
        for (std::size_t i = 0; i < from.size(); ++i) read[axis_of(i)] += in[i];
        return copy(to, y, out, 0, x, read, 0);
      }
      case op::window: {
        steps read = in;
        read[axis_of(0)] = attributes[2] * in[axis_of(0)];
        read.insert(read.begin() + attributes[0] + 1, attributes[3] * in[axis_of(0)]);
        return copy(to, y, out, 0, x, read, attributes[1] * in[axis_of(0)]);
      }
      case op::slice:
      case op::pad: {
        const bool slices = g_[id].kind == op::slice;
        steps walked = slices ? in : out;
        std::ptrdiff_t start = 0;
        for (std::size_t i = 0; i < walked.size(); ++i) {
          start += attributes[i] * walked[i];
          walked[i] *= attributes[walked.size() + i];
        }
        return slices ? copy(to, y, out, 0, x, walked, start) : copy(from, y, walked, start, x, in, 0);
      }
      case op::concat: {
        std::ptrdiff_t start = 0;
        for (int k = 0; k < g_[id].arity; ++k) {
          const shape& part = shape_of(id, k);
          copy(part, y, out, start, of(id, k), strides_of(part), 0);
          start += static_cast<std::ptrdiff_t>(part[axis_of(0)]) * out[axis_of(0)];
        }
        return;
      }
      default:
        y = x;  // reshape
    }
  }
  static void copy(const shape& positions, values& y, const steps& write, std::ptrdiff_t write_start,
                   const values& x, const steps& read, std::ptrdiff_t read_start) {
    for_each_position(positions, [&](const auto& at) {
      y[offset_of(at, write, write_start)] = x[offset_of(at, read, read_start)];
    });
  }

  void reduce(int id, values& y) {
    const shape& from = shape_of(id, 0);
    const steps in = strides_of(from), out = strides_of(g_.shape_of(id));
    steps write(from.size(), 0);
    std::size_t kept = 0, reduced = 0;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (reduced < g_.attributes(id).size() && g_.attributes(id)[reduced] == static_cast<std::int32_t>(i))
        ++reduced;
      else
        write[i] = out[kept++];
    }
    with_primitive(g_[id].kind, [&]<op O>(primitive<O>) {
      if constexpr (is_reduction(O)) {
        y.assign(y.size(), primitive<O>::template identity<double>());
        for_each_position(from, [&](const auto& at) {
          double& total = y[offset_of(at, write)];
          const double next = of(id, 0)[offset_of(at, in)];
          if constexpr (O == op::sum || O == op::product)
            if (is_integer(g_[id].type)) {
              const std::uint64_t a = as_bits(total), b = as_bits(next);
              total = low_bits(O == op::sum ? a + b : a * b, g_[id].type);
              return;
            }
          total = primitive<O>::apply(total, next);
        });
      }
    });
  }

  /// One loop a label: the result's, then the summed ones.
  void einsum(int id, values& y) {
    const row::einsum_labels labels(g_, id);
    std::vector<std::int32_t> loops(labels.result().begin(), labels.result().end());
    for (std::size_t k = 0; k < labels.arity(); ++k)
      for (std::int32_t l : labels.operand(k))
        if (!row::has_label(loops, l)) loops.push_back(l);
    std::vector<std::size_t> sizes(loops.size());
    std::vector<steps> read(labels.arity(), steps(loops.size(), 0));
    for (std::size_t k = 0; k < labels.arity(); ++k) {
      const shape& s = shape_of(id, static_cast<int>(k));
      const steps in = strides_of(s);
      for (std::size_t i = 0; i < s.size(); ++i)
        for (std::size_t j = 0; j < loops.size(); ++j)
          if (loops[j] == labels.operand(k)[i]) {
            read[k][j] += in[i];
            sizes[j] = s[i];
          }
    }
    steps write = strides_of(g_.shape_of(id));
    write.resize(loops.size(), 0);
    for_each_position(sizes, [&](const auto& at) {
      if (is_integer(g_[id].type)) {
        std::uint64_t term = 1;
        for (std::size_t k = 0; k < labels.arity(); ++k)
          term *= as_bits(of(id, static_cast<int>(k))[offset_of(at, read[k])]);
        double& sum = y[offset_of(at, write)];
        sum = low_bits(as_bits(sum) + term, g_[id].type);
        return;
      }
      double term = 1;
      for (std::size_t k = 0; k < labels.arity(); ++k)
        term *= of(id, static_cast<int>(k))[offset_of(at, read[k])];
      y[offset_of(at, write)] += term;
    });
  }

  void attention(int id, values& y) {
    const row::attention_form form(g_, id);
    const bool backward = g_[id].kind == op::attention_backward;
    passes::attention_extent e =
        passes::extent_of(g_, id, [this](int x) { return row_major_strides(g_.shape_of(x)); });
    e.mask_type = dtype::f64;  // as all values here
    passes::attention_loops<double, double> loops{e};
    loops.query = of(id, 0).data();
    loops.key = of(id, 1).data();
    loops.value = of(id, 2).data();
    if (form.is_masked()) loops.mask = of(id, row::attention_form::mask_operand(g_[id])).data();
    if (!backward) {
      (form.part == attention_part::output    ? loops.output
       : form.part == attention_part::log_sum ? loops.log_sum
                                              : loops.largest) = y.data();
      for (std::size_t row = 0; row < loops.query_rows(); ++row) loops.forward_row(row);
      return;
    }
    loops.d_output = of(id, 3).data();
    loops.log_sums = of(id, 4).data();
    if (row::attention_form::has_deltas(g_[id])) loops.deltas = of(id, 5).data();
    if (form.is_masked()) loops.all_largest = of(id, 7).data();
    if (form.part == attention_part::query) {
      loops.d_query = y.data();
      for (std::size_t row = 0; row < loops.query_rows(); ++row) loops.query_row(row);
      return;
    }
    (form.part == attention_part::key ? loops.d_key : loops.d_value) = y.data();
    for (std::size_t row = 0; row < loops.key_rows(); ++row) loops.key_row(row);
  }

  void index(int id, values& y) {
    const bool gathers = g_[id].kind == op::gather;
    const auto axis = static_cast<std::size_t>(g_.attribute(id, 0));
    const shape &part = gathers ? g_.shape_of(id) : shape_of(id, 0),
                &whole = gathers ? shape_of(id, 0) : g_.shape_of(id), &index = shape_of(id, 1);
    const steps of_part = strides_of(part), of_index = strides_of(index), of_whole = strides_of(whole);
    // A position of the part, read as one of the index and as one of the whole but for its axis.
    steps in_index(part.size(), 0), in_whole(part.size(), 0);
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (i < axis)
        in_whole[i] = of_whole[i];
      else if (i < axis + index.size())
        in_index[i] = of_index[i - axis];
      else
        in_whole[i] = of_whole[i + 1 - index.size()];
    }
    for_each_position(part, [&](const auto& at) {
      const double position = of(id, 1)[offset_of(at, in_index)];
      if (!(position >= 0 && position < static_cast<double>(whole[axis])))
        fail(id, "index " + std::to_string(position) + " is outside an axis of size " +
                     std::to_string(whole[axis]));
      const std::size_t there =
          offset_of(at, in_whole, static_cast<std::ptrdiff_t>(position) * of_whole[axis]);
      if (gathers)
        y[offset_of(at, of_part)] = of(id, 0)[there];
      else
        y[there] += of(id, 0)[offset_of(at, of_part)];
    });
  }
};

}  // namespace

std::vector<std::vector<double>> interpret(const graph_view& g,
                                           std::span<const std::vector<double>> inputs_by_slot,
                                           rounding mode) {
  return interpreter(g, inputs_by_slot, mode).run();
}

}  // namespace napkin
