// pack and unpack: tensors of different ranks behind one another along one axis, and back. What they shared
// stands in the pattern, what was packed in a type, packed_shapes.
#pragma once

#include <tuple>

#include "napkin/ops/pattern.hpp"
#include "napkin/ops/reshape.hpp"

namespace napkin {

namespace rule {
/// call<"pack">
template <class... Facts>
struct nothing_to_pack {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "pack: there is nothing to pack: give at least one tensor");
};
/// axis<packed>, has_size<N>, but_size<M>, to<shapes...>
template <class... Facts>
struct packed_shapes_do_not_add_up {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "unpack: the shapes do not add up to the size of the packed axis: each counts the product of its "
      "sizes");
};
/// axis<D>, has_size<N>, but_size<M>
template <class... Facts>
struct packed_axis_has_another_size {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "pack: the axis that is to be the packed one has another size than the operands");
};
/// axis<packed>, to<shapes...>
template <class... Facts>
struct two_inferred_axes {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "unpack: only one axis of the shapes can be inferred; give the others' sizes");
};
/// type<what was given>
template <class... Facts>
struct not_packed_shapes {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "unpack: the second argument is what pack gave beside the tensor, packed_shapes<axes<...>...>");
};
}  // namespace rule

/// What stood under `*` in each operand of pack: a list of axes, empty where there was none.
template <class... Shapes>
struct packed_shapes {
  static constexpr std::size_t count = sizeof...(Shapes);
};

/// In the shapes that unpack is given, an axis of the size that the others leave over: -1 in einops.
template <fixed_string Name>
struct inferred {
  using inferred_tag = void;
  template <std::size_t Size>
  using sized = detail::spelled_dim<Name, Size>;
};

/// What pack gives: auto [packed, shapes] = pack<"batch * embed">(cls, patches).
template <class X, class Shapes>
struct packing {
  X packed;
  [[no_unique_address]] Shapes shapes;
};

namespace detail {

template <class>
struct in_place_of {  // not an alias that drops its argument: nvcc 13 does not expand such a one
  using no_axes = axes<>;
  using nothing = failed;
};
/// After a mistake: as many shapes as operands, so that what unpacks them is no second one.
template <class... Xs>
using failed_packing = packing<failed, packed_shapes<typename in_place_of<Xs>::no_axes...>>;

template <fixed_string Pattern, class... Operands>
struct pack_binding {
  template <std::size_t K>
  using operand_axes = typename nth_type<K, Operands...>::type;
  static constexpr pattern::pack_meaning make() {
    const pattern::operand_view operands[] = {pattern::operand_view(axis_views<Operands>::value)...};
    return pattern::bind_pack(text_of<Pattern>, operands);
  }
  static constexpr pattern::pack_meaning bound = make();
  static constexpr pattern::meaning value = bound.value;
};
template <fixed_string Pattern, class Packed>
struct unpack_binding {
  template <std::size_t>
  using operand_axes = Packed;
  static constexpr pattern::pack_meaning bound =
      pattern::bind_unpack(text_of<Pattern>, pattern::operand_view(axis_views<Packed>::value));
  static constexpr pattern::meaning value = bound.value;
};

/// The labelled axes of a pattern that fits, and what stands between them.
template <class Binding>
struct axes_around_star {
  static constexpr std::size_t before = Binding::bound.before;
  static constexpr std::size_t after = Binding::value.labels.size() - before;
  using labelled = typename result_axes<Binding>::type;  // no binding here has `plain`
  template <class Axes>
  using under_star = axes_between<Axes, before, Axes::rank - after>;
  template <class Middle>
  using with =
      joined_axes<axes_between<labelled, 0, before>, Middle, axes_between<labelled, before, before + after>>;
};

template <class Around, std::size_t Count>
struct pack_op {
  using called = fact::call<"pack">;
  static constexpr std::int32_t emit(builder& b, const std::int32_t* xs) {
    constexpr std::size_t star = Around::before;
    std::int32_t parts[Count]{};
    for (std::size_t k = 0; k < Count; ++k) {
      const shape s = b.shape_of(xs[k]);
      const std::size_t last = s.size() - Around::after;
      shape flat;
      for (std::size_t i = 0; i != star; ++i) flat.push_back(s[i]);
      flat.push_back(1);
      for (std::size_t i = star; i < last; ++i) flat[star] *= s[i];
      for (std::size_t i = last; i < s.size(); ++i) flat.push_back(s[i]);
      parts[k] = b.reshape(xs[k], flat);
    }
    return Count == 1 ? parts[0] : b.concat({parts, Count}, static_cast<int>(star));
  }
};

/// The packed axis: Named::of<size>, and what is wrong with that.
template <fixed_string Name>
struct packed_axis_called {
  template <std::size_t Size>
  using of = spelled_dim<Name, Size>;
  template <std::size_t>
  static constexpr auto find_mistake() {
    if constexpr (is_axis_name(Name.view()))
      return std::type_identity<accepted>{};
    else
      return std::type_identity<rule::not_a_name<fact::call<"pack">, fact::named<Name>>>{};
  }
};
template <class D>
struct packed_axis_given {
  template <std::size_t>
  using of = D;
  template <std::size_t Size>
  static constexpr auto find_mistake() {
    if constexpr (!D::dynamic && D::size == Size)
      return std::type_identity<accepted>{};
    else
      return std::type_identity<
          rule::packed_axis_has_another_size<fact::axis<D>, fact::has_size<D::size>, fact::but_size<Size>>>{};
  }
};

/// What is wrong with a pack whose pattern fits, and its making.
template <class Binding, class Named, class X, class... Xs>
struct fitting_pack {
  using around = axes_around_star<Binding>;
  using T = typename X::element;
  static constexpr std::size_t size = (size_of_all(typename around::template under_star<axes_of<X>>{}) + ... +
                                       size_of_all(typename around::template under_star<axes_of<Xs>>{}));

  static constexpr auto find_mistake() {
    constexpr auto of_axis = Named::template find_mistake<size>();
    if constexpr ((some_dynamic(typename around::template under_star<axes_of<X>>{}) || ... ||
                   some_dynamic(typename around::template under_star<axes_of<Xs>>{})))
      return find_first_run_time_axis<fact::call<"pack">, typename around::template under_star<axes_of<X>>,
                                      typename around::template under_star<axes_of<Xs>>...>();
    else if constexpr (is_mistake<typename decltype(of_axis)::type>)
      return of_axis;
    else if constexpr (!(std::is_same_v<T, typename Xs::element> && ...))
      return std::type_identity<
          rule::operands_differ_in_dtype<fact::call<"pack">, fact::of_type<dtype_of<T>>,
                                         fact::of_type<dtype_of<typename Xs::element>>...>>{};
    else if constexpr (!distinct<typename around::template with<axes<typename Named::template of<size>>>>)
      return find_repetition<"pack">(
          typename around::template with<axes<typename Named::template of<size>>>{});
    else
      return find_operation_mistake<fact::call<"pack">, axes<>, X, Xs...>();
  }
  static constexpr auto make(const X& x, const Xs&... xs) {
    using to = typename around::template with<axes<typename Named::template of<size>>>;
    using op = pack_op<around, 1 + sizeof...(Xs)>;
    using packed = decltype(apply<op, T, to>(x, xs...));
    using shapes = packed_shapes<typename around::template under_star<axes_of<X>>,
                                 typename around::template under_star<axes_of<Xs>>...>;
    return packing<packed, shapes>{apply<op, T, to>(x, xs...), {}};
  }
};

template <fixed_string Pattern, class Named, class... Xs>
struct pack_of {
  static constexpr auto find_mistake() {
    if constexpr (sizeof...(Xs) == 0) {
      return std::type_identity<rule::nothing_to_pack<fact::call<"pack">, fact::named<Pattern>>>{};
    } else if constexpr ((is_failed<Xs> || ...)) {
      return std::type_identity<silent>{};
    } else if constexpr (!(Operand<Xs> && ...)) {
      return std::type_identity<rule::argument_is_no_tensor<fact::call<"pack">, fact::type<Xs>...>>{};
    } else {
      using binding = pack_binding<Pattern, axes_of<Xs>...>;
      if constexpr (binding::value.why)
        return find_pattern_mistake<binding, fact::call<"pack">>();
      else
        return fitting_pack<binding, Named, Xs...>::find_mistake();
    }
  }
  using mistake = typename decltype(find_mistake())::type;
  static constexpr auto make(const Xs&... xs) {
    return fitting_pack<pack_binding<Pattern, axes_of<Xs>...>, Named, Xs...>::make(xs...);
  }
};

// ---- unpack

template <class D>
concept InferredAxis = requires {
  typename D::inferred_tag;
};
template <class D>
constexpr std::size_t size_if_known() {
  if constexpr (InferredAxis<D>)
    return 1;
  else
    return D::size;
}
template <class D, std::size_t Size>
constexpr auto with_size() {
  if constexpr (InferredAxis<D>)
    return std::type_identity<typename D::template sized<Size>>{};
  else
    return std::type_identity<D>{};
}
template <class Shape>
struct piece;
template <class... Ds>
struct piece<axes<Ds...>> {
  static constexpr std::size_t known = (std::size_t{1} * ... * size_if_known<Ds>());
  static constexpr std::size_t open = (std::size_t{0} + ... + (InferredAxis<Ds> ? 1u : 0u));
  template <std::size_t Size>
  using with = axes<typename decltype(with_size<Ds, Size>())::type...>;
};

/// How the pieces divide an axis of Size elements.
template <std::size_t Size, class... Shapes>
struct division {
  static constexpr std::size_t count = sizeof...(Shapes);
  static constexpr std::size_t open = (std::size_t{0} + ... + piece<Shapes>::open);
  static constexpr std::size_t taken =
      (std::size_t{0} + ... + (piece<Shapes>::open == 0 ? piece<Shapes>::known : 0));
  static constexpr std::size_t beside =
      (std::size_t{1} * ... * (piece<Shapes>::open == 0 ? 1 : piece<Shapes>::known));
  static constexpr bool good =
      open == 0 ? taken == Size : taken <= Size && beside != 0 && (Size - taken) % beside == 0;
  static constexpr std::size_t rest = good && open == 1 ? (Size - taken) / beside : 0;
  template <class Shape>
  using resolved = typename piece<Shape>::template with<rest>;
  static constexpr std::array<std::size_t, count> begins() {
    std::array<std::size_t, count> at{};
    std::size_t next = 0, i = 0;
    ((at[i++] = next, next += size_of_all(resolved<Shapes>{})), ...);
    return at;
  }
};

/// Elements from Begin on of the packed axis, under the axes Piece.
template <class Around, class Axes, std::size_t Begin, class Piece>
struct unpack_move {
  using to = typename Around::template with<Piece>;
  static constexpr move make() {
    move m = slice_move(shape_over<Axes>, Around::before, Begin, 1, size_of_all(Piece{}));
    m.reshapes = true;
    m.result = shape_over<to>;
    m.size_from.clear();
    for (std::size_t i = 0; i != Around::before; ++i) m.size_from.push_back(static_cast<std::int32_t>(i));
    for (std::size_t i = 0; i != Piece::rank; ++i) m.size_from.push_back(-1);
    for (std::size_t i = Around::before + 1; i != Axes::rank; ++i)
      m.size_from.push_back(static_cast<std::int32_t>(i));
    return m;
  }
  static constexpr move value = make();
};

template <class Around, class Division, class X, class... Shapes, std::size_t... I>
constexpr auto pieces_of(const X& x, std::index_sequence<I...>) {
  constexpr auto begins = Division::begins();
  return std::make_tuple(
      moved<unpack_move<Around, axes_of<X>, begins[I], typename Division::template resolved<Shapes>>>(x)...);
}
template <class Around, class Piece, class... Pieces>
constexpr auto find_first_repetition() {
  using to = typename Around::template with<Piece>;
  if constexpr (!distinct<to>)
    return find_repetition<"unpack">(to{});
  else if constexpr (sizeof...(Pieces) == 0)
    return std::type_identity<accepted>{};
  else
    return find_first_repetition<Around, Pieces...>();
}

/// What is wrong with an unpack whose pattern fits, and its making.
template <class Binding, class X, class... Shapes>
struct fitting_unpack {
  using around = axes_around_star<Binding>;
  using D = typename nth_axis<axes_of<X>, around::before>::type;
  using parts = division<D::size, Shapes...>;

  static constexpr auto find_mistake() {
    if constexpr (D::dynamic)
      return std::type_identity<rule::axis_sized_at_run_time<fact::call<"unpack">, fact::axis<D>>>{};
    else if constexpr (parts::open > 1)
      return std::type_identity<rule::two_inferred_axes<fact::axis<D>, fact::to<Shapes...>>>{};
    else if constexpr (!parts::good)
      return std::type_identity<rule::packed_shapes_do_not_add_up<
          fact::axis<D>, fact::has_size<D::size>, fact::but_size<parts::taken>, fact::to<Shapes...>>>{};
    else if constexpr (sizeof...(Shapes) == 0)
      return std::type_identity<accepted>{};
    else
      return find_first_repetition<around, typename parts::template resolved<Shapes>...>();
  }
  static constexpr auto make(const X& x) {
    return pieces_of<around, parts, X, Shapes...>(x, std::index_sequence_for<Shapes...>{});
  }
};

template <fixed_string Pattern, class X, class... Shapes>
struct unpack_of {
  static constexpr auto find_mistake() {
    if constexpr (is_failed<X>) {
      return std::type_identity<silent>{};
    } else if constexpr (!Operand<X>) {
      return std::type_identity<rule::argument_is_no_tensor<fact::call<"unpack">, fact::type<X>>>{};
    } else {
      using binding = unpack_binding<Pattern, axes_of<X>>;
      if constexpr (binding::value.why)
        return find_pattern_mistake<binding, fact::call<"unpack">>();
      else
        return fitting_unpack<binding, X, Shapes...>::find_mistake();
    }
  }
  using mistake = typename decltype(find_mistake())::type;
  static constexpr auto make(const X& x) {
    return fitting_unpack<unpack_binding<Pattern, axes_of<X>>, X, Shapes...>::make(x);
  }
};

/// After a mistake: as many pieces as shapes.
template <class... Shapes>
constexpr auto failed_pieces(const failed&) {
  return std::tuple<typename in_place_of<Shapes>::nothing...>{};
}

}  // namespace detail

/// Tensors of different ranks behind one another: what `*` stands for in each is flattened, and joined along
/// one new axis, called "packed" or as the second argument says, a name or an axis.
///
/// Shape     "batch * embed": (batch, embed), (batch, h, w, embed) -> (batch, packed=1+h*w, embed), and the
///           shapes packed_shapes<axes<>, axes<h, w>>
/// Cost      one copy
/// Gradient  a slice for each operand
/// Rules     those of patterns about names; the operands' dtypes are one
/// Source    einops.pack
/// Example   auto [tokens, shapes] = nk::pack<"batch * embed", "token">(cls, patches);
template <fixed_string Pattern, fixed_string Name = fixed_string("packed"), class... Xs>
constexpr auto pack(const Xs&... xs) {
  using pack = detail::pack_of<Pattern, detail::spelled<detail::packed_axis_called, Name>, Xs...>;
  if constexpr (is_mistake<typename pack::mistake>)
    return detail::failed_packing<Xs...>{pack::mistake::raise(), {}};
  else
    return pack::make(xs...);
}
template <fixed_string Pattern, Axis Packed, class... Xs>
constexpr auto pack(const Xs&... xs) {
  using pack = detail::pack_of<Pattern, detail::packed_axis_given<Packed>, Xs...>;
  if constexpr (is_mistake<typename pack::mistake>)
    return detail::failed_packing<Xs...>{pack::mistake::raise(), {}};
  else
    return pack::make(xs...);
}
template <class... Xs>
constexpr auto pack(const Xs&...) {  // a pattern as an argument: refused
  return detail::failed_packing<Xs...>{detail::arguments_refused<"pack", Xs...>::raise(), {}};
}

/// The tensors that were packed: one for each shape, along the axis at which `*` stands. Of tensors and views
/// the pieces are views where strides can say it.
///
/// Shape     "batch * embed": (batch, packed=1+h*w, embed) -> (batch, embed), (batch, h, w, embed)
/// Gradient  zeros around what comes back of each
/// Rules     the shapes add up to the size of the axis; one of their axes may be inferred<"name">
/// Source    einops.unpack
/// Example   auto [cls, patches] = nk::unpack<"batch * embed">(tokens, shapes);
template <fixed_string Pattern, class X, class... Shapes>
constexpr auto unpack(const X& x, packed_shapes<Shapes...>) {
  using unpack = detail::unpack_of<Pattern, X, Shapes...>;
  if constexpr (is_mistake<typename unpack::mistake>)
    return detail::failed_pieces<Shapes...>(unpack::mistake::raise());
  else
    return unpack::make(x);
}
template <fixed_string Pattern, class X, class... Wrong>
constexpr auto unpack(const X&, const Wrong&...) {  // refused
  if constexpr (is_failed<X> || (is_failed<Wrong> || ...))
    return failed{};
  else
    return rule::not_packed_shapes<fact::call<"unpack">, fact::type<Wrong>...>::raise(
        detail::by<X, Wrong...>);
}
template <class... Xs>
constexpr auto unpack(const Xs&...) {  // refused
  return detail::arguments_refused<"unpack", Xs...>::raise(detail::by<Xs...>);
}

}  // namespace napkin
