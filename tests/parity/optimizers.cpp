// Every optimizer, 1,000 steps in f64 on gradients that generate_optimizers.py computes by the same formula:
// the parameters are PyTorch's (Lion's: its paper's formula in numpy).
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>

#include "catch.hpp"
#include "napkin/cpu/executor.hpp"
#include "napkin/optim/adagrad.hpp"
#include "napkin/optim/lion.hpp"
#include "napkin/optim/muon.hpp"
#include "napkin/optim/sgd.hpp"
#include "napkin/tensor/storage.hpp"
#include "support/counter_gradients.hpp"
#include "support/parity_file.hpp"

using namespace napkin;
using testing::counted_tensors;

namespace {

constexpr std::size_t length = flat_length(testing::counted_elements);

/// Runs one plan over places that never move.
template <class Plan>
class bound_run {
 public:
  bound_run(std::vector<double*> in, const std::vector<double>& numbers, std::vector<double*> out)
      : arena_(Plan::value.peak),
        executor_(Plan::view(), on_cpu::kernels_of<Plan>.data(), static_cast<std::byte*>(arena_.data())) {
    std::vector<const void*> inputs(in.begin(), in.end());
    for (int i = 0; i < 2; ++i) inputs.push_back(numbers.data());  // the first, and all
    const std::vector<void*> outputs(out.begin(), out.end());
    executor_.bind(inputs, outputs);
  }
  void operator()() { executor_.run(); }

 private:
  storage arena_;
  on_cpu::executor executor_;
};

using vector = std::vector<double>;

/// One group's vectors, and its update by Rule in place.
template <class Rule>
struct flat_group {
  vector p = vector(length), g = p;
  std::vector<vector> states = std::vector<vector>(Rule::states, vector(length));
  vector numbers = vector(Rule::scalars);
  bound_run<on_cpu::frozen_plan<optimizer_graph<Rule, f64, group_lengths<length>>>> run{places(true), numbers,
                                                                                        places(false)};

  std::vector<double*> places(bool with_gradient) {
    std::vector<double*> list{p.data()};
    if (with_gradient) list.push_back(g.data());
    for (vector& s : states) list.push_back(s.data());
    return list;
  }
};

/// Parameters decay but for the bias.
template <class Optimizer>
struct problem {
  flat_group<Optimizer> decayed, rest;
  double* value(const testing::counted_tensor& t) {
    return (t.decays ? decayed.p : rest.p).data() + t.offset;
  }
  double* gradient(const testing::counted_tensor& t) {
    return (t.decays ? decayed.g : rest.g).data() + t.offset;
  }
  void step(const typename Optimizer::options& o, double rate, std::int64_t step) {
    Optimizer::fill(o, rate, 1, step, 1, decayed.numbers.data());
    Optimizer::fill(o, rate, 0, step, 1, rest.numbers.data());
    decayed.run();
    rest.run();
  }
};

/// The matrices one by one, as the trainer does it; their rows are outputs, as PyTorch's are.
template <>
struct problem<muon> {
  vector p = vector(length), g = p, m = p, numbers = vector(muon::matrices::scalars);
  flat_group<adamw> rest;
  bound_run<on_cpu::frozen_plan<muon::direction_graph<f64, group_lengths<length>>>> direct{
      {g.data(), m.data()}, numbers, {g.data(), m.data()}};
  template <std::size_t I>
  using matrix_run = bound_run<on_cpu::frozen_plan<
      muon::matrix_graph<f64, counted_tensors[I].rows, counted_tensors[I].columns, true>>>;
  matrix_run<0> first = make<0>();
  matrix_run<1> second = make<1>();
  matrix_run<2> third = make<2>();

  template <std::size_t I>
  matrix_run<I> make() {
    double *const value = p.data() + counted_tensors[I].offset, *const way =
                                                                    g.data() + counted_tensors[I].offset;
    return {{value, way}, numbers, {value}};
  }
  double* value(const testing::counted_tensor& t) { return (t.decays ? p : rest.p).data() + t.offset; }
  double* gradient(const testing::counted_tensor& t) { return (t.decays ? g : rest.g).data() + t.offset; }
  void step(const muon::options& o, double rate, std::int64_t step) {
    muon::matrices::fill(o, rate, 1, step, 1, numbers.data());
    adamw::fill(o.others, rate * o.others_rate, 0, step, 1, rest.numbers.data());
    direct();
    first();
    second();
    third();
    rest.run();
  }
};

template <class Optimizer>
void check(const std::string& name, const typename Optimizer::options& options) {
  const testing::parity_file reference("optimizers");
  const auto all = std::make_unique<problem<Optimizer>>();
  for (const auto& t : counted_tensors) testing::fill_values(t, all->value(t));
  double worst = 0, moved = 0;
  int compared = 0;
  for (std::int64_t step = 1; step <= 1000; ++step) {
    for (const auto& t : counted_tensors) testing::fill_gradient(t, step, all->gradient(t));
    all->step(options, testing::counted_rate(step), step);
    const std::string key = name + ".after_" + std::to_string(step);
    if (!reference.has(key)) continue;
    const vector theirs = reference[key];
    vector ours, first(testing::counted_elements);
    for (const auto& t : counted_tensors) {
      ours.insert(ours.end(), all->value(t), all->value(t) + t.count());
      testing::fill_values(t, first.data() + t.offset);
    }
    INFO(key);
    REQUIRE(ours.size() == theirs.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      const double difference = std::abs(ours[i] - theirs[i]) / std::max(1e-3, std::abs(theirs[i]));
      CHECK(difference <= 1e-9);
      worst = std::max(worst, difference);
    }
    moved = testing::relative_difference(ours, first);
    ++compared;
  }
  CHECK(compared == 4);
  CHECK(moved > 0.1);
  std::printf("%s: %.1e relative, element by element, over 1,000 steps\n", name.c_str(), worst);
}

}  // namespace

TEST_CASE("gradient descent is PyTorch's within 1e-9: plain, momentum, Nesterov") {
  check<sgd>("sgd", {.weight_decay = 0.01});
  check<momentum>("momentum", {.weight_decay = 0.01});
  check<momentum>("momentum_dampened", {.dampening = 0.3, .weight_decay = 0.01});
  check<nesterov>("nesterov", {.weight_decay = 0.01});
}

TEST_CASE("AdaGrad and RMSProp are PyTorch's within 1e-9") {
  check<adagrad>("adagrad", {.rate_decay = 1e-3, .weight_decay = 0.01});
  check<rmsprop>("rmsprop", {.weight_decay = 0.01});
}

TEST_CASE("Adam and AdamW are PyTorch's within 1e-9") {
  check<adam>("adam", {.weight_decay = 0.01});
  check<adamw>("adamw", {.weight_decay = 0.1});
}

TEST_CASE("Lion is its paper's within 1e-9") { check<lion>("lion", {.weight_decay = 0.1}); }

TEST_CASE("Muon is PyTorch's within 1e-9, iterating in f64 where it does in bf16") {
  check<muon>("muon", {.weight_decay = 0.1, .others = {.weight_decay = 0.1}});
}
