// The elementary functions of fused kernels, of the reference interpreter and of random numbers:
// napkin::math::{abs, copysign, floor, sqrt, rsqrt, exp, log, tanh, erf, sin, cos, pow} of float and double.
//
// Scalar formulas of IEEE operations only (no fma, no tables, no library), so a value's bits are the same in
// a vectorised loop, a scalar one and a constant, on every machine, provided -ffp-contract=off. A loop over a
// fixed number of lanes vectorises at -O2 without -ffast-math; sqrt and rsqrt need -fno-math-errno for it.
// Which NaN a NaN result is, is left open; rounding is to nearest and subnormals are not flushed.
#pragma once

#include <napkin/core/math_bits.hpp>
#include <napkin/core/math_exp.hpp>
#include <napkin/core/math_pow.hpp>
#include <napkin/core/math_tanh_erf.hpp>
#include <napkin/core/math_trig.hpp>
