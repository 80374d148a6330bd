// What a trainer refuses to be told.
#include <string>

#include "napkin/core/error.hpp"
#include "napkin/train/trainer.hpp"

namespace napkin::detail {

namespace {

void check_options(const std::string& of, const char* mistake) {
  if (mistake != nullptr) throw error("trainer: of " + of + "'s options " + mistake);
}

}  // namespace

void check_trainer_options(const char* optimizer, const char* options_mistake, double clip_norm,
                           const loss_scaling& scaling, const delayed_scaling& quantization) {
  check_options(optimizer, options_mistake);
  check_options("scaling", scaling.mistake());
  check_options("quantization", quantization.mistake());
  if (!(clip_norm >= 0))
    throw error("trainer: clip_norm is " + std::to_string(clip_norm) +
                ": it is what gradients' norm may be at most, or 0 where nothing is clipped");
}

void throw_nonfinite_number(double learning_rate) {
  throw error("trainer: with a learning rate of " + std::to_string(learning_rate) +
              " a number of the update is not finite");
}

}  // namespace napkin::detail
