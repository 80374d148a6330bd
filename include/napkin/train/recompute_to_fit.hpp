// The policy of a step that its memory keep a budget, by making values of the forward pass again in the
// backward pass: which, is found in constant evaluation. passes/recompute.hpp does it,
// passes/recompute_choice.hpp has the choices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "napkin/cost/sheet.hpp"
#include "napkin/plan/frozen.hpp"
#include "napkin/train/parameter_layout.hpp"

namespace napkin {

template <class Model, class Optimizer = void, class... Policies>
struct train_step;

namespace fact {
template <std::size_t Bytes>
struct least_peak;
template <std::size_t Bytes>
struct of_at_most;
}  // namespace fact

namespace rule {
/// least_peak<N>, of_at_most<M>
template <class... Facts>
struct no_choice_fits_the_budget {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "recompute_to_fit: whatever is made again, the training step takes more bytes than its "
      "budget; the least peak that was found is named: a smaller batch, micro_batches<n> or a larger budget");
};
}  // namespace rule

/// A policy of train_step: that step::memory.peak, the trainer's one allocation, be at most Bytes. What the
/// backward pass needs of the forward pass is kept or made again, whichever costs least by a nominal machine;
/// losses and weights are those of the step without the policy, bit for bit.
///
/// Of the choices that recompute_choices lists, the cheapest whose plan fits is taken, of more than eight the
/// cheapest of those that are tried; equal layers are treated alike. Where none fits, it is the one of the
/// least peak that was found, and step::recomputed.fits is false: a trainer of it does not compile.
///
/// Cost     step::recomputed, and step::cost.flops.recomputed of it
/// Rules    no_choice_fits_the_budget
/// Source   Chen et al. 2016, "Training deep nets with sublinear memory cost"; Korthikanti et al. 2022,
///          "Reducing activation recomputation in large transformer models"
/// Example  using step = nk::train_step<model, nk::adamw, nk::recompute_to_fit<1'000'000'000>>;
template <std::size_t Bytes>
struct recompute_to_fit {
  static constexpr std::size_t recompute_budget = Bytes;
};

/// What a step makes again to save memory, and what that costs.
struct recomputation {
  int choice = 0, choices = 1;  // which it is, by cost; 0: nothing is made again to save memory
  std::size_t budget = 0;       // bytes; 0: none was set
  bool fits = true;
  std::size_t saved = 0;         // bytes that the step's peak is lower for it
  std::size_t kept_less = 0;     // bytes that memory.activations are lower for it; 0 where they are not
  std::uint64_t flops = 0;       // made again, for whatever reason: cost.flops.recomputed
  std::uint64_t more_bytes = 0;  // moved, beyond the step's without it; 0 where they are fewer
};

namespace detail {

/// What recompute_to_fit is turned into.
template <int Choice>
struct recompute_by {
  static constexpr int recompute_choice = Choice;
};

template <class Policy>
inline constexpr bool is_budget = requires {
  Policy::recompute_budget;
};
template <class Policy>
inline constexpr bool is_recompute_choice = requires {
  Policy::recompute_choice;
};

template <class Policy, int Choice>
using with_choice = std::conditional_t<is_budget<Policy>, recompute_by<Choice>, Policy>;

template <class Policy>
constexpr std::size_t budget_of() {
  if constexpr (is_budget<Policy>)
    return Policy::recompute_budget;
  else
    return 0;
}
template <class Policy>
constexpr int choice_of() {
  if constexpr (is_recompute_choice<Policy>)
    return Policy::recompute_choice;
  else
    return 0;
}

template <class Backend, class Make, int Choice>
struct recomputed_plan {
  using type = typename plan_for<Backend, planning::recomputing<Make, Choice>>::type;
};
template <class Backend, class Make>
struct recomputed_plan<Backend, Make, 0> {
  using type = typename plan_for<Backend, Make>::type;
};

/// The choice for a budget. Each that is tried is a plan of its own to the compiler. Up to `few` choices are
/// tried in turn; of more, those that fit if as much of the bytes that they keep less comes off the peak as
/// came of the last one tried, and between one that fits and one that does not, what lies on the line between
/// their peaks. Peaks need not follow what is kept: before none is said to fit, up to `few` others are tried.
template <std::size_t Bytes, class Model, class Optimizer, class... Policies>
struct recompute_search {
  template <int Choice>
  using step = train_step<Model, Optimizer, with_choice<Policies, Choice>...>;
  using first = step<0>;
  struct found {
    int choice = 0, choices = 1;
    bool fits = true;
  };

  template <int Choice>
  static constexpr std::size_t peak = step<Choice>::memory.peak;
  /// A function, so that a budget that the step keeps anyway asks for no choices.
  static constexpr const auto& list() { return first::gradient_plan::choices(); }
  static constexpr int few = 8;
  /// Of the bytes that a choice keeps less, the part that its peak is lower by; before any is known, what it
  /// is of small transformers in seven tenths of their memory, where a start that fits is as good as one that
  /// does not.
  template <int Choice>
  static constexpr double share() {
    if constexpr (Choice == 0) {
      return 0.65;
    } else {
      const double less = list().kept[0] - list().kept[Choice];
      return less > 0 && peak<Choice> < peak<0> ? static_cast<double>(peak<0> - peak<Choice>) / less : 0;
    }
  }
  static constexpr bool may_fit(int choice, double share) {
    const double less = list().kept[0] - list().kept[static_cast<std::size_t>(choice)];
    return static_cast<double>(peak<0>) - share * less <= static_cast<double>(Bytes);
  }
  static constexpr bool among(std::uint64_t choices, int k) { return (choices >> k & 1) != 0; }
  /// Seen: a bit for each that was tried. -1: no more are.
  template <int Tried, std::uint64_t Seen>
  static constexpr int next_after() {
    const int count = list().count;
    if (count <= few) return Tried + 1 < count ? Tried + 1 : -1;
    const double part = share<Tried>();
    for (int k = Tried + 1; k < count; ++k)
      if (!among(Seen, k) && may_fit(k, part)) return k;
    const int stride = (count + few - 1) / few;
    for (int k = count - 1; k > 0; k -= stride)  // from the last, which keep least
      if (!among(Seen, k)) return k;
    return -1;
  }
  static constexpr int last_before(int choice, std::uint64_t seen) {
    while (!among(seen, --choice)) {
    }
    return choice;
  }

  /// From choices that do not fit to others. Best: the one of the least peak so far.
  template <int Tried, int Best, std::uint64_t Seen>
  static constexpr found find() {
    constexpr int next = next_after<Tried, Seen>();
    if constexpr (next < 0)
      return {Best, list().count, false};
    else if constexpr (peak<next> <= Bytes)
      return {cheapest<next, last_before(next, Seen)>(), list().count, true};
    else
      return find<next, (peak<next> < peak<Best> ? next : Best), (Seen | std::uint64_t{1} << next)>();
  }
  /// The first between one that exceeds the budget and one that fits whose peak, on the line between theirs,
  /// is little more than the budget; the latter, if none is.
  template <int Fits, int Exceeds>
  static constexpr int next_between() {
    const auto& kept = list().kept;
    const double fall = 1.02 * static_cast<double>(peak<Exceeds> - peak<Fits>) / (kept[Exceeds] - kept[Fits]);
    for (int k = Exceeds + 1; k < Fits; ++k) {
      const double less = kept[Exceeds] - kept[static_cast<std::size_t>(k)];
      if (static_cast<double>(peak<Exceeds>) - fall * less <= static_cast<double>(Bytes)) return k;
    }
    return Fits;
  }
  /// From a choice that fits to cheaper ones, as far as they may; Exceeds: the last before it that does not.
  template <int Fits, int Exceeds>
  static constexpr int cheapest() {
    constexpr int next = next_between<Fits, Exceeds>();
    if constexpr (next == Fits)
      return Fits;
    else if constexpr (peak<next> <= Bytes)
      return cheapest<next, Exceeds>();
    else
      return cheapest<Fits, next>();
  }
  static constexpr found find_from_first() {
    if constexpr (peak<0> <= Bytes)
      return {};
    else
      return find<0, 0, 1>();
  }
  static constexpr found value = find_from_first();
};

/// What a step of these policies makes again: as their budget, or their choice, says; else nothing.
template <class Model, class Optimizer, class... Policies>
struct recompute_among {
  static constexpr std::size_t budget = (budget_of<Policies>() + ... + 0);
  static constexpr auto find() {
    if constexpr ((is_budget<Policies> || ...)) {
      return recompute_search<budget, Model, Optimizer, Policies...>::value;
    } else {
      struct said {
        int choice, choices = 1;
        bool fits = true;
      };
      return said{(choice_of<Policies>() + ... + 0)};
    }
  }
  static constexpr auto found = find();
  static constexpr int choice = found.choice;
};

template <class Model, class Optimizer, class... Policies>
constexpr auto find_run_mistake() {
  if constexpr (is_mistake<optimizer_mistake<Optimizer>>) {
    return std::type_identity<optimizer_mistake<Optimizer>>{};
  } else if constexpr (is_mistake<step_mistake<Model, Policies...>>) {
    return std::type_identity<step_mistake<Model, Policies...>>{};
  } else if constexpr ((is_budget<Policies> || ...)) {
    using step = train_step<Model, Optimizer, Policies...>;
    if constexpr (!step::recompute::found.fits)
      return std::type_identity<rule::no_choice_fits_the_budget<fact::least_peak<step::memory.peak>,
                                                                fact::of_at_most<step::recompute::budget>>>{};
    else
      return std::type_identity<accepted>{};
  } else {
    return std::type_identity<accepted>{};
  }
}
/// What keeps a step from being run, though it may be asked what it costs.
template <class Model, class Optimizer, class... Policies>
using run_mistake = typename decltype(find_run_mistake<Model, Optimizer, Policies...>())::type;

}  // namespace detail
}  // namespace napkin
