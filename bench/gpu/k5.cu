// K5: AdamW on the parameters of GPT-2 124M, which lie behind one another, clipped by the norm of their
// gradients: the two plans with which a trainer on the device ends a step.
#include <algorithm>
#include <memory>
#include <napkin/optim/adamw.hpp>
#include <optional>

#include "gpt.hpp"

namespace nk = napkin;

namespace {

constexpr std::size_t length = nk::flat_length(nk::count_parameters<nk::benched::gpt2_124m>);
using parts = nk::step_parts<nk::cuda>;
using norm = nk::benched::lowered<parts::norm<length, nk::adamw::states * length, 1, 1>>;
using update = nk::benched::lowered<parts::update<nk::adamw, length>>;

enum input : std::size_t { values, gradients, states, check, losses, noted, most, numbers, inputs };
enum output : std::size_t { next_values, next_first, next_second, checked, squares, clip, applied, outputs };

class clipped_update : public nk::benched::running {
 public:
  clipped_update(nk::on_cuda::session& s, std::byte* memory)
      : norm_(norm::open(s, memory)), update_(update::open(s, memory)) {}  // one after the other: one arena

  void bind(std::span<const void* const> in, std::span<void* const> out) override {
    const void* const asked[] = {in[gradients], in[check], in[losses], in[noted], in[most]};
    void* const found[] = {out[squares], out[clip], out[applied]};
    norm_->bind(asked, found);
    const auto* state = static_cast<const float*>(in[states]);
    std::vector<const void*> read{in[values], in[gradients], state, state + length, out[clip]};
    for (std::size_t i = 1; i < nk::adamw::scalars; ++i)  // the first is what gradients are clipped by
      read.push_back(static_cast<const float*>(in[numbers]) + i);
    read.push_back(out[applied]);
    void* const written[] = {out[next_values], out[next_first], out[next_second], out[checked]};
    update_->bind(read, written);
  }
  void run() override {
    norm_->run();
    update_->run();
  }

 private:
  std::unique_ptr<nk::benched::running> norm_, update_;
};

}  // namespace

std::vector<nk::benched::rung_case> nk::benched::cases() {
  using nk::dtype;
  rung_case c;
  c.name = "adamw 124M, clipped";
  c.inputs.resize(inputs);
  c.inputs[values] = c.inputs[gradients] = {"", dtype::f32, {length}};
  c.inputs[states] = {"", dtype::f32, {nk::adamw::states, length}};
  c.inputs[check] = c.inputs[losses] = {"", dtype::f32, {1}};
  c.inputs[noted] = {"", dtype::u32, {}};
  c.inputs[most] = {"", dtype::f64, {}};
  c.inputs[numbers] = {"", dtype::f32, {nk::adamw::scalars}};
  c.outputs = {{"", dtype::f32, {length}}, {"", dtype::f32, {length}}, {"", dtype::f32, {length}},
               {"", dtype::f32, {}},       {"", dtype::f32, {}},       {"", dtype::f32, {}},
               {"", dtype::b8, {}}};
  c.cost = norm::cost();
  c.cost += update::cost();
  c.memory = std::max(norm::memory, update::memory);
  c.open = [](nk::on_cuda::session& s, std::byte* memory) -> std::unique_ptr<running> {
    return std::make_unique<clipped_update>(s, memory);
  };
  return {c};
}
