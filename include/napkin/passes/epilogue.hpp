// What a product's own call does to its result, as plans say it: a form, of which a backend makes its call, and the
// nodes that it stands for. passes/find_epilogues.hpp says what each part means, and finds them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "napkin/passes/contraction_groups.hpp"

namespace napkin {

namespace passes {

/// What a product's call does to its result beside storing it: passes/find_epilogues.hpp says what each
/// means.
enum class activation : std::uint8_t { none, gelu, gelu_gradient };
/// Of what the call stores sums: of its result over all but the last axes, of an operand over the axes that
/// the product sums.
enum class summed : std::uint8_t { none, result, first_operand, second_operand };
/// What an epilogue reads or writes beside the product: the added vector (or where the result's sums go), the
/// tensor that is added, GELU's input, the numbers that the product is multiplied by.
enum class epilogue_operand : std::uint8_t { vector, added, auxiliary, first_factor, second_factor };
inline constexpr std::size_t epilogue_operands = 5;

struct epilogue_form {
  dtype type = dtype::f32;         // of the result
  dtype vector_type = dtype::f32;  // is rounded to the result's
  activation then = activation::none;
  bool adds = false;            // a tensor that lies as the result does
  bool keeps = false;           // what gelu is taken of is stored too
  summed sums = summed::none;   // what the vector, which is stored then, has the sums of
  std::size_t vector_size = 0;  // elements; 0: there is none
  double scale = 1;
  std::uint8_t factors = 0;  // numbers in memory that the product is multiplied by, before anything is added

  constexpr bool operator==(const epilogue_form&) const = default;
  constexpr bool adds_vector() const { return vector_size > 0 && sums == summed::none; }
  constexpr bool rounds_vector() const { return adds_vector() && vector_type != type; }
  constexpr dtype type_of(epilogue_operand x) const {
    if (x == epilogue_operand::vector) return vector_type;
    const bool is_factor = x == epilogue_operand::first_factor || x == epilogue_operand::second_factor;
    return is_factor ? dtype::f32 : type;
  }
  constexpr bool has_auxiliary() const { return keeps || then == activation::gelu_gradient; }
};
/// By node; -1 for what there is none of.
struct epilogue {
  epilogue_form form;
  std::int32_t product = -1, value = -1, result = -1;  // value: before `then`
  std::int32_t vector = -1, added = -1, auxiliary = -1;
  std::int32_t factor[most_factors] = {-1, -1};

  /// Whether node id, one of the unit's, has a buffer.
  constexpr bool stores(std::int32_t id) const {
    return id == result || (form.keeps && id == auxiliary) || (form.sums != summed::none && id == vector);
  }
  /// f(node) for each tensor read beside the product's operands.
  constexpr void for_each_read(auto&& f) const {
    for (std::uint8_t i = 0; i < form.factors; ++i) f(factor[i]);
    if (form.adds_vector()) f(vector);
    if (added >= 0) f(added);
    if (auxiliary >= 0 && !form.keeps) f(auxiliary);
  }
};

}  // namespace passes
}  // namespace napkin
