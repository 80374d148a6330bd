// Floating point in 16 and 8 bits: storage and correctly rounded conversion, the same code in constant
// evaluation and at run time. No arithmetic: kernels compute in f32 and store.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace napkin {

struct b8;

/// What the largest codes of a format stand for.
enum class specials : unsigned char {
  ieee,     // the largest exponent: infinity (mantissa 0) and NaNs
  one_nan,  // the largest code of each sign is NaN, all others are finite (the OCP's "fn" formats)
};

/// A sign bit, an exponent biased by 2^(ExponentBits-1) - 1 and a mantissa, kept in `bits`; trivially
/// copyable. `std::bit_cast<f16>(pattern)` makes one from its bits.
///
/// Rounding  to nearest, ties to even, once, also from double and from 64-bit integers
/// Overflow  to infinity; to NaN where the format has none, as the OCP's non-saturating mode and ml_dtypes do
///           (and PyTorch did before 2.12, which saturates): clamp first where saturation is wanted
/// NaN       stays NaN, of the same sign; made quiet and its payload cut, as x86's conversions do
/// Equality  that of the values: NaN differs from itself, -0 equals 0
/// Requires  the default rounding mode; flushing of subnormals (FTZ, DAZ) changes nothing
template <int ExponentBits, int MantissaBits, specials Specials>
struct small_float {
  static constexpr int exponent_bits = ExponentBits;
  static constexpr int mantissa_bits = MantissaBits;
  static constexpr specials special_values = Specials;
  static constexpr int width = 1 + ExponentBits + MantissaBits;
  static_assert(width == 16 || width == 8);
  using storage = std::conditional_t<width == 16, std::uint16_t, std::uint8_t>;

  static constexpr unsigned sign_bit = 1u << (width - 1);
  static constexpr unsigned smallest_normal = 1u << MantissaBits;
  static constexpr unsigned largest_exponent = ((1u << ExponentBits) - 1) << MantissaBits;
  static constexpr unsigned largest_finite = Specials == specials::ieee ? largest_exponent - 1 : sign_bit - 2;
  static constexpr unsigned quiet_nan =
      Specials == specials::ieee ? largest_exponent | (smallest_normal >> 1) : sign_bit - 1;

  storage bits;

  small_float() = default;
  explicit constexpr small_float(float value) : bits(encode(value)) {}
  explicit constexpr small_float(double value) : bits(encode(value)) {}

  template <class Integer>
  requires(std::integral<Integer> || std::same_as<Integer, b8>) explicit constexpr small_float(Integer value)
      : bits(encode(to_double(value))) {}

  template <int E, int M, specials S>
  requires(E != ExponentBits || M != MantissaBits ||
           S != Specials) explicit constexpr small_float(small_float<E, M, S> other)
      : bits(encode(static_cast<float>(other))) {}

  explicit constexpr operator float() const { return decode<float>(); }
  explicit constexpr operator double() const { return decode<double>(); }

  template <std::integral Integer>
  explicit constexpr operator Integer() const {
    return static_cast<Integer>(decode<float>());
  }

  friend constexpr bool operator==(small_float left, small_float right) {
    return static_cast<float>(left) == static_cast<float>(right);
  }

 private:
  // The two ends of a conversion: the wide type's bit pattern and how its fields relate to ours.
  template <class Wide>
  struct between {
    using pattern = std::conditional_t<sizeof(Wide) == 4, std::uint32_t, std::uint64_t>;
    static constexpr int mantissa = std::numeric_limits<Wide>::digits - 1;
    static constexpr int bias = std::numeric_limits<Wide>::max_exponent - 1;
    static constexpr int shift = mantissa - MantissaBits;
    static constexpr int rebias = bias - ((1 << (ExponentBits - 1)) - 1);
    static constexpr pattern magnitude_mask = static_cast<pattern>(-1) >> 1;
    static constexpr pattern infinity = std::bit_cast<pattern>(std::numeric_limits<Wide>::infinity());
    static constexpr pattern smallest_normal = static_cast<pattern>(rebias + 1) << mantissa;
    // The power of two whose unit in the last place is our smallest subnormal.
    static constexpr pattern grid = static_cast<pattern>(rebias + 1 + shift) << mantissa;
  };

  // Both directions compute every case and select by mask, so that loops over them vectorise: of `?:` g++ 12
  // makes branches again. The additions of floats see no NaN, which clang refuses in constant evaluation.
  template <class Pattern>
  static constexpr Pattern select(bool condition, Pattern yes, Pattern no) {
    return no ^ ((yes ^ no) & (Pattern{0} - static_cast<Pattern>(condition)));
  }

  template <class Wide>
  static constexpr storage encode(Wide value) {
    using to = between<Wide>;
    using pattern = typename to::pattern;
    const pattern all = std::bit_cast<pattern>(value);
    const pattern magnitude = all & to::magnitude_mask;

    // Just under half of what is cut off, plus the last bit that is kept: a tie carries only into an odd
    // number, and a carry out of the mantissa is the next exponent.
    constexpr pattern almost_half = (pattern{1} << (to::shift - 1)) - 1;
    const pattern rounded = magnitude + almost_half + ((magnitude >> to::shift) & 1);
    pattern code = (rounded >> to::shift) - (static_cast<pattern>(to::rebias) << MantissaBits);

    if constexpr (to::rebias != 0) {  // else a subnormal is one in the wide type too, and is done
      const pattern low = select(magnitude < to::smallest_normal, magnitude, to::smallest_normal);
      const Wide on_grid = std::bit_cast<Wide>(low) + std::bit_cast<Wide>(to::grid);  // rounds
      code = select(magnitude < to::smallest_normal, std::bit_cast<pattern>(on_grid) - to::grid, code);
    }
    code = select(code > largest_finite, pattern{largest_finite + 1}, code);
    const pattern payload = (magnitude >> to::shift) & (smallest_normal - 1);
    code = select(magnitude > to::infinity, payload | quiet_nan, code);

    const pattern sign = (all >> (8 * sizeof(Wide) - width)) & sign_bit;
    return static_cast<storage>(sign | code);
  }

  template <class Wide>
  constexpr Wide decode() const {
    using from = between<Wide>;
    using pattern = typename from::pattern;
    const pattern magnitude = bits & (sign_bit - 1);
    const pattern sign = static_cast<pattern>(bits & sign_bit) << (8 * sizeof(Wide) - width);

    pattern code = (magnitude << from::shift) + (static_cast<pattern>(from::rebias) << from::mantissa);
    if constexpr (from::rebias != 0) {
      const Wide low = std::bit_cast<Wide>(from::grid + magnitude) - std::bit_cast<Wide>(from::grid);
      code = select(magnitude < smallest_normal, std::bit_cast<pattern>(low), code);
    }
    const pattern special = from::infinity | (magnitude << from::shift);
    code = select(magnitude > largest_finite, special, code);
    return std::bit_cast<Wide>(sign | code);
  }

  // Exact, or rounded to odd where double has too few bits; from an odd 53-bit number the second rounding
  // goes where one rounding would have gone.
  template <class Integer>
  static constexpr double to_double(Integer value) {
    if constexpr (sizeof(Integer) < 8) {
      return static_cast<double>(value);
    } else {
      const bool fits =
          value < (Integer{1} << 53) && (std::is_unsigned_v<Integer> || value > -(Integer{1} << 53));
      if (fits) return static_cast<double>(value);
      const Integer kept = static_cast<Integer>(value & ~Integer{0x7ff});
      return static_cast<double>(kept == value ? kept : static_cast<Integer>(kept | Integer{0x800}));
    }
  }
};

template <class T>
concept SmallFloat = std::derived_from<T, small_float<T::exponent_bits, T::mantissa_bits, T::special_values>>;

/// IEEE 754 binary16.
struct f16 : small_float<5, 10, specials::ieee> {
  using small_float::small_float;
};

/// The upper half of a float: its range, 8 bits of precision.
struct bf16 : small_float<8, 7, specials::ieee> {
  using small_float::small_float;
};

/// E4M3 of the OCP 8-bit Floating Point Specification 1.0 ("fn"): no infinity, largest 448.
struct f8e4m3 : small_float<4, 3, specials::one_nan> {
  using small_float::small_float;
};

/// E5M2 of the OCP 8-bit Floating Point Specification 1.0: infinities, largest 57344.
struct f8e5m2 : small_float<5, 2, specials::ieee> {
  using small_float::small_float;
};

}  // namespace napkin
