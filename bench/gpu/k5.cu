// K5: AdamW on the parameters of GPT-2 124M, clipped by the norm of their gradients: the plans with which T4's
// trainer ends a step, one of the norm and one for both groups of parameters, those that decay and those that do
// not.
#include <algorithm>
#include <memory>
#include <napkin/optim/adamw.hpp>

#include "gpt.hpp"

namespace nk = napkin;

namespace {

using step = nk::train_step<nk::benched::gpt2_124m, nk::adamw, nk::compute_in<nk::bf16>, nk::cuda>;
constexpr std::size_t group_count = step::layout.groups.size(), length = step::layout.length;
static_assert(group_count == 2 && step::update_runs == 1 && step::layout.matrices == 0);
using lengths = nk::group_lengths<step::layout.groups[0].length, step::layout.groups[1].length>;

using parts = nk::step_parts<nk::cuda>;
using norm = nk::benched::lowered<parts::norm<length, step::layout.state_length, 0, 1, 0>>;
using update = nk::benched::lowered<parts::update<nk::adamw, lengths>>;
// As docs/cuda.md says: three in all.
static_assert(norm::cost().launches == 2 && update::cost().launches == 1);

enum input : std::size_t { values, gradients, states, check, losses, noted, most, numbers, inputs };
// The next values and states, then what is said of all.
enum output : std::size_t {
  checked = 1 + nk::adamw::states,
  squares,
  clip,
  applied,
};

class clipped_update : public nk::benched::running {
 public:
  clipped_update(nk::on_cuda::session& s, std::byte* memory)  // one after the other: one arena
      : norm_(norm::open(s, memory)), update_(update::open(s, memory)) {}

  void bind(std::span<const void* const> in, std::span<void* const> out) override {
    const void* const asked[] = {in[gradients], in[check], in[losses], in[noted], in[most]};
    void* const found[] = {out[squares], out[clip], out[applied]};
    norm_->bind(asked, found);
    const auto* const state = static_cast<const float*>(in[states]);
    const void* const read[] = {in[values], in[gradients], state,       state + length,
                                out[clip],  in[numbers],   out[applied]};
    update_->bind(read, out.first(checked + 1));
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
  const array all{"", dtype::f32, {length}}, of_blocks{"", dtype::f32, {length / nk::flat_block}};
  c.inputs[values] = c.inputs[gradients] = all;
  c.inputs[states] = {"", dtype::f32, {nk::adamw::states, length}};
  c.inputs[check] = of_blocks;
  c.inputs[losses] = {"", dtype::f32, {1}};
  c.inputs[noted] = {"", dtype::u32, {}};
  c.inputs[most] = {"", dtype::f64, {}};
  // of each group; its name says how many elements each has
  std::string sizes;
  for (const std::size_t n : lengths::value) sizes += std::to_string(n) + " ";
  c.inputs[numbers] = {sizes, dtype::f32, {group_count, nk::adamw::scalars}};
  c.outputs.assign(checked, all);
  for (const auto& a :
       {of_blocks, array{"", dtype::f32, {}}, array{"", dtype::f32, {}}, array{"", dtype::b8, {}}})
    c.outputs.push_back(a);
  c.cost = norm::cost();
  c.cost += update::cost();
  c.memory = std::max(norm::memory, update::memory);
  c.open = [](nk::on_cuda::session& s, std::byte* memory) -> std::unique_ptr<running> {
    return std::make_unique<clipped_update>(s, memory);
  };
  return {c};
}
