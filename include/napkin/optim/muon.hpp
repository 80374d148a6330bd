// Muon: of matrices, momentum made orthogonal by a Newton-Schulz iteration; of all else, AdamW.
#pragma once

#include <cstdint>
#include <tuple>

#include "napkin/core/math.hpp"
#include "napkin/ops/composite.hpp"
#include "napkin/ops/elementwise.hpp"
#include "napkin/ops/matmul.hpp"
#include "napkin/ops/reduce.hpp"
#include "napkin/ops/reshape.hpp"
#include "napkin/optim/adamw.hpp"

namespace napkin {

/// Matrices are the parameters of two axes or more but for biases and gains, the first axis being the rows; a
/// group (optim/groups.hpp) may say which axes are (row_axes) and which parameters are none. Embeddings and
/// heads are usually not: {.pattern = "tokens|head", .as_matrices = false}.
///
/// Rows are what a matrix is multiplied with and columns what comes out, as the layers of nn/ have it; of a
/// matrix that has it the other way the group says rows_are_outputs. One of more outputs than inputs takes
/// steps longer by sqrt(outputs / inputs).
///
/// State   of matrices the momentum; of others as adamw's
/// Cost    of a matrix of n x m elements, n the fewer: 5 steps of 4 n n m + 2 n n n FLOPs in products
/// Source  Jordan et al. 2024, "Muon: an optimizer for hidden layers in neural networks"; torch.optim.Muon,
///         which iterates in bf16, this in the parameters' own dtype
struct muon {
  static constexpr const char* name = "muon";
  using others = adamw;

  struct options {
    double momentum = 0.95;
    double weight_decay = 0.1;  // of the matrices that decay
    double others_rate = 1;     // of others, times the step's learning rate
    adamw::options others = {};

    constexpr const char* mistake() const {
      if (const char* of_others = others.mistake()) return of_others;
      return detail::is_below_one(momentum) && detail::is_amount(weight_decay) &&
                     detail::is_amount(others_rate)
                 ? nullptr
                 : "momentum lies in [0, 1), weight_decay and others_rate are not negative";
    }
  };

  /// First, of all matrices of a group at once, the gradient's place takes what is to be made orthogonal:
  /// Nesterov's momentum. Then each matrix is updated by itself.
  struct matrices {
    static constexpr std::size_t states = 1;
    static constexpr const char* state_names[states] = {"momentum"};

    static constexpr std::size_t scalars = 5;
    static constexpr std::size_t of_group[] = {3, 4};
    template <class T>
    static void fill(const options& o, double learning_rate, double decay, std::int64_t, double clip, T* to) {
      const double values[scalars] = {clip, o.momentum, 1 - o.momentum,
                                      1 - learning_rate * decay * o.weight_decay, learning_rate};
      detail::hand_over(values, to);
    }

    /// Of gradients g and momenta m: what is to be made orthogonal, and the next momenta.
    template <class V, class S>
    static constexpr auto direction(const V& g, const V& m, const S& clip, const S& keep, const S& rest) {
      const auto clipped = g * clip;
      const auto next_m = m * keep + clipped * rest;
      return std::tuple(clipped * rest + next_m * keep, next_m);
    }

    /// x over two axes, called long and short, with its singular values brought to about 1: an odd polynomial
    /// of x, five times. Products are with the smaller of x x' and x' x, which give the same.
    template <class X>
    static constexpr auto orthogonal(const X& x) {
      const auto norm = sqrt(sum(x * x));
      X y = x / maximum(norm, number_like(x, 1e-7));
      for (int i = 0; i < 5; ++i) {
        const auto squares = dot<"long">(y, rename<"short", "other">(y));               // [short, other]
        const auto fourths = dot<"other">(squares, rename<"short", "third">(squares));  // [short, third]
        const auto polynomial = squares * number_like(x, -4.7750) +
                                rename<"third", "other">(fourths) * number_like(x, 2.0315);  // [short, other]
        y = y * number_like(x, 3.4445) + times(rename<"short", "other">(y), polynomial);
      }
      return y;
    }
    /// How much longer the steps of a matrix are, so that an output moves as far as a square one's.
    static constexpr double step_scale(std::size_t inputs, std::size_t outputs) {
      return outputs > inputs ? math::sqrt(static_cast<double>(outputs) / static_cast<double>(inputs)) : 1;
    }
    /// The next value of matrix p, from its direction.
    template <class X, class S>
    static constexpr auto update(const X& p, const X& direction, const S& keep, const S& rate, double scale) {
      return p * keep - orthogonal(direction) * (rate * number_like(p, scale));
    }

   private:
    /// polynomial [short, other] times y, with y's order of axes.
    template <class Y, class P>
    static constexpr auto times(const Y& y, const P& polynomial) {
      if constexpr (long_comes_first<Y>)
        return dot<"other">(y, polynomial);  // [long, other] -> [long, short]
      else
        return dot<"other">(polynomial, y);  // [other, long] -> [short, long]
    }
    template <class Y>
    static constexpr bool long_comes_first = detail::infos_of<axes_of<Y>>::value[0].name == "long";
  };

  /// Inputs: gradients, momenta, the first of the numbers, the numbers of each group. Outputs: directions,
  /// the next momenta.
  template <class T, class Groups>
  struct direction_graph {
    static constexpr graph make() {
      builder b;
      using vector = flat_vector<T, Groups::total>;
      const auto vector_at = [&b](int slot) {
        return vector(&b, b.input(slot, dtype_of<T>, flat_shape(Groups::total)));
      };
      const auto g = vector_at(0), m = vector_at(1);
      const detail::group_numbers<matrices, T, Groups> numbers(b, 2);
      const auto [direction, next_m] = matrices::direction(g, m, numbers[0], numbers[1], numbers[2]);
      b.output(direction.id);
      b.output(next_m.id);
      return b.take();
    }
  };

  /// Inputs: a matrix, its direction, the first of the numbers, the numbers of its group. Output: the next
  /// value of the matrix.
  template <class T, std::size_t Rows, std::size_t Columns, bool RowsAreOutputs>
  struct matrix_graph {
    static constexpr graph make() {
      builder b;
      using matrix = std::conditional_t<(Rows > Columns), traced<T, dim<"long", Rows>, dim<"short", Columns>>,
                                        traced<T, dim<"short", Rows>, dim<"long", Columns>>>;
      const auto matrix_at = [&b](int slot) {
        return matrix(&b, b.input(slot, dtype_of<T>, {Rows, Columns}));
      };
      const auto p = matrix_at(0), direction = matrix_at(1);
      const detail::group_numbers<matrices, T, group_lengths<Rows * Columns>> numbers(b, 2);
      constexpr double scale =
          RowsAreOutputs ? matrices::step_scale(Columns, Rows) : matrices::step_scale(Rows, Columns);
      b.output(matrices::update(p, direction, numbers[3], numbers[4], scale).id);
      return b.take();
    }
  };
};

}  // namespace napkin
