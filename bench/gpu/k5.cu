// K5: AdamW on the parameters of GPT-2 124M, clipped by the norm of their gradients: the plans with which T4's
// trainer ends a step, one of the norm and one for each group of parameters, those that decay and those that do
// not.
#include <algorithm>
#include <memory>
#include <napkin/optim/adamw.hpp>

#include "gpt.hpp"

namespace nk = napkin;

namespace {

using step = nk::train_step<nk::benched::gpt2_124m, nk::adamw, nk::compute_in<nk::bf16>, nk::cuda>;
constexpr std::size_t group_count = step::update_runs;
static_assert(group_count == 2 && step::layout.groups.size() == group_count);
constexpr std::size_t length_of(std::size_t group) { return step::layout.groups[group].length; }

using parts = nk::step_parts<nk::cuda>;
using norm =
    nk::benched::lowered<parts::norm<step::layout.length, step::layout.state_length, group_count, 1>>;
template <std::size_t Group>
using update = nk::benched::lowered<parts::update<nk::adamw, length_of(Group)>>;
// As docs/cuda.md says: a sum takes two.
static_assert(norm::cost().launches == 2 && update<0>::cost().launches == 2 &&
              update<1>::cost().launches == 2);

// Values and states of each group, but all gradients behind one another, as a trainer has them.
enum input : std::size_t {
  values,
  gradients = values + group_count,
  states,
  check = states + group_count,
  losses,
  noted,
  most,
  numbers,
  inputs
};
// Of each group the next value and states, then what is said of all.
constexpr std::size_t of_group = 1 + nk::adamw::states;
enum output : std::size_t { checked = of_group * group_count, squares, clip, applied };

class clipped_update : public nk::benched::running {
 public:
  clipped_update(nk::on_cuda::session& s, std::byte* memory)  // one after the other: one arena
      : norm_(norm::open(s, memory)), updates_{update<0>::open(s, memory), update<1>::open(s, memory)} {}

  void bind(std::span<const void* const> in, std::span<void* const> out) override {
    const void* const asked[] = {in[gradients], in[check], in[losses], in[noted], in[most]};
    void* const found[] = {out[squares], out[clip], out[applied]};
    norm_->bind(asked, found);
    for (std::size_t g = 0; g < group_count; ++g) {
      const auto* const gradient = static_cast<const float*>(in[gradients]) + step::layout.groups[g].begin;
      const auto* const state = static_cast<const float*>(in[states + g]);
      std::vector<const void*> read{in[values + g], gradient, state, state + length_of(g), out[clip]};
      for (std::size_t i = 1; i < nk::adamw::scalars; ++i)  // the first is what gradients are clipped by
        read.push_back(static_cast<const float*>(in[numbers]) + g * nk::adamw::scalars + i);
      read.push_back(out[applied]);
      void* const* const next = &out[of_group * g];
      void* const written[] = {next[0], next[1], next[2], static_cast<float*>(out[checked]) + g};
      updates_[g]->bind(read, written);
    }
  }
  void run() override {
    norm_->run();
    for (const auto& u : updates_) u->run();
  }

 private:
  std::unique_ptr<nk::benched::running> norm_, updates_[group_count];
};

}  // namespace

std::vector<nk::benched::rung_case> nk::benched::cases() {
  using nk::dtype;
  rung_case c;
  c.name = "adamw 124M, clipped";
  c.inputs.resize(inputs);
  for (std::size_t g = 0; g < group_count; ++g) {
    const std::size_t length = length_of(g);
    c.inputs[values + g] = {"", dtype::f32, {length}};
    c.inputs[states + g] = {"", dtype::f32, {nk::adamw::states, length}};
    for (std::size_t i = 0; i < of_group; ++i) c.outputs.push_back({"", dtype::f32, {length}});
  }
  c.inputs[gradients] = {"", dtype::f32, {step::layout.length}};
  c.inputs[check] = {"", dtype::f32, {group_count}};
  c.inputs[losses] = {"", dtype::f32, {1}};
  c.inputs[noted] = {"", dtype::u32, {}};
  c.inputs[most] = {"", dtype::f64, {}};
  c.inputs[numbers] = {"", dtype::f32, {group_count, nk::adamw::scalars}};
  for (const auto& a : {array{"", dtype::f32, {group_count}}, array{"", dtype::f32, {}},
                        array{"", dtype::f32, {}}, array{"", dtype::b8, {}}})
    c.outputs.push_back(a);
  c.cost = norm::cost();
  c.cost += update<0>::cost();
  c.cost += update<1>::cost();
  c.memory = std::max({norm::memory, update<0>::memory, update<1>::memory});
  c.open = [](nk::on_cuda::session& s, std::byte* memory) -> std::unique_ptr<running> {
    return std::make_unique<clipped_update>(s, memory);
  };
  return {c};
}
