// What a product's own call can do to its result before it is stored, as cuBLASLt's epilogues do: found in a
// fused graph (passes/fuse.hpp), and moved from the kernel that reads the product into the product's unit. Of
// its result r, in f32 whatever is stored:
//
//   v = scale * factors * r + added + vector
//
// factors are up to two numbers in memory, of products of 8-bit floats alone: what undoes their operands' scales;
// the vector lies along the result's last axes. Then
//
//   none            v is the result
//   gelu            gelu(v) is, by tanh; v is stored beside it where anything reads it: the auxiliary matrix
//   gelu_gradient   v * gelu'(auxiliary)
//
// Instead of adding a vector the call may store one: the sums of a derivative's result over all but its last
// axes, or those of one of the product's operands over the axes that it sums. Both are a bias's gradient.
//
// Scale, sums and casts are found by their nodes, a GELU and its derivative by what their nodes compute at a
// few numbers: however they were written, differentiated and simplified, smooth operations that agree there
// are the same function. Of such a derivative nothing is then kept for the backward pass but v.
#pragma once

#include "napkin/ops/primitives/table.hpp"
#include "napkin/passes/readers.hpp"

namespace napkin {

namespace passes {

/// GELU by tanh, and its derivative.
template <class T>
struct gelu_at {
  T value, slope;
  constexpr explicit gelu_at(T x) : gelu_at(x, T(0.5) * (1 + math::tanh(argument(x)))) {}
  /// `weight` is 0.5 (1 + tanh(argument(x))), however it was found.
  constexpr gelu_at(T x, T weight)
      : value(x * weight), slope(weight + 2 * x * weight * (1 - weight) * k * (1 + 3 * cubic * x * x)) {}
  static constexpr T argument(T x) { return k * (x + cubic * x * x * x); }

 private:
  static constexpr T k = T(0.797884560802865355879892119868763737), cubic = T(0.044715);  // sqrt(2/pi)
};

namespace detail {

/// Fits: (einsum, epilogue_form) -> bool, whether the backend's call does that to this product.
template <class Fits>
class epilogue_finder {
 public:
  constexpr epilogue_finder(const graph_view& graph, fusion& fused, Fits fits)
      : g_(graph), f_(fused), fits_(fits), readers_(graph, fused) {}

  constexpr void run() {
    is_output_.resize(g_.size(), false);
    for (const std::int32_t out : g_.output_ids()) is_output_.items[out] = true;
    inside_.resize(g_.size(), false);
    values_.resize(g_.size(), 0.0);
    waiting_in_.resize(f_.units.size(), -1);
    for (int id = 0; id < static_cast<int>(g_.node_count); ++id)
      if (g_.nodes[id].kind == op::einsum) consider(id);
    for (const candidate& c : waiting_)  // what is left of those whose derivative is no product's
      if (!c.taken && c.linear.found()) take(c.linear);
    if (f_.epilogues.empty()) return;
    number_members(f_);
    find_materialized(g_, f_);
  }

 private:
  /// An epilogue, and the nodes that it is made of beside the product: a stretch of `nodes_`. Of buffers of
  /// their own nvcc 13 leaves some undestroyed, and refuses the plan.
  struct match {
    epilogue e;
    std::int32_t first = 0, count = 0;
    constexpr bool found() const { return e.result >= 0; }
  };
  /// A GELU some of whose insides the backward pass reads: an epilogue if that is one too, else `linear`.
  struct candidate {
    match gelu, linear;
    std::int32_t kernel = -1;
    bool taken = false;
  };

  graph_view g_;
  fusion& f_;
  Fits fits_;
  reader_list readers_;
  buffer<bool> is_output_, inside_;
  buffer<double> values_;
  buffer<std::int32_t> nodes_;                 // of matches, of which one may begin another
  buffer<std::int32_t> smooth_, visit_, all_;  // what is being looked at, by collect and take_derivative
  buffer<candidate> waiting_;
  buffer<std::int32_t> waiting_in_;  // by kernel: which of `waiting_`

  constexpr std::int32_t unit_of(int id) const { return f_.unit_of.items[id]; }
  constexpr unit& unit_at(std::int32_t u) const { return f_.units.items[u]; }
  constexpr const reference& reference_of(int x) const { return f_.references.items[x]; }

  constexpr ids readers_of(int id) const { return readers_.of(id); }

  static constexpr ids all_of(const buffer<std::int32_t>& nodes) { return {nodes.data(), nodes.size()}; }
  constexpr ids nodes_of(const match& m) const {
    return {nodes_.data() + m.first, static_cast<std::size_t>(m.count)};
  }
  constexpr void append(match& m, std::int32_t id) {
    const auto end = static_cast<std::int32_t>(nodes_.size());
    if (m.first + m.count != end) {
      for (std::int32_t i = 0; i < m.count; ++i)
        nodes_.push_back(nodes_[static_cast<std::size_t>(m.first + i)]);
      m.first = end;
    }
    nodes_.push_back(id);
    ++m.count;
  }

  /// Lies otherwise than the product's call writes and reads it.
  constexpr bool is_ordered(int id) const { return has_own_order(g_.nodes[id]); }
  constexpr bool is_element_of(std::int32_t k, int id) const {
    return unit_of(id) == k && f_.role_of.items[id] == role::element;
  }
  constexpr bool is_dense_input(int x) const {
    return g_.nodes[x].kind == op::input && g_.nodes[x].attribute_count <= 1;
  }
  /// Made before unit u begins, and no matter what becomes of u.
  constexpr bool is_before(int base, std::int32_t u) const {
    const std::int32_t from = unit_of(base);
    return from < 0 ? is_dense_input(base) : unit_at(from).depth < unit_at(u).depth;
  }

  /// The elements of a vector that lies along the last axes of node id's shape and is repeated over the
  /// others; 0: operand x is none.
  constexpr std::size_t vector_size(int id, int x) const {
    const access a = access_of(g_, x);
    const shape& s = g_.shape_of(id);
    if (!a.possible || a.offset != 0 || a.stride.size() != s.size()) return 0;
    std::size_t size = 1, axis = s.size();
    while (axis > 0 && (s[axis - 1] == 1 || a.stride[axis - 1] == static_cast<std::ptrdiff_t>(size)))
      size *= s[--axis];
    while (axis > 0 && (s[axis - 1] == 1 || a.stride[axis - 1] == 0)) --axis;
    return axis == 0 && size > 1 && size < numel(s) && numel(g_.shape_of(a.base)) == size ? size : 0;
  }

  constexpr void consider(int product) {
    if (!is_floating(g_.nodes[product].type)) return;
    match to_end, stored;
    if (const std::int32_t k = kernel_that_reads(product); k >= 0) {
      follow(product, k, to_end, stored);
      if (find_gelu(k, to_end, stored) || find_derivative(product, k)) return;
    }
    add_operand_sums(product, stored);
    if (stored.found()) take(stored);
  }
  /// The one that does, element by element; else -1.
  constexpr std::int32_t kernel_that_reads(int product) const {
    const ids readers = readers_of(product);
    if (readers.empty() || is_output_.items[product]) return -1;
    const std::int32_t k = unit_of(readers[0]);
    if (unit_at(k).kind != unit_kind::kernel) return -1;
    for (const std::int32_t r : readers)
      if (!is_element_of(k, r) || g_.nodes[r].shape_id != g_.nodes[product].shape_id) return -1;
    return k;
  }

  /// As far as one node after the other only scales, casts and adds: all of it to `to_end`, up to the last
  /// that has a buffer anyway to `stored`, so that less is written.
  constexpr void follow(int product, std::int32_t k, match& to_end, match& stored) {
    epilogue& e = to_end.e;
    const std::int32_t u = unit_of(product);
    e.product = product;
    e.value = product;
    while (!is_output_.items[e.value]) {
      const ids readers = readers_of(e.value);
      if (readers.size() != 1 || !is_element_of(k, readers[0])) return;
      const int r = readers[0];
      const node& n = g_.nodes[r];
      if (!is_floating(n.type) || n.when != g_.nodes[product].when || is_ordered(r)) return;
      if (n.kind == op::mul || n.kind == op::add) {
        const int at = reference_of(g_.operand(r, 0)).base == e.value ? 0 : 1;
        const int other = g_.operand(r, 1 - at);
        const reference& o = reference_of(other);
        if (!reference_of(g_.operand(r, at)).direct) return;
        const bool is_number = g_.nodes[o.base].kind == op::constant;
        const int narrow = before_widening(other), base = reference_of(narrow).base;
        if (n.kind == op::mul) {
          if (e.vector >= 0 || e.added >= 0) return;
          if (is_number)
            e.form.scale *= g_.nodes[o.base].value;
          else if (e.form.factors < most_factors && is_factor(product, o.base))
            e.factor[e.form.factors++] = o.base;
          else
            return;
        } else if (is_number) {
          return;
        } else if (const std::size_t size = vector_size(r, narrow);
                   size > 0 && e.vector < 0 && is_before(base, u)) {
          if (narrow != other && readers_of(o.base).size() == 1) append(to_end, o.base);
          e.vector = base;
          e.form.vector_size = size;
          e.form.vector_type = g_.nodes[base].type;
        } else if (o.direct && e.added < 0 && !is_ordered(o.base) && is_before(o.base, u)) {
          e.added = o.base;
          e.form.adds = true;
        } else {
          return;
        }
      } else if (n.kind != op::cast || !reference_of(g_.operand(r, 0)).direct) {
        return;
      } else if (is_rounded(e) && size_of(n.type) > size_of(g_.nodes[e.value].type)) {
        return;
      }
      append(to_end, r);
      e.value = r;
      e.form.type = n.type;
      if (!f_.materialized.items[r] || !is_typed(e) || !fits_(product, e.form)) continue;
      stored = to_end;
      stored.e.result = r;
    }
  }
  /// To fewer bits than the product has: who goes on with that is to have it so.
  constexpr bool is_rounded(const epilogue& e) const {
    return size_of(g_.nodes[e.value].type) < size_of(g_.nodes[e.product].type);
  }
  /// What x is where a kernel widens it as it reads it: the call takes the narrow one. Else x.
  constexpr int before_widening(int x) const {
    const reference& r = reference_of(x);
    const node& n = g_.nodes[r.base];
    if (n.kind != op::cast || n.type != dtype::f32 || !r.direct || is_output_.items[r.base]) return x;
    const int narrow = g_.operand(r.base, 0);
    return is_small_float(g_.nodes[narrow].type) && !is_ordered(r.base) ? narrow : x;
  }
  /// A number in memory that this product's call may multiply by.
  constexpr bool is_factor(int product, int base) const {
    return is_8_bit_float(g_.nodes[g_.operand(product, 0)].type) && g_.nodes[base].type == dtype::f32 &&
           numel(g_.shape_of(base)) == 1 && is_before(base, unit_of(product));
  }
  /// What is added has the result's dtype; a vector may be rounded to it.
  constexpr bool is_typed(const epilogue& e) const {
    const dtype type = e.form.type;
    if (e.form.adds && g_.nodes[e.added].type != type) return false;
    return e.form.vector_size == 0 || e.form.vector_type == type ||
           (e.form.vector_type == dtype::f32 && is_small_float(type));
  }

  // ---- GELU

  /// The smooth operations between `to` and what they are of, each base that `is_leaf` takes: `smooth_`,
  /// ascending. False where there is anything else.
  constexpr bool collect(int to, auto&& is_leaf) {
    constexpr std::size_t most = 48;
    bool possible = true, bends = false;
    buffer<std::int32_t>& nodes = smooth_;
    nodes.clear();
    visit_.clear();
    const auto visit = [&](int id) {
      if (inside_.items[id]) return;
      inside_.items[id] = true;
      nodes.push_back(id);
      visit_.push_back(id);
    };
    visit(to);
    while (!visit_.empty() && possible) {
      const int id = visit_.back();
      visit_.pop_back();
      bends = bends || g_.nodes[id].kind == op::tanh || g_.nodes[id].kind == op::exp;
      const dtype type = g_.nodes[id].type;  // integers, truths and 8 bits would be another function
      possible = is_smooth(g_.nodes[id].kind) && is_floating(type) && (id == to || !is_8_bit_float(type)) &&
                 nodes.size() <= most;
      for (const std::int32_t x : g_.operands(id)) {
        const reference& r = reference_of(x);
        if (g_.nodes[r.base].kind == op::constant) continue;
        possible = possible && r.direct && g_.nodes[r.base].shape_id == g_.nodes[to].shape_id;
        if (possible && !is_leaf(r.base)) visit(r.base);
      }
    }
    for (const std::int32_t id : nodes) inside_.items[id] = false;
    insertion_sort(nodes);  // by number: operands come first
    return possible && bends;
  }
  static constexpr bool is_smooth(op kind) {
    return kind == op::cast || kind == op::neg || kind == op::tanh || kind == op::exp || kind == op::add ||
           kind == op::sub || kind == op::mul || kind == op::div || kind == op::pow || kind == op::fma;
  }
  constexpr double value_of(int x) const {
    const int base = reference_of(x).base;
    return g_.nodes[base].kind == op::constant ? g_.nodes[base].value : values_.items[base];
  }
  constexpr double compute(int id) const {
    const auto x = [&](int k) { return value_of(g_.operand(id, k)); };
    switch (g_.nodes[id].kind) {
      case op::neg:
        return primitive<op::neg>::apply(x(0));
      case op::tanh:
        return primitive<op::tanh>::apply(x(0));
      case op::exp:
        return primitive<op::exp>::apply(x(0));
      case op::add:
        return primitive<op::add>::apply(x(0), x(1));
      case op::sub:
        return primitive<op::sub>::apply(x(0), x(1));
      case op::mul:
        return primitive<op::mul>::apply(x(0), x(1));
      case op::div:
        return primitive<op::div>::apply(x(0), x(1));
      case op::pow:
        return primitive<op::pow>::apply(x(0), x(1));
      case op::fma:
        return primitive<op::fma>::apply(x(0), x(1), x(2));
      default:
        return x(0);  // a cast
    }
  }
  /// The last of `smooth_` is gelu(of), or, of a derivative, scale * times * gelu'(of).
  constexpr bool is_gelu(int of, int times, double& scale) {
    constexpr double points[] = {1.125, -4.25, -2.5, -1.375, -0.625, -0.125, 0.0625, 0.5, 2.25, 3.5};
    constexpr double factors[] = {1, -0.75, 2.5};
    double factor = 1;
    for (std::size_t i = 0; i < std::size(points); ++i) {
      values_.items[of] = points[i];
      if (times >= 0) values_.items[times] = factor = factors[i % std::size(factors)];
      for (const std::int32_t id : smooth_) values_.items[id] = compute(id);
      const gelu_at expected(points[i]);
      const double is = values_.items[smooth_.back()],
                   should = times >= 0 ? factor * expected.slope : expected.value;
      if (times >= 0 && i == 0 && !(math::abs(is / should - 1) <= 1e-6)) scale = is / should;
      // constants may have been rounded to f32
      if (!(math::abs(is - scale * should) <= 1e-6 * math::abs(scale))) return false;
    }
    return true;
  }

  constexpr bool holds(const ids& nodes, int id) const {
    for (const std::int32_t x : nodes)
      if (x == id) return true;
    return false;
  }
  constexpr bool is_read_outside(int id, const ids& nodes) const {
    if (is_output_.items[id]) return true;
    for (const std::int32_t r : readers_of(id))
      if (!holds(nodes, r)) return true;
    return false;
  }

  /// A GELU of what `to_end` ends in, in kernel k: taken, or kept until its derivative is met.
  constexpr bool find_gelu(std::int32_t k, const match& to_end, const match& stored) {
    const int v = to_end.e.value;
    if (is_rounded(to_end.e)) return false;
    const unit& kernel = unit_at(k);
    for (std::size_t i = 0; i < kernel.members.size(); ++i) {
      const int y = kernel.members[i];
      if (!f_.materialized.items[y] || !is_element_of(k, y) || holds(nodes_of(to_end), y) ||
          !reads_smoothly(y) || is_ordered(y))
        continue;
      double one = 1;
      if (!collect(y, [&](int base) { return base == v || unit_of(base) != k; }) || !is_of(v, -1) ||
          !is_gelu(v, -1, one))
        continue;
      candidate c;
      c.linear = stored;
      c.gelu = to_end;
      c.kernel = k;
      epilogue& e = c.gelu.e;
      for (const std::int32_t id : smooth_) append(c.gelu, id);
      e.result = y;
      e.form.type = g_.nodes[y].type;
      e.form.then = activation::gelu;
      e.form.keeps = is_read_outside(v, nodes_of(c.gelu));
      if (e.form.keeps) e.auxiliary = v;
      if ((e.form.keeps && g_.nodes[v].type != e.form.type) || !is_typed(e) || !fits_(e.product, e.form))
        return false;
      bool is_closed = true;
      for (const std::int32_t id : smooth_)
        is_closed = is_closed && (id == y || !is_read_outside(id, nodes_of(c.gelu)));
      if (is_closed) {
        take(c.gelu);
      } else {
        waiting_in_.items[k] = static_cast<std::int32_t>(waiting_.size());
        waiting_.push_back(c);
      }
      return true;
    }
    return false;
  }
  constexpr bool reads_smoothly(int id) const { return is_smooth(g_.nodes[id].kind); }
  /// Nothing but numbers, each other, `of` and `times` do `smooth_` read.
  constexpr bool is_of(int of, int times) const {
    for (const std::int32_t id : smooth_)
      for (const std::int32_t x : g_.operands(id)) {
        const int base = reference_of(x).base;
        if (base != of && base != times && g_.nodes[base].kind != op::constant &&
            !holds(all_of(smooth_), base))
          return false;
      }
    return true;
  }

  /// The product times gelu'(a tensor that is there), in kernel k.
  constexpr bool find_derivative(int product, std::int32_t k) {
    const unit& kernel = unit_at(k);
    for (std::size_t i = 0; i < kernel.members.size(); ++i) {
      const int z = kernel.members[i];
      if (!f_.materialized.items[z] || !is_element_of(k, z) || !reads_smoothly(z) || is_ordered(z)) continue;
      int of = -1;
      std::int32_t of_forward = -1;
      bool one = true, reads_product = false;
      const auto is_leaf = [&](int base) {
        const std::int32_t u = unit_of(base);
        const std::int32_t w = u < 0 ? -1 : waiting_in_.items[u];
        if (base == product) return reads_product = true;
        if (u == k) return false;
        if (w >= 0 && !waiting_.items[w].taken && base != waiting_.items[w].gelu.e.value) {
          one = one && (of_forward < 0 || of_forward == w);
          of_forward = w;
          return false;
        }
        one = one && (of < 0 || of == base);
        of = base;
        return true;
      };
      if (!collect(z, is_leaf) || !one || !reads_product || of < 0 || !is_before(of, unit_of(product)) ||
          is_ordered(of))
        continue;
      if (of_forward >= 0 && waiting_.items[of_forward].gelu.e.value != of) continue;
      double scale = 1;
      if (is_gelu(of, product, scale) && take_derivative(product, k, of, of_forward, scale)) return true;
    }
    return false;
  }
  /// `smooth_` is it.
  constexpr bool take_derivative(int product, std::int32_t k, int of, std::int32_t of_forward, double scale) {
    match made, forward;
    all_.clear();
    all_.append(smooth_.data(), smooth_.size());
    if (of_forward >= 0) {
      forward = waiting_.items[of_forward].gelu;
      for (const std::int32_t id : nodes_of(forward))
        if (!holds(all_of(smooth_), id)) all_.push_back(id);
    }
    const int z = smooth_.back();
    for (const std::int32_t id : all_)
      if (id != z && id != forward.e.result && id != of && is_read_outside(id, all_of(all_))) return false;
    if (is_read_outside(product, all_of(all_))) return false;
    for (const std::int32_t id : all_)
      if (unit_of(id) == k) append(made, id);
    for (const std::int32_t id : all_)
      if (unit_of(id) != k && !holds(nodes_of(forward), id)) append(forward, id);
    epilogue& e = made.e;
    e.product = product;
    e.value = e.result = z;
    e.auxiliary = of;
    e.form.type = g_.nodes[z].type;
    e.form.then = activation::gelu_gradient;
    e.form.scale = scale;
    if (g_.nodes[of].type != e.form.type || g_.nodes[product].when != g_.nodes[z].when ||
        !fits_(product, e.form))
      return false;
    if (of_forward >= 0) {
      waiting_.items[of_forward].taken = true;
      take(forward);
    }
    add_sums(k, made);
    take(made);
    return true;
  }
  /// The sums over all but the last axes of what the product gives, if kernel k makes them.
  constexpr void add_sums(std::int32_t k, match& m) {
    for (const std::int32_t r : readers_of(m.e.result)) {
      if (unit_of(r) != k || g_.nodes[r].kind != op::sum || f_.role_of.items[r] != role::column ||
          g_.nodes[r].type != m.e.form.type || !reference_of(g_.operand(r, 0)).direct)
        continue;
      epilogue_form with = m.e.form;
      with.sums = summed::result;
      with.vector_size = numel(g_.shape_of(r));
      with.vector_type = g_.nodes[r].type;
      if (!fits_(m.e.product, with)) continue;
      m.e.form = with;
      m.e.vector = r;
      append(m, r);
      return;
    }
  }

  /// The sums of an operand over what the product sums, a result that a kernel makes for itself alone.
  constexpr void add_operand_sums(int product, match& m) {
    if (g_.nodes[product].arity != 2 || (m.found() && (m.e.vector >= 0 || m.e.form.scale != 1))) return;
    const row::einsum_labels labels(g_, product);
    for (int k = 0; k < 2; ++k) {
      const int x = g_.operand(product, k);
      const reference& from = reference_of(x);
      if (!from.direct || is_ordered(from.base)) continue;
      for (const std::int32_t reader : readers_of(from.base)) {
        const bool casts =
            g_.nodes[reader].kind == op::cast && readers_of(reader).size() == 1 && !is_output_.items[reader];
        const int r = casts ? readers_of(reader)[0] : reader;
        if (!is_sum_alone(r, reader) ||
            !sums_as(labels, static_cast<std::size_t>(k), g_.attributes(r), g_.shape_of(r).size()))
          continue;
        match with = m;
        epilogue& e = with.e;
        if (!m.found()) {
          e = {};
          e.product = e.value = e.result = product;
          e.form.type = g_.nodes[product].type;
        }
        e.vector = r;
        e.form.sums = k == 0 ? summed::first_operand : summed::second_operand;
        e.form.vector_size = numel(g_.shape_of(r));
        e.form.vector_type = g_.nodes[r].type;
        if (e.form.vector_type != e.form.type || !fits_(product, e.form)) continue;
        if (casts) append(with, reader);
        append(with, r);
        m = with;
        return;
      }
    }
  }
  /// A sum of columns, and what its kernel does, but for a cast before it, is nothing else: a result that
  /// nothing reads, or that only those do which may wait for any product.
  constexpr bool is_sum_alone(int r, int cast) const {
    if (g_.nodes[r].kind != op::sum || f_.role_of.items[r] != role::column ||
        !reference_of(g_.operand(r, 0)).direct)
      return false;
    const ids readers = readers_of(r);
    if (is_output_.items[r] != readers.empty()) return false;
    for (const std::int32_t reader : readers)
      if (!may_wait(reader)) return false;
    for (const std::int32_t id : unit_at(unit_of(r)).members)
      if (id != r && id != cast) return false;
    return unit_of(cast) == unit_of(r);
  }
  /// Alone in its kernel, it adds to a result or is one, and nothing reads it: a part of a gradient.
  constexpr bool may_wait(int id) const {
    return (is_accumulation(g_.nodes[id]) || is_output_.items[id]) && readers_of(id).empty() &&
           unit_at(unit_of(id)).members.size() == 1;
  }
  /// The product sums operand k over these axes, and no other of it.
  constexpr bool sums_as(const row::einsum_labels& labels, std::size_t k, const ids& axes,
                         std::size_t left) const {
    const ids of = labels.operand(k);
    if (of.size() != axes.size() + left) return false;
    for (std::size_t i = 0; i < of.size(); ++i) {
      bool reduced = false;
      for (const std::int32_t axis : axes) reduced = reduced || axis == static_cast<std::int32_t>(i);
      if (row::has_label(labels.result(), of[i]) == reduced) return false;
    }
    return true;
  }

  /// Make it so: its nodes are the product's.
  constexpr void take(const match& m) {
    const std::int32_t u = unit_of(m.e.product);
    for (const std::int32_t id : nodes_of(m)) {
      unit& from = unit_at(unit_of(id));
      buffer<std::int32_t> left;
      for (const std::int32_t x : from.members)
        if (x != id) left.push_back(x);
      from.members = static_cast<buffer<std::int32_t>&&>(left);
      if (from.members.empty()) {
        from.merged = true;
        from.into = u;
      }
      f_.unit_of.items[id] = u;
      f_.role_of.items[id] = role::none;
    }
    unit& to = unit_at(u);
    if (m.e.form.sums != summed::none)
      for (const std::int32_t reader : readers_of(m.e.vector)) {
        unit& reads = unit_at(unit_of(reader));
        // an accumulation alone may, as nothing reads it; what else reads a sum comes later anyway
        if (reads.depth <= to.depth) reads.depth = to.depth + 1;
      }
    to.epilogue = static_cast<std::int32_t>(f_.epilogues.size());
    for (const std::int32_t id : nodes_of(m)) insert_member(to, id);
    f_.epilogues.push_back(m.e);
  }
};

}  // namespace detail

/// Find the epilogues of a fused graph's products, and move what they compute into the products' units. At
/// most one for a product; what a value is read by otherwise, or nothing stores, stays in its kernel.
template <class Fits>
constexpr void find_epilogues(const graph_view& g, fusion& f, Fits fits) {
  for (std::size_t id = 0; id < g.node_count; ++id)
    if (g.nodes[id].kind == op::einsum) return detail::epilogue_finder<Fits>(g, f, fits).run();
}

}  // namespace passes
}  // namespace napkin
