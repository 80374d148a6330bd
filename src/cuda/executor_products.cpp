// How each of a plan's products runs: by cuBLASLt's call, by that and kernels of our own behind it, or by a
// kernel for products of few numbers. As it is recorded, by the clock, or what cuBLASLt names first.
#include <algorithm>

#include "executor_state.hpp"
#include "napkin/cuda/time_in_turns.hpp"

namespace napkin::on_cuda {

namespace {

/// The largest power of two, up to 256, that divides an offset.
std::size_t alignment_of(std::ptrdiff_t offset) {
  std::size_t a = 256;
  while (static_cast<std::size_t>(offset) % a != 0) a /= 2;
  return a;
}

using planning::epilogue_operand;

/// What is left to a product's call of its epilogue, and what all its uses can promise of their operands'
/// addresses.
blas_request request_of(const plan_view& p, std::size_t product, apart left) {
  blas_request r;
  r.gives_addresses = true;
  const on_cuda::product& of = p.products[product];
  r.epilogue = epilogue_in_call(epilogue_of(of.follows, of.gemm.swapped), left);
  r.factors = of.follows.factors;
  if (has_auxiliary(r.epilogue)) {
    r.aux_ld = of.gemm.c.ld;
    if (of.gemm.batch > 1) r.aux_batch_stride = of.gemm.c.batch_stride;
  }
  r.align_a = r.align_b = r.align_c = 64;  // what the arena gives, and a tensor too
  r.align_bias = r.align_aux = 64;
  const auto lower = [](std::size_t& align, const planning::location& at) {
    if (at.where != region::arena) align = std::min<std::size_t>(align, 16);
  };
  for (std::size_t i = 0; i < p.count.contractions; ++i) {
    const contraction_record& c = p.contractions[i];
    if (static_cast<std::size_t>(c.product) != product) continue;
    r.align_a = std::min(r.align_a, alignment_of(c.a_offset));
    r.align_b = std::min(r.align_b, alignment_of(c.b_offset));
    // a tensor handed in may be a view, of which 16 bytes are asked
    lower(r.align_a, c.a);
    lower(r.align_b, c.b);
    lower(r.align_c, c.c);
    lower(r.align_c, c.of(epilogue_operand::added).at);
    if (!of.follows.rounds_vector()) lower(r.align_bias, c.of(epilogue_operand::vector).at);
    lower(r.align_aux, c.of(epilogue_operand::auxiliary).at);
  }
  return r;
}

}  // namespace

blas_call executor::state::call_of(std::size_t number, apart left, const blas_library& blas) const {
  return blas_call(blas, plan.products[number].gemm, request_of(plan, number, left));
}

/// With the least that its request promises of addresses.
small_product executor::state::small_product_at(std::size_t number) const {
  const blas_request r = request_of(plan, number, apart::nothing);
  return small_product_of(plan.products[number],
                          std::min({r.align_a, r.align_b, r.align_c, r.align_bias, r.align_aux}));
}

/// That way, if the product's epilogue has it and cuBLASLt names an algorithm; a kernel of our own, if it
/// is one's.
bool executor::state::take_recorded(std::size_t number, apart left, const blas_library& blas,
                                    blas_choices& choices, gemm& to) {
  if (left == apart::product) {
    const small_product made = small_product_at(number);
    if (made.m == 0) return false;
    to = {call_of(number, left, blas), left};
    to.small = made;
    return true;
  }
  const std::size_t workspace = plan.products[number].gemm.workspace;
  const std::span<const apart> ways = ways_of(request_of(plan, number, apart::nothing).epilogue);
  if (std::find(ways.begin(), ways.end(), left) == ways.end()) return false;
  to = {call_of(number, left, blas), left};
  if (left != apart::nothing) {
    blas_choices none;
    to.lacks_epilogue =
        call_of(number, apart::nothing, blas).try_choose(none, workspace) == blas_choice::none;
  }
  return to.call.try_choose(choices, workspace) != blas_choice::none;
}

/// What names the choice of a way. That of a product without an epilogue is not its algorithm's, which is
/// also that of a product whose epilogue is done apart.
std::string executor::state::key_of_way(std::size_t number, const blas_call& call) const {
  const bool is_plain = request_of(plan, number, apart::nothing).epilogue == blas_epilogue::none;
  return is_plain ? call.key() + " way" : call.key();
}

/// As it is recorded; else the first way of which cuBLASLt names an algorithm.
void executor::state::choose(std::size_t number, const blas_library& blas, blas_choices& choices) {
  const product& p = plan.products[number];
  gemm& by = gemms.emplace_back(gemm{call_of(number, apart::nothing, blas)});
  const blas_algorithm* const known = choices.find(key_of_way(number, by.call));
  if (known != nullptr && known->left != apart::nothing &&
      take_recorded(number, known->left, blas, choices, by))
    return;
  for (const apart left : ways_of(request_of(plan, number, apart::nothing).epilogue)) {
    by = {call_of(number, left, blas), left, left != apart::nothing};
    if (by.call.try_choose(choices, p.gemm.workspace) != blas_choice::none) return;
  }
  use_our_kernel(number, by);
}

/// As it is recorded; else of all ways that run the fastest, each by its own fastest algorithm.
void executor::state::choose_by_time(std::size_t number, const operands& x, const stream& on,
                                     const blas_choices& before, blas_choices& choices) {
  const product& p = plan.products[number];
  gemm& by = gemm_of(number);
  const auto choose = [&](gemm& g) {
    return g.call.try_choose_by_time(choices, on, operands_of(p, x), p.follows.scale, beta_of(p), x.workspace,
                                     p.gemm.workspace);
  };
  const blas_library& blas = by.call.blas();
  const blas_epilogue epilogue = request_of(plan, number, apart::nothing).epilogue;
  const bool is_plain = epilogue == blas_epilogue::none;
  const std::string key = key_of_way(number, call_of(number, apart::nothing, blas));
  const blas_algorithm* known = choices.find(key);
  // Of a record from before there was another way: its algorithm is what ran.
  if (known == nullptr && is_plain) known = before.find(by.call.key());
  if (known != nullptr) {
    const bool is_taken = known->left == by.left || take_recorded(number, known->left, blas, choices, by);
    if (is_taken && (by.left == apart::product || choose(by) == blas_choice::recorded)) {
      by.by_our_kernel = false;
      return;
    }
  }
  std::vector<gemm> found;
  for (const apart left : ways_of(epilogue)) {
    found.push_back({call_of(number, left, blas), left});
    if (choose(found.back()) == blas_choice::none) found.pop_back();
  }
  const bool lacks_call = found.empty(), lacks_epilogue = !lacks_call && found[0].left != apart::nothing;
  if (const small_product made = small_product_at(number); made.m > 0) {
    found.push_back({call_of(number, apart::product, blas), apart::product});
    found.back().small = made;
  }
  if (found.empty()) {
    by = {call_of(number, ways_of(epilogue).back(), blas)};
    return use_our_kernel(number, by);
  }
  std::size_t best = 0;
  if (found.size() > 1) {
    const std::vector<float> time = time_in_turns(on, found.size(), [&](std::size_t i) {
      run_product(p, found[i], x, on, kernel_start::in_turn);
      return true;
    });
    best = static_cast<std::size_t>(std::min_element(time.begin(), time.end()) - time.begin());
  }
  const bool is_told = is_plain || found[best].left != apart::nothing;  // else an algorithm says it
  if (is_told && (found.size() > 1 || lacks_call)) {
    blas_algorithm way;
    way.left = found[best].left;
    choices.set(key, way);
  }
  by = std::move(found[best]);
  by.lacks_epilogue = lacks_epilogue && by.left != apart::product;
}

}  // namespace napkin::on_cuda
