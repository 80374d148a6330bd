// A plan as a constant of exactly its size: what a program holds, and what its static_asserts ask.
#pragma once

#include <array>
#include <type_traits>

#include "napkin/cost/backend.hpp"
#include "napkin/passes/product_options.hpp"
#include "napkin/plan/planner.hpp"
#include "napkin/plan/recomputed.hpp"
#include "napkin/plan/repeat.hpp"
#include "napkin/plan/settle_in_stages.hpp"

namespace napkin::planning {

template <class Product, plan_sizes S>
struct static_plan {
  std::array<program_record, S.programs> programs{};
  std::array<passes::kernel_step, S.steps> steps{};
  std::array<kernel_record, S.kernels> kernels{};
  std::array<access_record, S.accesses> accesses{};
  std::array<column_record, S.columns> columns{};
  std::array<Product, S.products> products{};
  std::array<contraction_record, S.contractions> contractions{};
  std::array<movement_record, S.movements> movements{};
  std::array<instruction, S.instructions> instructions{};
  std::array<std::size_t, S.sizes> sizes{};
  std::array<std::ptrdiff_t, S.strides> strides{};
  std::array<std::size_t, S.slots> slots{};
  std::array<double, S.constants> constants{};
  std::array<std::int32_t, S.members> members{};
  std::array<passes::lifetime, S.lives> lives{};
  std::array<workspace_record, S.workspaces> workspaces{};
  std::array<attention_record, S.attentions> attentions{};
  plan_sizes counts = S;
  std::size_t peak = 0, lower_bound = 0;

  constexpr static_plan() = default;
  constexpr explicit static_plan(const plan_view<Product>& p) { take(p); }

  constexpr void take(const plan_view<Product>& p) {
    counts = p.count;
    peak = p.peak;
    lower_bound = p.lower_bound;
    copy_run(p.programs, counts.programs, programs.data());
    copy_run(p.steps, counts.steps, steps.data());
    copy_run(p.kernels, counts.kernels, kernels.data());
    copy_run(p.accesses, counts.accesses, accesses.data());
    copy_run(p.columns, counts.columns, columns.data());
    copy_run(p.products, counts.products, products.data());
    copy_run(p.contractions, counts.contractions, contractions.data());
    copy_run(p.movements, counts.movements, movements.data());
    copy_run(p.instructions, counts.instructions, instructions.data());
    copy_run(p.sizes, counts.sizes, sizes.data());
    copy_run(p.strides, counts.strides, strides.data());
    copy_run(p.slots, counts.slots, slots.data());
    copy_run(p.constants, counts.constants, constants.data());
    copy_run(p.members, counts.members, members.data());
    copy_run(p.lives, counts.lives, lives.data());
    copy_run(p.workspaces, counts.workspaces, workspaces.data());
    copy_run(p.attentions, counts.attentions, attentions.data());
  }
  constexpr plan_view<Product> view() const {
    return {programs.data(),
            steps.data(),
            kernels.data(),
            accesses.data(),
            columns.data(),
            products.data(),
            contractions.data(),
            movements.data(),
            instructions.data(),
            sizes.data(),
            strides.data(),
            slots.data(),
            constants.data(),
            members.data(),
            lives.data(),
            workspaces.data(),
            attentions.data(),
            counts,
            peak,
            lower_bound};
  }
};

namespace detail {

/// More than a graph's plan takes, but for graphs that are all odd ends: those are planned twice.
constexpr plan_sizes room_for_plan(const graph_view& g) {
  std::size_t computed = 0, contractions = 0, movements = 0, attentions = 0;
  for (std::size_t id = 0; id < g.node_count; ++id) {
    const op o = g.nodes[id].kind;
    if (is_elementwise(o) || is_reduction(o))
      ++computed;
    else if (o == op::einsum)
      ++contractions;
    else if (o == op::concat)
      movements += static_cast<std::size_t>(g.nodes[id].arity);
    else if (o == op::pad || o == op::gather || o == op::scatter_add)
      ++movements;
    else if (category_of(o) == category::attention)
      ++attentions;
  }
  // The first of a pair is what an expression of a few operations takes, the second what a large graph does.
  const auto least = [](std::size_t small, std::size_t large) { return small < large ? small : large; };
  const std::size_t kernels = least(computed, computed / 2 + 16);
  const std::size_t units = kernels + contractions + movements + attentions;
  plan_sizes s{};
  s.programs = least(kernels, kernels / 2 + 8);
  s.steps = least(8 * computed + 8, 2048);
  s.kernels = kernels;
  s.accesses = least(3 * computed + 4, 2 * kernels + 16);
  s.columns = least(computed, kernels / 2);
  s.products = least(contractions, contractions / 4 + 24);
  s.contractions = contractions;
  s.movements = movements;
  s.instructions = units;
  s.sizes = 2 * kernels + 4;
  s.strides = least(8 * computed + 16, 6 * kernels + 16);
  s.slots = least(computed, kernels / 2);
  s.constants = least(2 * computed, 2 * kernels + 16);
  s.members = least(computed + 4, 2 * kernels + 64);
  s.lives = 2 * units;
  s.workspaces = kernels + contractions + movements;
  s.attentions = attentions;
  return s;
}
constexpr bool fits(const plan_sizes& s, const plan_sizes& room) {
  return s.programs <= room.programs && s.steps <= room.steps && s.kernels <= room.kernels &&
         s.accesses <= room.accesses && s.columns <= room.columns && s.products <= room.products &&
         s.contractions <= room.contractions && s.movements <= room.movements &&
         s.instructions <= room.instructions && s.sizes <= room.sizes && s.strides <= room.strides &&
         s.slots <= room.slots && s.constants <= room.constants && s.members <= room.members &&
         s.lives <= room.lives && s.workspaces <= room.workspaces && s.attentions <= room.attentions;
}

/// The unsettled plan of a graph, or, if it does not fit in the room given, its counts alone.
template <class Target, plan_sizes Room>
constexpr static_plan<typename Target::product, Room> plan_into_room(const graph_view& lowered,
                                                                     plan_options options) {
  plan<typename Target::product> planned;
  make_unsettled_plan<Target>(lowered, options, planned);
  const plan_sizes count = planned.counts();
  static_plan<typename Target::product, Room> made;
  if (fits(count, Room))
    made.take(view_of(planned, count));
  else
    made.counts = count;
  return made;
}

}  // namespace detail

/// The plan of a graph, made once: into room for it, and from there, settled, into arrays of its size. Each
/// stage is one constant evaluation, so that none passes the compilers' default limits.
template <class Target, class Make, plan_options Options>
struct whole_plan {
  using product = typename Target::product;
  struct lowered_whole {
    static constexpr graph_sizes capacity =
        room_for(frozen<Make>::view().sizes(), 1, frozen<Make>::view().output_count);
    static constexpr napkin::graph make() {
      return lower_graph<Target>(frozen<Make>::view(), Options, simplified);
    }
    static constexpr bool simplified = requires { Make::simplified; };
  };
  /// The same with what pays made again in the backward pass.
  struct lowered_made_again {
    static constexpr graph_sizes capacity =
        room_for(frozen<lowered_whole>::view().sizes(), 2, frozen<lowered_whole>::view().output_count);
    static constexpr napkin::graph make() {
      return make_again<Target>(frozen<lowered_whole>::view(), Options);
    }
  };
  /// Of an expression: made and lowered at once, in room for a few operations.
  struct lowered_at_once {
    static constexpr graph_sizes capacity{16, 16, 96, 1};
    static constexpr napkin::graph make() {
      return lower_simplified<Target>(Make::make_simplified(), Options);
    }
  };
  /// Of a `recomputing`.
  struct lowered_again {
    template <class M>
    using kept = whole_plan<Target, typename M::recomputed_from, Options>;
    template <class M = Make>
    static constexpr const auto& choices() {
      return choices_of<kept<M>, typename M::recomputed_from, fusing<Target>(Options.fuse)>;
    }
    template <class M>
    static constexpr graph_sizes find_capacity() {
      return room_for(kept<M>::graph().sizes(), 2, kept<M>::graph().output_count);
    }
    static constexpr graph_sizes capacity = find_capacity<Make>();
    template <class M = Make>
    static constexpr napkin::graph make() {
      const auto& table = choices<M>();
      return passes::recompute(kept<M>::graph(), halves_in<kept<M>, fusing<Target>(Options.fuse)>.halves(),
                               table.chosen(M::choice < table.count ? M::choice : table.count - 1));
    }
  };
  static constexpr auto choose_lowered() {
    if constexpr (requires { typename Make::recomputed_from; })
      return std::type_identity<lowered_again>{};
    else if constexpr (requires { Make::make_simplified(); })
      return std::type_identity<lowered_at_once>{};
    else if constexpr (may_make_again(frozen<lowered_whole>::view(), Options))
      return std::type_identity<lowered_made_again>{};
    else
      return std::type_identity<lowered_whole>{};
  }
  using lowered = typename decltype(choose_lowered())::type;
  static constexpr graph_view graph() { return frozen<lowered>::view(); }

  static constexpr plan_sizes room = detail::room_for_plan(graph());
  static constexpr static_plan<product, room> roomy = detail::plan_into_room<Target, room>(graph(), Options);
  static constexpr plan_view<product> unsettled() {
    if constexpr (detail::fits(roomy.counts, room))
      return roomy.view();
    else
      return exact::plan.view();
  }
  static constexpr static_plan<product, roomy.counts> make() {
    return static_plan<product, roomy.counts>(unsettled());
  }
  static constexpr static_plan<product, roomy.counts> make_value() {
    if constexpr (roomy.counts.lives >= lives_of_large_plan) {
      return settled_in_stages<product, whole_plan>::make();
    } else {
      static_plan<product, roomy.counts> p = make();
      if (p.counts.lives == 0) return p;  // as of most expressions
      settle<product>(p, p.counts);
      return p;
    }
  }
  struct settled {  // by itself: a plan of a few layers is not
    static constexpr auto value = make_value();
  };

 private:
  struct exact {
    static constexpr static_plan<product, roomy.counts> plan{
        view_of(make_unsettled_plan<Target>(graph(), Options))};
  };
};

/// The plan of a graph of many equal layers, made of one of a few: `Shortened` makes that, and says in `cut`
/// what it lacks.
template <class Target, class Shortened, plan_options Options>
struct repeated_plan {
  using product = typename Target::product;
  using few = whole_plan<Target, Shortened, Options>;
  using lowered = typename few::lowered;
  static constexpr left_out cut = Shortened::cut;
  static constexpr graph_view graph() { return few::graph(); }

  static constexpr plan_runs runs = find_runs(few::unsettled(), cut);
  static constexpr plan_sizes sizes = sizes_repeated(few::unsettled(), cut, runs);
  static constexpr static_plan<product, sizes> make_unsettled() {
    static_plan<product, sizes> made;
    made.counts = {};
    take(repeat_runs(few::unsettled(), cut, runs, sizes), made);
    return made;
  }
  static constexpr static_plan<product, sizes> unsettled = make_unsettled();
  /// No instructions: the layers are not all alike.
  static constexpr static_plan<product, sizes> make() { return unsettled; }
  static constexpr static_plan<product, sizes> make_value() {
    if constexpr (unsettled.counts.lives >= lives_of_large_plan) {
      return settled_in_stages<product, repeated_plan>::make();
    } else {
      static_plan<product, sizes> p = make();
      if (p.counts.lives == 0) return p;
      settle<product>(p, p.counts);
      return p;
    }
  }
  struct settled {
    static constexpr auto value = make_value();
  };

 private:
  /// Of a call, not of a variable: compilers evaluate what a variable begins with once more by itself.
  static constexpr void take(const plan<product>& whole, static_plan<product, sizes>& made) {
    if (detail::fits(whole.counts(), sizes) && whole.instructions.size() == sizes.instructions)
      made.take(view_of(whole));
  }
};

namespace detail {

/// Is a graph with that few layers, and enough of them for its plan to show how the others are done? Layers
/// shorter than fusion reaches may be fused otherwise where there are more of them.
template <class Target, class Shortened, plan_options Options>
constexpr bool can_repeat() {
  using repeated = repeated_plan<Target, Shortened, Options>;
  if constexpr (Shortened::cut.copies == 0 || Shortened::cut.nodes < Options.fuse.reach)
    return false;
  else if constexpr (!repeated::runs.found)
    return false;
  else
    return repeated::settled::value.counts.instructions > 0;
}

// What is planned: of a transformer, the first layer, one that stands for all others, and the last do; of a
// graph whose layers share more across their borders, some more. Where values are made again it takes one
// more: what goes into the first layer is read once more, and comes from elsewhere than what goes into
// others.
using passes::few_layers;
inline constexpr std::int32_t one_more_layer = 4, some_layers = 6;

template <class Make>
inline constexpr bool is_recomputing = requires {
  typename Make::recomputed_from;
};

/// The first of these numbers of layers that shows how the others are done; 0: none does.
template <class Target, class Make, plan_options Options, std::int32_t Layers, std::int32_t... More>
constexpr std::int32_t choose_layers() {
  if constexpr (can_repeat<Target, typename Make::template shortened<Layers>, Options>())
    return Layers;
  else if constexpr (sizeof...(More) > 0)
    return choose_layers<Target, Make, Options, More...>();
  else
    return 0;
}
template <class Target, class Make, plan_options Options>
constexpr std::int32_t find_layers() {
  if constexpr (!requires { typename Make::template shortened<few_layers>; })
    return 0;
  else if constexpr (is_recomputing<Make>)
    return choose_layers<Target, Make, Options, one_more_layer, some_layers>();
  else
    return choose_layers<Target, Make, Options, few_layers, some_layers>();
}
template <class Target, class Make, plan_options Options, std::int32_t Layers>
constexpr auto choose_plan() {
  if constexpr (Layers > 0)
    return std::type_identity<repeated_plan<Target, typename Make::template shortened<Layers>, Options>>{};
  else
    return std::type_identity<whole_plan<Target, Make, Options>>{};
}

}  // namespace detail

/// Make, and what a device may do in its products: passes::product_options, as numbers, since nvcc misspells
/// a struct among a type's arguments.
template <class Make, bool TF32, bool AddsFast>
struct multiplying : Make {
  static constexpr passes::product_options products{.tf32 = TF32, .adds_fast = AddsFast};
};
template <class Make, passes::product_options Products>
using with_products = std::conditional_t<Products == passes::product_options{}, Make,
                                         multiplying<Make, Products.tf32, Products.adds_fast>>;

// A function: nvcc takes no two constrained specializations of a variable.
template <class Make>
constexpr passes::product_options products_of() {
  if constexpr (requires { Make::products; })
    return Make::products;
  else if constexpr (requires { typename Make::recomputed_from; })
    return products_of<typename Make::recomputed_from>();
  else
    return {};
}

/// `Make::make()` returns the graph to run. Where `Make::shortened` says how, equal layers are planned once
/// and repeated.
template <class Target, class Make, plan_options Options = plan_options{}>
struct frozen_plan {
  /// Of equal layers, how many it was made of; 0: of all there are.
  static constexpr std::int32_t layers = detail::find_layers<Target, Make, Options>();

 private:
  using made = typename decltype(detail::choose_plan<Target, Make, Options, layers>())::type;

 public:
  /// What was lowered; of equal layers a few.
  static constexpr graph_view graph() { return made::graph(); }
  /// Choices of what else its backward pass may make again. None of them is planned for it: its graph has as
  /// many layers as their plans are made of first.
  static constexpr const auto& choices() {
    return decltype(choose_graph<recomputing<Make, 1>>())::type::lowered::choices();
  }
  static constexpr const auto& value = made::settled::value;
  static constexpr const plan_view<typename Target::product>& view() { return viewed; }

 private:
  template <class Again>
  static constexpr auto choose_graph() {
    constexpr std::int32_t few = layers > detail::one_more_layer ? layers : detail::one_more_layer;
    if constexpr (layers == 0)
      return std::type_identity<whole_plan<Target, Again, Options>>{};
    else if constexpr (Again::template shortened<few>::cut.copies == 0)
      return std::type_identity<whole_plan<Target, Again, Options>>{};
    else
      return std::type_identity<whole_plan<Target, typename Again::template shortened<few>, Options>>{};
  }
  static constexpr plan_view<typename Target::product> viewed = value.view();  // asked for many times
};

}  // namespace napkin::planning

namespace napkin {

/// The frozen plan of Make's graph for a backend, as `type`: each backend's plan.hpp says which.
template <class Backend, class Make>
struct plan_for;

}  // namespace napkin
