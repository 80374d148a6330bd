// What a program may let a device do in its products: each is faster and less exact, and none is a default.
#pragma once

namespace napkin::passes {

struct product_options {
  bool tf32 = false;       // f32 is multiplied as TF32
  bool adds_fast = false;  // products of two e4m3 are added up in fewer bits than f32 has
  constexpr bool operator==(const product_options&) const = default;
};

}  // namespace napkin::passes
