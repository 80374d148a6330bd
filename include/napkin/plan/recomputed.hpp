// Choices of what to make again in the backward pass (passes/recompute_choice.hpp) as constants, and the
// graph of each: what a plan is made of where a step recomputes to fit its memory.
#pragma once

#include <array>
#include <cstdint>

#include "napkin/passes/recompute_choice.hpp"

namespace napkin::planning {

/// Make's graph, a loss and its gradient, with choice number Choice of what the backward pass makes again; 0:
/// nothing. A number that is too large is the last.
template <class Make, int Choice>
struct recomputing {
  using recomputed_from = Make;
  static constexpr int choice = Choice;
  template <std::int32_t Kept>
  using shortened = recomputing<typename Make::template shortened<Kept>, Choice>;
};
/// Of a few of a model's equal layers.
template <class Make, int Choice>
requires requires { Make::cut; }
struct recomputing<Make, Choice> {
  using recomputed_from = Make;
  static constexpr int choice = Choice;
  static constexpr passes::left_out cut = Make::cut;
};

inline constexpr std::size_t most_choices = 64;

/// passes::step_halves of a graph of Nodes nodes.
template <std::size_t Nodes>
struct halves_table {
  std::array<bool, Nodes> after{};
  std::array<std::int32_t, Nodes> first_read{};

  constexpr halves_table(const graph_view& lowered, const passes::fuse_options& options) {
    const passes::step_halves halves = passes::halves_of(lowered, passes::fuse(lowered, options));
    copy_run(halves.after.data(), Nodes, after.data());
    copy_run(halves.first_read.data(), Nodes, first_read.data());
  }
  constexpr passes::step_halves halves() const {
    passes::step_halves h;
    h.after.append(after.data(), Nodes);
    h.first_read.append(first_read.data(), Nodes);
    return h;
  }
};

/// Choices for a graph of Nodes nodes: by node, bit k where choice k makes it again.
template <std::size_t Nodes>
struct choice_table {
  std::array<std::uint64_t, Nodes> again{};
  std::array<double, most_choices> kept{};  // bytes, estimated
  int count = 0;

  constexpr choice_table(const graph_view& lowered, const passes::step_halves& halves, std::size_t parameters,
                         std::int32_t left_out, std::int32_t first_copy) {
    const buffer<passes::recompute_choice> choices =
        passes::recompute_choices(lowered, halves, parameters, left_out, most_choices, first_copy);
    count = static_cast<int>(choices.size());
    for (std::size_t k = 0; k < choices.size(); ++k) {
      const std::uint64_t bit = std::uint64_t{1} << k;
      const bool* const chosen = choices[k].again.data();
      for (std::size_t id = 0; id < Nodes; ++id)
        if (chosen[id]) again[id] |= bit;
      kept[k] = choices[k].kept;
    }
  }
  constexpr buffer<bool> chosen(int choice) const {
    buffer<bool> made(Nodes);
    for (std::size_t id = 0; id < Nodes; ++id) made[id] = (again[id] >> choice & 1) != 0;
    return made;
  }
};

namespace detail {
template <class Make>
constexpr std::int32_t layers_left_out() {
  if constexpr (requires { Make::cut; })
    return Make::cut.copies;
  else
    return 0;
}
template <class Make>
constexpr std::int32_t first_copy_in() {
  if constexpr (requires { Make::first_copy; })
    return Make::first_copy;
  else
    return -1;
}
}  // namespace detail

/// Of a plan, Whole, which recomputes nothing. A constant evaluation of its own: compilers bound what one
/// does.
template <class Whole, passes::fuse_options Options>
inline constexpr halves_table<Whole::graph().node_count> halves_in{Whole::graph(), Options};

/// The choices for a plan of Make, Whole, which recomputes nothing.
template <class Whole, class Make, passes::fuse_options Options>
inline constexpr choice_table<Whole::graph().node_count> choices_of{
    Whole::graph(), halves_in<Whole, Options>.halves(), Make::parameters, detail::layers_left_out<Make>(),
    detail::first_copy_in<Make>()};

}  // namespace napkin::planning
