// How a parameter begins: what is said beside it in a layer, and what fills its memory. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "napkin/core/math.hpp"
#include "napkin/core/random.hpp"

namespace napkin {

/// A distribution, or one constant value. By default what GPT-2 draws its matrices from.
///
/// Fans count what one element of the result is a sum of (in) and what one element of the argument goes into
/// (out): of a weight [embed, heads, hidden], embed::size and heads::size * hidden::size; of a convolution's,
/// each times the elements of its window.
///
/// Example  constexpr mlp() { up.initial = nk::init::kaiming_normal(embed::size); }
struct init {
  enum class kind : std::uint8_t { normal, uniform, constant, truncated_normal };

  kind how = kind::normal;
  double first = 0;      // mean, low or value
  double second = 0.02;  // standard deviation (of a truncated one before it is cut) or high
  double cut = 0;        // of a truncated one, in standard deviations

  static constexpr init normal(double deviation, double mean = 0) { return {kind::normal, mean, deviation}; }
  static constexpr init uniform(double low, double high) { return {kind::uniform, low, high}; }
  static constexpr init constant(double value) { return {kind::constant, value, 0}; }
  static constexpr init zeros() { return constant(0); }
  static constexpr init ones() { return constant(1); }

  /// Normal, nothing beyond `cut` standard deviations; at 3 the deviation becomes 0.9866 of what is said.
  static constexpr init truncated_normal(double deviation, double cut = 3) {
    return {kind::truncated_normal, 0, deviation, cut};
  }
  /// The same with deviation 1 / sqrt(fan_in): a result's elements vary as the argument's do.
  static constexpr init fan_in(std::size_t fan) { return truncated_normal(1 / root(fan)); }

  /// Variance 2 / (fan_in + fan_out) * gain^2: a compromise of keeping values and gradients.
  /// Source  Glorot & Bengio 2010; torch.nn.init.xavier_uniform_, xavier_normal_
  static constexpr init xavier_uniform(std::size_t in, std::size_t out, double gain = 1) {
    const double bound = gain * math::sqrt(3.0) * xavier_deviation(in, out);
    return uniform(-bound, bound);
  }
  static constexpr init xavier_normal(std::size_t in, std::size_t out, double gain = 1) {
    return normal(gain * xavier_deviation(in, out));
  }

  /// Variance gain^2 / fan_in, by default of what a ReLU follows, which halves the squares.
  /// Source  He et al. 2015; torch.nn.init.kaiming_uniform_, kaiming_normal_
  static constexpr init kaiming_uniform(std::size_t in, double gain = math::sqrt(2.0)) {
    const double bound = gain * math::sqrt(3.0) / root(in);
    return uniform(-bound, bound);
  }
  static constexpr init kaiming_normal(std::size_t in, double gain = math::sqrt(2.0)) {
    return normal(gain / root(in));
  }

  /// Of matrices that add to a residual stream of so many blocks, two in each: smaller, so that the stream's
  /// variance does not grow with depth.  Source  Radford et al. 2019, section 2.3
  static constexpr init residual(std::size_t blocks, double deviation = 0.02) {
    return normal(deviation / math::sqrt(2.0 * static_cast<double>(blocks)));
  }

  constexpr bool operator==(const init&) const = default;

  /// Fill n elements. Element i is a pure function of the seed, the name and i.
  void fill(std::uint64_t seed, std::string_view name, float* out, std::size_t n) const {
    const random_stream stream = stream_of(seed, name);
    const auto a = static_cast<float>(first), b = static_cast<float>(second);
    const auto c = static_cast<float>(cut);
    switch (how) {
      case kind::normal:
        for (std::size_t i = 0; i < n; ++i) out[i] = a + b * napkin::normal<float>(stream, i);
        break;
      case kind::uniform:
        for (std::size_t i = 0; i < n; ++i) out[i] = a + (b - a) * napkin::uniform<float>(stream, i);
        break;
      case kind::truncated_normal:
        for (std::size_t i = 0; i < n; ++i)
          out[i] = a + b * napkin::truncated_normal<float>(stream, i, -c, c);
        break;
      case kind::constant:
        for (std::size_t i = 0; i < n; ++i) out[i] = a;
        break;
    }
  }

 private:
  static constexpr double root(std::size_t fan) { return math::sqrt(static_cast<double>(fan)); }
  static constexpr double xavier_deviation(std::size_t in, std::size_t out) {
    return math::sqrt(2.0 / static_cast<double>(in + out));
  }
};

}  // namespace napkin
