// A fused kernel of which an operand lies turned: side by side along one axis where the results lie side by
// side along another, so that whichever order threads take, one of the two would move an element at a time. A
// block of threads takes a tile: into shared memory in the turned operands' order, from there in the results'
// order, both ways many bytes at a time. For elementwise kernels without reductions; all others are
// fused.hpp's. Compiled for the host as well, where tests run a tile's threads in turn.
#pragma once

#include "napkin/cuda/fused.hpp"

namespace napkin::on_cuda {

/// The axes of a kernel, counted from the innermost, in another order: the fastest first.
template <int... Axis>
struct axis_order {};

/// How a kernel is cut into tiles, or that it is not.
struct tiling {
  bool applies = false;
  inplace_vector<std::size_t, max_rank> extents;  // of a tile, innermost axis first
  inplace_vector<int, max_rank> order;            // the axes as the first turned operand has them
  unsigned vector = 1, turned_vector = 1;  // adjacent elements at a time, in the results' order and in that
  unsigned line_pad = 0, block_pad = 0;    // see padded
};

inline constexpr unsigned tile_threads = 256;               // of a block
inline constexpr std::size_t widest_access = 16;            // bytes
inline constexpr std::size_t tile_row = 64, few_rows = 32;  // elements that a tile has of either order

/// Shared memory as elements of some bytes meet it: its banks, words of 4 bytes or of 8, and elements a word.
template <unsigned Size>
struct shared_banks {
  static constexpr unsigned count = Size == 8 ? 16 : 32, in_word = Size < 4 ? 4 / Size : 1,
                            line = count * in_word;  // elements
};

/// Where element i of a tile lies in shared memory: behind every line of its banks some words are left free,
/// and behind as many lines as there are banks some more, so that a warp that takes elements a power of two
/// apart meets as many banks as it has words.
template <unsigned Size>
NAPKIN_DEVICE constexpr unsigned padded(unsigned i, unsigned line_pad, unsigned block_pad) {
  using banks = shared_banks<Size>;
  return i + banks::in_word * (i / banks::line * line_pad + i / (banks::count * banks::line) * block_pad);
}

namespace detail {

constexpr bool strides_along_row(const passes::kernel_step& s) {
  return s.what == action::load && s.at == place::element && s.along == pace::strided;
}

/// Looks at one kernel of a plan.
template <class Product>
struct tile_finder {
  const planning::plan_view<Product>& p;
  const kernel_record& r;
  int rank = r.outer_rank + r.inner_rank;
  tiling t{};

  constexpr std::size_t size(int axis) const { return p.sizes[r.first_size + rank - 1 - axis]; }
  constexpr const access_record& access_at(int a) const { return p.accesses[r.first_access + a]; }
  constexpr std::ptrdiff_t stride(int access, int axis) const {
    return p.strides[access_at(access).first_stride + rank - 1 - axis];
  }
  constexpr std::ptrdiff_t distance(int access, int axis) const {
    const std::ptrdiff_t s = stride(access, axis);
    return s < 0 ? -s : s;
  }
  template <class F>
  constexpr void for_each_step(F f) const {
    const program_record& program = p.programs[r.program];
    for (std::int32_t s = program.first_step; s < program.first_step + program.steps; ++s) f(p.steps[s]);
  }
  constexpr bool is_turned(const passes::kernel_step& s) const {
    return strides_along_row(s) && stride(s.a, t.order[0]) == 1;
  }
  static constexpr bool is_straight(const passes::kernel_step& s) {
    return (s.what == action::load || s.what == action::store) && s.at == place::element &&
           s.along == pace::contiguous;
  }

  /// Elementwise, of elements that shared memory's banks have whole; the first operand that lies turned gives
  /// the order.
  constexpr bool find_order() {
    bool elementwise = r.columns == 0 && r.slots == 0;
    int lead = -1;
    for_each_step([&](const passes::kernel_step& s) {
      elementwise = elementwise && s.phase == 0 && s.what != action::reduce_row && size_of(s.type) <= 8 &&
                    !(s.what == action::store && s.at == place::row);
      if (lead >= 0 || !strides_along_row(s)) return;
      for (int axis = 1; axis < rank; ++axis)
        if (distance(s.a, 0) > 1 && stride(s.a, axis) == 1 && size(axis) > 1) lead = s.a;
    });
    for (int axis = 0; axis < rank; ++axis) elementwise = elementwise && size(axis) > 0;
    if (!elementwise || lead < 0) return false;
    for (int axis = 0; axis < rank; ++axis) {  // what does not move at all comes last
      const auto is_before = [&](int other) {
        const std::ptrdiff_t d = distance(lead, axis), o = distance(lead, other);
        return d != 0 && (o == 0 || d < o || (d == o && size(other) == 1));
      };
      std::size_t at = 0;
      while (at < t.order.size() && !is_before(t.order[at])) ++at;
      t.order.insert(at, axis);
    }
    return size(t.order[0]) > 1 && stride(lead, t.order[0]) == 1;
  }

  constexpr int axis_of(bool turned, int i) const {
    return turned ? t.order[static_cast<std::size_t>(i)] : i;
  }
  constexpr std::size_t& extent(int axis) { return t.extents[static_cast<std::size_t>(axis)]; }
  constexpr std::size_t volume() const {
    std::size_t n = 1;
    for (const std::size_t e : t.extents) n *= e;
    return n;
  }
  constexpr void enlarge(int axis, std::size_t to) {
    if (to > size(axis)) to = size(axis);
    if (to > extent(axis)) extent(axis) = to;
  }
  /// Enough of the fastest axes for a row, in both orders; then of any, for all threads to have work.
  constexpr void choose_extents(std::size_t row) {
    t.extents = inplace_vector<std::size_t, max_rank>(static_cast<std::size_t>(rank), 1);
    for (const bool turned : {false, true}) {
      std::size_t reached = 1;
      for (int i = 0; i < rank && reached < row; ++i) {
        enlarge(axis_of(turned, i), ceil_div(row, reached));
        reached *= extent(axis_of(turned, i));
      }
    }
    for (int axis = 0; axis < rank && volume() < row * row; ++axis)
      enlarge(axis, extent(axis) * ceil_div(row * row, volume()));
  }

  /// How many adjacent elements of an order move at a time: of all accesses that `concern` it, without
  /// leaving the axes that lie behind one another in each of them; one axis where `one_axis`.
  template <class Concern>
  constexpr unsigned widest(bool turned, bool one_axis, Concern concern) const {
    const auto every = [&](auto holds) {
      bool all = true;
      for_each_step([&](const passes::kernel_step& s) {
        if (concern(s)) all = all && holds(s);
      });
      return all;
    };
    std::size_t inner = 1, smallest = widest_access;
    int last = 0;
    const auto extent_at = [&](int i) { return t.extents[static_cast<std::size_t>(axis_of(turned, i))]; };
    while (!one_axis && last + 1 < rank && extent_at(last) == size(axis_of(turned, last)) &&
           every([&](const passes::kernel_step& s) {
             return stride(s.a, axis_of(turned, last + 1)) ==
                    stride(s.a, axis_of(turned, last)) * static_cast<std::ptrdiff_t>(extent_at(last));
           })) {
      inner *= extent_at(last);
      ++last;
    }
    (void)every([&](const passes::kernel_step& s) {
      if (size_of(s.type) < smallest) smallest = size_of(s.type);
      return true;
    });
    std::size_t v = widest_access / smallest;
    const auto fits = [&] {
      return inner * extent_at(last) % v == 0 && inner * size(axis_of(turned, last)) % v == 0 &&
             every([&](const passes::kernel_step& s) {
               const std::ptrdiff_t offset = access_at(s.a).offset;
               bool all =
                   static_cast<std::size_t>(offset < 0 ? -offset : offset) % (v * size_of(s.type)) == 0;
               for (int i = last + 1; i < rank; ++i)
                 all = all && static_cast<std::size_t>(distance(s.a, axis_of(turned, i))) % v == 0;
               return all;
             });
    };
    while (v > 1 && !fits()) v /= 2;
    return static_cast<unsigned>(v);
  }

  /// Elements, pads included.
  template <unsigned Size>
  constexpr unsigned length() const {
    return padded<Size>(static_cast<unsigned>(volume()) - 1, t.line_pad, t.block_pad) + 1;
  }
  constexpr std::size_t shared_bytes() const {
    std::size_t bytes = 0;
    for_each_step([&](const passes::kernel_step& s) {
      if (!is_turned(s)) return;
      const std::size_t size = size_of(s.type);
      bytes += size == 1   ? length<1>()
               : size == 2 ? 2 * length<2>()
               : size == 4 ? 4 * length<4>()
                           : 8 * length<8>();
      bytes = ceil_div(bytes, widest_access) * widest_access;
    });
    return bytes;
  }

  /// The most words of one bank that the first warp (of words of 8 bytes, half of it) asks for at once, the
  /// worse of both ways.
  template <unsigned Size>
  constexpr unsigned turns(unsigned line_pad, unsigned block_pad) const {
    constexpr unsigned in_word = shared_banks<Size>::in_word, banks = shared_banks<Size>::count;
    unsigned most = 0;
    for (const bool turned : {true, false}) {
      unsigned words[banks]{}, of_bank[banks]{}, lanes = 0;
      for (unsigned lane = 0; lane < banks; ++lane) {
        std::size_t i = std::size_t{lane} * (turned ? t.turned_vector : t.vector);
        if (i >= volume()) break;
        if (!turned) {
          std::size_t rest = i, to = 0;
          for (int axis = 0; axis < rank; ++axis) {
            std::size_t step = 1;
            for (std::size_t a = 0; t.order[a] != axis; ++a)
              step *= t.extents[static_cast<std::size_t>(t.order[a])];
            to += rest % t.extents[static_cast<std::size_t>(axis)] * step;
            rest /= t.extents[static_cast<std::size_t>(axis)];
          }
          i = to;
        }
        const unsigned word = padded<Size>(static_cast<unsigned>(i), line_pad, block_pad) / in_word;
        bool known = false;
        for (unsigned l = 0; l < lanes; ++l) known = known || words[l] == word;
        if (known) continue;
        words[lanes++] = word;
        if (++of_bank[word % banks] > most) most = of_bank[word % banks];
      }
    }
    return most;
  }
  template <unsigned Size>
  constexpr void choose_pads() {
    unsigned least = ~0u;
    for (unsigned line_pad = 1; line_pad <= 4; ++line_pad)
      for (unsigned block_pad = 0; block_pad <= 3 && least > 1; ++block_pad)
        if (const unsigned n = turns<Size>(line_pad, block_pad); n < least) {
          least = n;
          t.line_pad = line_pad;
          t.block_pad = block_pad;
        }
  }

  constexpr tiling find() {
    if (!find_order()) return t;
    bool has_rows = false;  // values of a row, which elements of two rows do not share
    std::size_t largest = 1, turned_size = 0;
    for_each_step([&](const passes::kernel_step& s) {
      has_rows = has_rows || (s.at == place::row && s.what != action::constant && s.what != action::compute);
      if (is_turned(s) && turned_size == 0) turned_size = size_of(s.type);
      if ((is_turned(s) || is_straight(s)) && size_of(s.type) > largest) largest = size_of(s.type);
    });
    for (std::size_t row = largest == 8 ? few_rows : tile_row; row >= few_rows && !t.applies; row /= 2) {
      choose_extents(row);
      t.vector = widest(false, has_rows, [](const passes::kernel_step& s) { return is_straight(s); });
      t.turned_vector = widest(true, false, [&](const passes::kernel_step& s) { return is_turned(s); });
      if (turned_size == 1)
        choose_pads<1>();
      else if (turned_size == 2)
        choose_pads<2>();
      else if (turned_size == 4)
        choose_pads<4>();
      else
        choose_pads<8>();
      std::size_t tiles = 1;
      for (int axis = 0; axis < rank; ++axis) tiles *= ceil_div(size(axis), extent(axis));
      t.applies = shared_bytes() <= block_memory && tiles <= 0x7fffffff;
    }
    return t;
  }
};

}  // namespace detail

/// How kernel `r` is cut into tiles.
template <class Product>
constexpr tiling find_tiling(const planning::plan_view<Product>& p, const kernel_record& r) {
  return detail::tile_finder<Product>{p, r}.find();
}

/// A tiling as a type: what a kernel's symbol says of it. Its extents are innermost first, as it counts axes.
template <unsigned Vector, unsigned TurnedVector, unsigned LinePad, unsigned BlockPad, class Extents,
          class Order>
struct tile {};

namespace detail {

template <class Program, class Geometry, class Tile, class Steps>
struct tiled_thread;
template <class Program, class Dealt, std::size_t... OuterSize, std::size_t... InnerSize,
          std::ptrdiff_t... Stride, unsigned Vector, unsigned TurnedVector, unsigned LinePad,
          unsigned BlockPad, std::size_t... Extent, int... Order, std::size_t... I>
struct tiled_thread<Program,
                    geometry<Dealt, extents<OuterSize...>, extents<InnerSize...>, strides<Stride...>>,
                    tile<Vector, TurnedVector, LinePad, BlockPad, extents<Extent...>, axis_order<Order...>>,
                    std::index_sequence<I...>> {
  using listed = listed_program<Program>;
  using arguments = typename fused<
      Program, geometry<Dealt, extents<OuterSize...>, extents<InnerSize...>, strides<Stride...>>>::arguments;
  static constexpr int rank = static_cast<int>(sizeof...(Extent));
  using turned_order = axis_order<Order...>;
  template <int... Axis>
  static constexpr auto count_up(std::integer_sequence<int, Axis...>) -> axis_order<Axis...>;
  using straight_order = decltype(count_up(std::make_integer_sequence<int, rank>{}));

  // By axis, from the innermost. Asked in constants alone: the device has no such arrays.
  static constexpr std::size_t size_of_axis(int axis) {
    const std::size_t all[] = {OuterSize..., InnerSize...};
    return all[rank - 1 - axis];
  }
  static constexpr std::size_t extent_of(int axis) {
    const std::size_t all[] = {Extent...};
    return all[axis];
  }
  static constexpr std::size_t tiles_along(int axis) { return ceil_div(size_of_axis(axis), extent_of(axis)); }
  /// The step from one of its elements to the next in the turned order.
  static constexpr std::ptrdiff_t turned_step(int axis) {
    const int order[] = {Order...};
    std::size_t step = 1;
    for (int i = 0; order[i] != axis; ++i) step *= extent_of(order[i]);
    return static_cast<std::ptrdiff_t>(step);
  }
  template <int A>
  struct strides_at {
    static constexpr std::ptrdiff_t at(int axis) {
      const std::ptrdiff_t all[] = {Stride...};
      return all[A * rank + rank - 1 - axis];
    }
  };
  struct turned_steps {
    static constexpr std::ptrdiff_t at(int axis) { return turned_step(axis); }
  };

  static constexpr unsigned volume = static_cast<unsigned>((Extent * ... * 1));
  static constexpr bool crosses =
      extent_of(0) % Vector != 0;  // a vector may begin on one row, end on the next
  static constexpr bool is_turned(const passes::kernel_step& s) {
    const int order[] = {Order...};
    const std::ptrdiff_t all[] = {Stride...};
    return strides_along_row(s) && all[s.a * rank + rank - 1 - order[0]] == 1;
  }
  /// Bytes of shared memory of the turned operands before step J.
  static constexpr std::size_t room_before(std::size_t j) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < j; ++i)
      if (is_turned(listed::steps[i])) bytes += room_of(listed::steps[i].type);
    return bytes;
  }
  static constexpr std::size_t room_of(dtype type) {
    const auto size = static_cast<unsigned>(napkin::size_of(type));
    return ceil_div(padded_length(size) * size, widest_access) * widest_access;
  }
  static constexpr std::size_t padded_length(unsigned size) {
    switch (size) {
      case 1:
        return padded<1>(volume - 1, LinePad, BlockPad) + 1;
      case 2:
        return padded<2>(volume - 1, LinePad, BlockPad) + 1;
      case 4:
        return padded<4>(volume - 1, LinePad, BlockPad) + 1;
      default:
        return padded<8>(volume - 1, LinePad, BlockPad) + 1;
    }
  }

  const arguments& k;
  std::byte* room;     // shared memory of the tile
  std::size_t number;  // of the tile
  unsigned lane;       // of the block

  // ---- positions: element i of the tile, in an order

  template <int Axis>
  static constexpr std::size_t tiles_before() {
    std::size_t n = 1;
    for (int a = 0; a < Axis; ++a) n *= tiles_along(a);
    return n;
  }
  /// Where the tile begins.
  template <int Axis>
  NAPKIN_DEVICE std::size_t origin() const {
    constexpr std::size_t before = tiles_before<Axis>(), along = tiles_along(Axis), extent = extent_of(Axis);
    return number / before % along * extent;
  }
  template <class By, int... Axis>
  NAPKIN_DEVICE std::ptrdiff_t tile_offset(axis_order<Axis...>) const {
    return (std::ptrdiff_t{0} + ... +
            (static_cast<std::ptrdiff_t>(origin<Axis>()) *
             std::integral_constant<std::ptrdiff_t, By::at(Axis)>::value));
  }
  template <class By, int... Axis>
  NAPKIN_DEVICE static std::ptrdiff_t offset_in(unsigned i, axis_order<Axis...>) {
    std::ptrdiff_t offset = 0;
    ((offset += static_cast<std::ptrdiff_t>(next<Axis>(i)) *
                std::integral_constant<std::ptrdiff_t, By::at(Axis)>::value),
     ...);
    return offset;
  }
  /// The coordinate along the fastest axis that is left in i, which is taken out of it.
  template <int Axis>
  NAPKIN_DEVICE static unsigned next(unsigned& i) {
    constexpr auto extent = static_cast<unsigned>(extent_of(Axis));
    const unsigned coordinate = i % extent;
    i /= extent;
    return coordinate;
  }
  /// Whether it is within the axes, past whose ends the last tiles reach.
  template <int... Axis>
  NAPKIN_DEVICE bool is_inside(unsigned i, axis_order<Axis...>) const {
    bool all = true;
    ((all = inside_axis<Axis>(next<Axis>(i)) && all), ...);
    return all;
  }
  template <int Axis>
  NAPKIN_DEVICE bool inside_axis(unsigned coordinate) const {
    constexpr std::size_t size = size_of_axis(Axis), extent = extent_of(Axis);
    if constexpr (size % extent == 0)
      return true;
    else
      return origin<Axis>() + coordinate < size;
  }
  template <int Axis>
  NAPKIN_DEVICE std::size_t coordinate(unsigned i) const {
    return origin<Axis>() + coordinate_in<Axis>(i, straight_order{});
  }
  template <int Wanted, int... Axis>
  NAPKIN_DEVICE static unsigned coordinate_in(unsigned i, axis_order<Axis...>) {
    unsigned found = 0;
    ((Axis == Wanted ? void(found = next<Axis>(i)) : void(next<Axis>(i))), ...);
    return found;
  }
  template <int A, class T>
  NAPKIN_DEVICE T* address() const {
    return reinterpret_cast<T*>(k.memory[A]) + tile_offset<strides_at<A>>(straight_order{});
  }

  // ---- into shared memory

  NAPKIN_DEVICE void fetch() { (fetch_step<I>(), ...); }
  template <std::size_t J>
  NAPKIN_DEVICE void fetch_step() {
    constexpr passes::kernel_step s = listed::steps[J];
    using T = type_of<s.type>;
    if constexpr (is_turned(s)) {
      constexpr unsigned n = at_once<T, TurnedVector>,
                         in_word = shared_banks<static_cast<unsigned>(sizeof(T))>::in_word,
                         piece = n < in_word ? n : in_word,
                         rounds = (volume / n + tile_threads - 1) / tile_threads;
      const T* const from = address<s.a, const T>();
      T* const to = reinterpret_cast<T*>(room + room_before(J));
      packed<T, n> held[rounds];  // all on their way before the first is waited for
      NAPKIN_UNROLL for (unsigned r = 0; r < rounds; ++r) {
        const unsigned i = (r * tile_threads + lane) * n;
        if (i < volume && is_inside(i, turned_order{}))
          held[r] =
              *reinterpret_cast<const packed<T, n>*>(from + offset_in<strides_at<s.a>>(i, turned_order{}));
      }
      NAPKIN_UNROLL for (unsigned r = 0; r < rounds; ++r) {
        const unsigned i = (r * tile_threads + lane) * n;
        if (i < volume && is_inside(i, turned_order{}))
          NAPKIN_UNROLL for (unsigned x = 0; x < n; x += piece) {
            packed<T, piece> word;
            NAPKIN_UNROLL for (unsigned y = 0; y < piece; ++y) word.x[y] = held[r].x[x + y];
            *reinterpret_cast<packed<T, piece>*>(
                to + padded<static_cast<unsigned>(sizeof(T))>(i, LinePad, BlockPad) + x) = word;
          }
      }
    }
  }

  // ---- out of it: all steps, `Vector` positions after another

  template <int J>
  NAPKIN_DEVICE static operand<listed::steps[J].type> operand_of(cell* values) {
    return {values + J * static_cast<int>(Vector), has_lanes(listed::steps[J]) ? 1u : 0u};
  }

  NAPKIN_DEVICE void run() {
    NAPKIN_ROLL for (unsigned i = lane * Vector; i < volume;
                     i += tile_threads * Vector) if (is_inside(i, straight_order{})) {
      cell values[listed::count * Vector];  // of step J from J * Vector on
      (run_step<I>(values, i), ...);
    }
  }
  /// Element i + v.
  template <class By>
  NAPKIN_DEVICE static std::ptrdiff_t offset_of_lane(unsigned i, unsigned v) {
    if constexpr (crosses)
      return offset_in<By>(i + v, straight_order{});
    else
      return offset_in<By>(i, straight_order{}) +
             static_cast<std::ptrdiff_t>(v) * std::integral_constant<std::ptrdiff_t, By::at(0)>::value;
  }
  template <int Axis>
  NAPKIN_DEVICE std::int64_t coordinate_of_lane(unsigned i, unsigned v) const {
    if constexpr (crosses)
      return static_cast<std::int64_t>(coordinate<Axis>(i + v));
    else
      return static_cast<std::int64_t>(coordinate<Axis>(i)) + (Axis == 0 ? v : 0);
  }
  template <std::size_t J>
  NAPKIN_DEVICE void run_step(cell* values, unsigned i) {
    constexpr passes::kernel_step s = listed::steps[J];
    constexpr unsigned count = has_lanes(listed::steps[J]) ? Vector : 1;
    using T = type_of<s.type>;
    cell* to = values + J * Vector;
    if constexpr (s.what == action::constant) {
      in<s.type>(*to) = rounded<s.type>(k.constants[s.a]);
    } else if constexpr (is_turned(s)) {
      const T* const from = reinterpret_cast<const T*>(room + room_before(J));
      NAPKIN_UNROLL for (unsigned v = 0; v < Vector; ++v) in<s.type>(to[v]) =
          loaded<s.type>(from[padded<static_cast<unsigned>(sizeof(T))>(
              static_cast<unsigned>(offset_of_lane<turned_steps>(i, v)), LinePad, BlockPad)]);
    } else if constexpr (s.what == action::load && s.along == pace::strided && s.at == place::element) {
      const T* const from = address<s.a, const T>();
      NAPKIN_UNROLL for (unsigned v = 0; v < Vector; ++v) in<s.type>(to[v]) =
          loaded<s.type>(from[offset_of_lane<strides_at<s.a>>(i, v)]);
    } else if constexpr (s.what == action::load) {
      load_adjacent<s.type, count>(to,
                                   address<s.a, const T>() + offset_in<strides_at<s.a>>(i, straight_order{}));
    } else if constexpr (s.what == action::iota) {
      constexpr int axis = rank - 1 - s.a;
      NAPKIN_UNROLL for (unsigned v = 0; v < count; ++v) in<s.type>(to[v]) =
          rounded<s.type>(coordinate_of_lane<axis>(i, v));
    } else if constexpr (s.what == action::store && s.along == pace::strided) {
      T* const at = address<s.a, T>();
      NAPKIN_UNROLL for (unsigned v = 0; v < Vector; ++v) at[offset_of_lane<strides_at<s.a>>(i, v)] =
          stored<s.type>(operand_of<s.b>(values)[v]);
    } else if constexpr (s.what == action::store) {
      store_adjacent<s.type, Vector>(address<s.a, T>() + offset_in<strides_at<s.a>>(i, straight_order{}),
                                     operand_of<s.b>(values));
    } else if constexpr (s.c >= 0) {
      compute<s.kind, s.type, count>(to, operand_of<s.a>(values), operand_of<s.b>(values),
                                     operand_of<s.c>(values));
    } else if constexpr (s.b >= 0) {
      compute<s.kind, s.type, count>(to, operand_of<s.a>(values), operand_of<s.b>(values));
    } else {
      compute<s.kind, s.type, count>(to, operand_of<s.a>(values));
    }
  }
};

}  // namespace detail

/// A kernel in tiles: each block of `tile_threads` threads fetches one into `shared_bytes` of shared memory,
/// and computes it when all of it is there.
template <class Program, class Geometry, class Tile>
struct tiled {
  using listed = detail::listed_program<Program>;
  using thread = detail::tiled_thread<Program, Geometry, Tile, std::make_index_sequence<listed::count>>;
  using arguments = typename thread::arguments;
  using dealt = typename fused<Program, Geometry>::dealt;
  static constexpr std::size_t shared_bytes = thread::room_before(listed::count);
  static constexpr std::size_t blocks = thread::template tiles_before<thread::rank>();
};

namespace detail {

template <class Plan, int K>
struct tile_of {
  static constexpr tiling found = find_tiling(Plan::view(), kernel_of<Plan, K>::record);
  template <class Axes>
  struct whole;
  template <int... Axis>
  struct whole<std::integer_sequence<int, Axis...>> {
    using type = tile<found.vector, found.turned_vector, found.line_pad, found.block_pad,
                      extents<found.extents[Axis]...>, axis_order<found.order[Axis]...>>;
  };
  using type = typename whole<std::make_integer_sequence<int, static_cast<int>(found.extents.size())>>::type;
};

/// Whether kernels in tiles are thought of at all: a plan that turns nothing is not looked through for them.
template <class Program>
constexpr bool may_be_tiled() {
  for (const passes::kernel_step& s : listed_program<Program>::steps)
    if (strides_along_row(s)) return true;
  return false;
}

template <class Plan, int K, class Program, class Geometry, bool MayBeTiled>
struct kernel_chosen {
  using type = fused<Program, Geometry>;
};
template <class Plan, int K, class Program, class Geometry>
requires(tile_of<Plan, K>::found.applies) struct kernel_chosen<Plan, K, Program, Geometry, true> {
  using type = tiled<Program, Geometry, typename tile_of<Plan, K>::type>;
};

}  // namespace detail

/// How kernel K of a frozen plan is run: in tiles where an operand lies turned, else row by row.
template <class Plan, int K, class Program, class Geometry>
using chosen_kernel =
    typename detail::kernel_chosen<Plan, K, Program, Geometry, detail::may_be_tiled<Program>()>::type;

}  // namespace napkin::on_cuda
