// Clipping by global norm.
#pragma once

namespace napkin {

/// What to multiply every gradient with so that their joint norm is at most max_norm; 1 where it is already,
/// or where max_norm is 0 (no clipping). NaN passes through, for the caller to stop at; of an infinite norm
/// it is 0, as PyTorch's is.
///
/// Source  Pascanu et al. 2013; torch.nn.utils.clip_grad_norm_, whose 1e-6 it shares
constexpr double clip_factor(double norm, double max_norm) {
  if (max_norm <= 0) return 1;
  const double factor = max_norm / (norm + 1e-6);
  return factor < 1 || factor != factor ? factor : 1;
}

}  // namespace napkin
