// The device's executor: arguments laid out, and the walk over the plan's table.
#include "napkin/cuda/executor.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "napkin/cuda/attention.hpp"
#include "napkin/cuda/between_instructions.hpp"
#include "napkin/cuda/contract.hpp"
#include "napkin/cuda/finish.hpp"
#include "napkin/cuda/movement_call.hpp"
#include "napkin/cuda/taken_product.hpp"
#include "napkin/cuda/time_in_turns.hpp"
#include "napkin/plan/task_order.hpp"
#include "napkin/plan/uses.hpp"

namespace napkin::on_cuda {

struct executor::state {
  plan_view plan;
  const kernel_entry* kernels;
  std::byte* arena;
  index_fault* fault;
  std::span<const void* const> inputs;
  std::span<void* const> outputs;

  // By kernel: where its arguments begin, and where its column sums go.
  struct alignas(16) piece {
    std::byte bytes[16];
  };
  std::vector<piece> arguments;
  std::vector<std::size_t> first_piece;
  std::vector<column_target> column_targets;  // as plan.columns

  /// A product that cuBLASLt runs, if it has an algorithm.
  struct gemm {
    blas_call call;
    apart left = apart::nothing;  // what our own kernels do, instead of the call or behind it
    bool lacks_epilogue = false;  // for want of an algorithm with it, and not by choice
    bool by_our_kernel = false;   // it has no algorithm at all, so far as is known
    small_product small{};        // if left is apart::product
  };
  std::vector<gemm> gemms;                   // of plan.products, in order
  std::vector<std::ptrdiff_t> product_call;  // by product: which of `gemms`; -1: it is none
  struct operands {
    const std::byte *a, *b;
    std::byte *c, *workspace, *vector, *added, *auxiliary;
    const std::byte* factors[most_factors];
  };
  std::vector<operands> contractions;
  std::vector<movement_call> movements;
  std::vector<attention_addresses> attentions;
  /// By instruction: the product that its kernel may take in, and whether it does.
  struct taking {
    taken_product of;
    small_product small{};
    bool is = false;
  };
  std::vector<taking> takings;
  std::vector<std::int32_t> taken_by;     // by instruction: the kernel that has the product; -1: none
  std::vector<std::size_t> life_offsets;  // bytes into the arena
  captured_graph graph;

  blas_call call_of(std::size_t number, apart left, const blas_library& blas) const;
  bool take_recorded(std::size_t number, apart left, const blas_library& blas, blas_choices& choices,
                     gemm& to);
  void choose(std::size_t number, const blas_library& blas, blas_choices& choices);
  void choose_by_time(std::size_t number, const operands& x, const stream& on, const blas_choices& before,
                      blas_choices& choices);
  small_product small_product_at(std::size_t number) const;
  std::string key_of_way(std::size_t number, const blas_call& call) const;
  /// Nothing of cuBLASLt's runs the product: by our own kernel, unless something follows it.
  void use_our_kernel(std::size_t number, gemm& by) {
    const product& p = plan.products[number];
    if (!(p.follows == passes::epilogue_form{}) || is_8_bit_float(p.type)) by.call.refuse(p.gemm.workspace);
    by.by_our_kernel = true;
  }
  void find_takings(const blas_library& blas, const blas_choices& choices);
  std::string key_of_taking(std::size_t instruction, const blas_library& blas) const;
  void set_taking(std::size_t instruction, bool is) {
    taking& t = takings[instruction];
    std::int32_t& by = taken_by[static_cast<std::size_t>(t.of.instruction)];
    const auto me = static_cast<std::int32_t>(instruction);
    t.is = is && (by < 0 || by == me);  // the first that reads a product has it
    if (t.is)
      by = me;
    else if (by == me)
      by = -1;
  }
  const contraction_record& taken_contraction(std::size_t instruction) const {
    return plan.contractions[plan.instructions[takings[instruction].of.instruction].index];
  }
  struct memory_range {
    std::uintptr_t begin, end;
  };
  memory_range range_of(const location& l, std::int32_t time) const;
  /// What the kernel writes may lie where an operand of the product did, which then is dead: but blocks of
  /// one kernel do not wait for one another.
  bool writes_over_operands(std::size_t instruction) const;
  /// Nothing between the product and its kernel waits for the product: it may as well run with the kernel.
  /// And its operands lie as the kernel wants them.
  bool may_take(const planning::task_order& order, std::size_t instruction) const;
  small_product bound_taken(std::size_t instruction) const;
  void run_taking(std::size_t instruction, const void* with, const stream& on, kernel_start start);
  gemm& gemm_of(std::size_t product) { return gemms[static_cast<std::size_t>(product_call[product])]; }

  /// Where a product's call finds its vector: a rounded one lies behind the workspace, as arrays of addresses
  /// do where there are several calls, which have no vector.
  static std::byte* vector_of(const product& p, const operands& x) {
    return p.follows.rounds_vector() ? x.workspace + p.gemm.workspace : x.vector;
  }
  static blas_operands operands_of(const product& p, const operands& x) {
    return {x.a,
            x.b,
            x.c,
            x.added,
            vector_of(p, x),
            x.auxiliary,
            {x.factors[0], x.factors[1]},
            x.workspace + p.gemm.workspace};
  }
  static double beta_of(const product& p) { return p.follows.adds ? 1 : 0; }

  /// By kernels behind the product's call, or behind our own.
  static bool is_followed(const product& p, const gemm& by) {
    if (by.left == apart::product) return p.follows.sums != passes::summed::none;
    return by.left != apart::nothing;
  }
  static void put(const stream& on, kernel_start start, function_ref<void()> kernel) {
    if (start == kernel_start::early)
      put_early(on, kernel);
    else
      kernel();
  }
  /// At its operands' addresses. What does not lie as it was promised moves element by element, to the same
  /// sums.
  static small_product bound(const product& p, small_product made, const operands& x, std::byte* vector) {
    made.a = p.gemm.swapped ? x.b : x.a, made.b = p.gemm.swapped ? x.a : x.b;
    if (p.follows.adds) made.added = x.added == nullptr ? x.c : x.added;
    made.then.result = x.c, made.then.vector = vector, made.then.auxiliary = x.auxiliary;
    made.fetches_at_once = made.fetches_at_once && is_aligned(made.a) && is_aligned(made.b);
    made.stores_at_once = made.stores_at_once && is_aligned(x.c) && is_aligned(vector) &&
                          is_aligned(made.added) && is_aligned(x.auxiliary);
    return made;
  }
  static void round_vector_first(const product& p, const operands& x, const stream& on, kernel_start start) {
    const passes::epilogue_form& then = p.follows;
    if (!then.rounds_vector()) return;
    put(on, start,
        [&] { round_vector(then.type, x.vector, vector_of(p, x), then.vector_size, on.handle()); });
    on.check_launch("a vector's kernel");
  }
  static void run_product(const product& p, gemm& by, const operands& x, const stream& on,
                          kernel_start start) {
    const passes::epilogue_form& then = p.follows;
    std::byte* const vector = vector_of(p, x);
    round_vector_first(p, x, on, start);
    if (by.left == apart::product) {
      const small_product made = bound(p, by.small, x, vector);
      put(on, start, [&] { multiply_small(made, on.handle()); });
      on.check_launch("a product's kernel");
    } else {
      by.call.run(on, operands_of(p, x), then.scale, beta_of(p), x.workspace);
    }
    if (!is_followed(p, by)) return;
    put(on, start, [&] {
      finish_product(p, by.left, {x.a, x.b, x.c, vector, x.auxiliary, x.workspace}, on.handle());
    });
    on.check_launch("an epilogue's kernel");
  }

  /// The arena begins at a multiple of 256, its buffers at one of 64.
  std::byte* workspace_of(const contraction_record& r) const {
    const std::size_t a = plan.products[r.product].gemm.workspace > 0 ? workspace_alignment : 1;
    return arena + (r.workspace + a - 1) / a * a;
  }

  planning::task_order order_by_data() const {
    return planning::order_tasks(
        plan, true, [this](const location& l) { return reinterpret_cast<std::uintptr_t>(address(l)); },
        [this](std::size_t contraction) { return uses_workspace(contraction); });
  }
  /// An algorithm of cuBLASLt's that takes none leaves it to others.
  bool uses_workspace(std::size_t contraction) const {
    const auto number = static_cast<std::size_t>(plan.contractions[contraction].product);
    if (product_call[number] < 0) return true;
    const gemm& by = gemms[static_cast<std::size_t>(product_call[number])];
    const blas_algorithm& algorithm = by.call.algorithm();
    const product& p = plan.products[number];
    return by.by_our_kernel || is_followed(p, by) || algorithm.workspace > 0 || algorithm.by_addresses ||
           p.follows.rounds_vector();
  }

  std::byte* address(const location& l) const {
    switch (l.where) {
      case region::input:
        return const_cast<std::byte*>(static_cast<const std::byte*>(inputs[l.at]));
      case region::output:
        return static_cast<std::byte*>(outputs[l.at]);
      case region::arena:
        break;
    }
    return arena + l.at;
  }
};

namespace {

/// The largest power of two, up to 256, that divides an offset.
std::size_t alignment_of(std::ptrdiff_t offset) {
  std::size_t a = 256;
  while (static_cast<std::size_t>(offset) % a != 0) a /= 2;
  return a;
}

using planning::epilogue_operand;

/// The kernel by what it computes, however its buffers lie.
std::uint64_t hash_of(const plan_view& p, const kernel_record& r) {
  std::string text;
  const auto add = [&](auto... x) { ((text += std::to_string(static_cast<long long>(x)) + ' '), ...); };
  const program_record& program = p.programs[r.program];
  for (std::int32_t i = program.first_step; i < program.first_step + program.steps; ++i) {
    const passes::kernel_step& s = p.steps[i];
    add(s.what, s.kind, s.type, s.at, s.along, s.phase, s.a, s.b, s.c);
  }
  for (std::int32_t i = 0; i < r.outer_rank + r.inner_rank; ++i) add(p.sizes[r.first_size + i]);
  add(r.outer_rank, r.walks_per_block, r.layout.team, r.layout.vector, r.layout.groups);
  fnv1a hash;
  hash.add(text);
  return hash.value;
}

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

executor::executor(const plan_view& p, const kernel_entry* kernels, std::byte* arena, index_fault* fault,
                   const blas_library& blas, blas_choices& choices)
    : state_(std::in_place) {
  state& s = *state_;
  s.plan = p;
  s.kernels = kernels;
  s.arena = arena;
  s.fault = fault;
  std::size_t pieces = 0;
  for (std::size_t i = 0; i < p.count.kernels; ++i) {
    s.first_piece.push_back(pieces);
    pieces += (kernels[i].argument_bytes + sizeof(state::piece) - 1) / sizeof(state::piece);
  }
  s.arguments.resize(pieces);
  s.column_targets.resize(p.count.columns);
  s.contractions.resize(p.count.contractions);
  s.movements.reserve(p.count.movements);
  s.attentions.resize(p.count.attentions);
  for (std::size_t i = 0; i < p.count.products; ++i) {
    const product& made = p.products[i];
    s.product_call.push_back(made.gemm.possible ? static_cast<std::ptrdiff_t>(s.gemms.size()) : -1);
    if (made.gemm.possible) s.choose(i, blas, choices);
  }
  s.find_takings(blas, choices);
}

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

void executor::state::find_takings(const blas_library& blas, const blas_choices& choices) {
  takings.resize(plan.count.instructions);
  taken_by.assign(plan.count.instructions, -1);
  const auto memory = planning::plan_memory_of(plan.lives, plan.count.lives);
  life_offsets.assign(memory.offsets.data(), memory.offsets.data() + memory.offsets.size());
  for (std::size_t i = 0; i < plan.count.instructions; ++i) {
    const instruction& now = plan.instructions[i];
    if (now.kind != unit_kind::kernel || kernels[now.index].take == nullptr) continue;
    taking& t = takings[i];
    t.of = find_taken(plan, i);
    if (!t.of.found() || !(t.of.form == kernels[now.index].takes)) {
      t.of = {};
      continue;
    }
    t.small = small_product_at(static_cast<std::size_t>(taken_contraction(i).product));
    const blas_algorithm* const known = choices.find(key_of_taking(i, blas));
    if (known != nullptr && known->left == apart::product) set_taking(i, true);
  }
}

std::string executor::state::key_of_taking(std::size_t i, const blas_library& blas) const {
  const instruction& now = plan.instructions[i];
  const auto number = static_cast<std::size_t>(taken_contraction(i).product);
  return call_of(number, apart::nothing, blas).key() + " then kernel " +
         std::to_string(hash_of(plan, plan.kernels[now.index]));
}

/// Of a tensor that is handed in or out one byte: two are the same memory or have none in common.
executor::state::memory_range executor::state::range_of(const location& l, std::int32_t time) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(address(l));
  if (l.where != region::arena) return {begin, begin + 1};
  for (std::size_t life = 0; life < plan.count.lives; ++life) {
    const passes::lifetime& x = plan.lives[life];
    if (life_offsets[life] == l.at && x.first <= time && time <= x.last && x.bytes > 0)
      return {begin, begin + x.bytes};
  }
  return {begin, begin};
}

bool executor::state::writes_over_operands(std::size_t instruction) const {
  const planning::instruction &kernel = plan.instructions[instruction],
                              &product = plan.instructions[takings[instruction].of.instruction];
  std::vector<memory_range> written;
  planning::for_each_place_of(plan, kernel, [&](const location& l, const planning::place_use& u) {
    if (u.written && !u.joined) written.push_back(range_of(l, kernel.time));
  });
  for (std::size_t w = 0; w < plan.count.workspaces; ++w)
    if (plan.workspaces[w].kernel == kernel.index) {
      const auto life = static_cast<std::size_t>(plan.workspaces[w].life);
      const auto begin = reinterpret_cast<std::uintptr_t>(arena) + life_offsets[life];
      written.push_back({begin, begin + plan.lives[life].bytes});
    }
  bool meet = false;
  planning::for_each_place_of(plan, product, [&](const location& l, const planning::place_use& u) {
    if (u.written) return;
    const memory_range read = range_of(l, product.time);
    for (const memory_range& x : written) meet = meet || (x.begin < read.end && read.begin < x.end);
  });
  return meet;
}

bool executor::state::may_take(const planning::task_order& order, std::size_t instruction) const {
  const small_product made = bound_taken(instruction);
  if (!made.fetches_at_once || !made.stores_at_once || writes_over_operands(instruction)) return false;
  std::int32_t product = -1;
  for (std::size_t t = 0; t < order.tasks.size(); ++t) {
    const auto now = static_cast<std::size_t>(order.tasks[t].instruction);
    if (now == instruction) return product >= 0;
    if (product >= 0)
      for (const std::int32_t b : order.waits(t))
        if (b == product) return false;
    if (static_cast<std::int32_t>(now) == takings[instruction].of.instruction)
      product = static_cast<std::int32_t>(t);
  }
  return false;
}

small_product executor::state::bound_taken(std::size_t instruction) const {
  const planning::instruction& of = plan.instructions[takings[instruction].of.instruction];
  const product& p = plan.products[plan.contractions[of.index].product];
  const operands& x = contractions[static_cast<std::size_t>(of.index)];
  small_product made = bound(p, takings[instruction].small, x, vector_of(p, x));
  if (!takings[instruction].of.is_stored) made.then.result = nullptr;
  return made;
}

void executor::state::run_taking(std::size_t instruction, const void* with, const stream& on,
                                 kernel_start start) {
  const small_product made = bound_taken(instruction);
  const kernel_entry& kernel = kernels[plan.instructions[instruction].index];
  put(on, start, [&] { kernel.take(with, made, on.handle()); });
  on.check_launch("a fused kernel with its product");
}

executor::~executor() = default;

void executor::bind(std::span<const void* const> inputs, std::span<void* const> outputs) {
  state& s = *state_;
  const plan_view& p = s.plan;
  s.inputs = inputs;
  s.outputs = outputs;
  s.graph = {};
  std::vector<std::byte*> memory;
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < p.count.columns; ++i) {
    s.column_targets[i].to = s.address(p.columns[i].to);
    if (p.columns[i].adds) s.column_targets[i].added = s.address(p.columns[i].added);
  }
  for (std::size_t i = 0; i < p.count.kernels; ++i) {
    const kernel_record& r = p.kernels[i];
    memory.clear();
    for (int a = 0; a < r.accesses; ++a) {
      const access_record& from = p.accesses[r.first_access + a];
      memory.push_back(s.address(from.base) + from.offset);
    }
    begins.clear();
    for (int c = 0; c < r.columns; ++c) begins.push_back(p.columns[r.first_column + c].begin);
    kernel_memory k;
    k.memory = memory.data(), k.accesses = memory.size();
    k.constants = p.constants + r.first_constant, k.constants_count = static_cast<std::size_t>(r.constants);
    k.scratch = s.arena + r.scratch, k.scratch_per_team = r.scratch_per_block;
    k.slots = p.slots + r.first_slot, k.slots_count = static_cast<std::size_t>(r.slots);
    k.partials = s.arena + r.partials, k.partials_per_team = r.partials_per_block;
    k.columns = begins.data(), k.columns_count = begins.size();
    s.kernels[i].fill(k, s.arguments.data() + s.first_piece[i]);
  }
  for (std::size_t i = 0; i < p.count.contractions; ++i) {
    const contraction_record& r = p.contractions[i];
    const auto other = [&](epilogue_operand x) {
      return r.of(x).bytes > 0 ? s.address(r.of(x).at) : nullptr;
    };
    s.contractions[i] = {s.address(r.a) + r.a_offset,
                         s.address(r.b) + r.b_offset,
                         s.address(r.c),
                         s.workspace_of(r),
                         other(epilogue_operand::vector),
                         other(epilogue_operand::added),
                         other(epilogue_operand::auxiliary),
                         {other(epilogue_operand::first_factor), other(epilogue_operand::second_factor)}};
  }
  for (std::size_t i = 0; i < p.count.attentions; ++i)
    for (std::size_t x = 0; x < passes::attention_tensors; ++x) {
      const attention_operand& from = p.attentions[i].operands[x];
      s.attentions[i].of[x] = from.there ? s.address(from.at) + from.offset : nullptr;
    }
  s.movements.clear();
  for (std::size_t i = 0; i < p.count.movements; ++i) {
    const movement_record& r = p.movements[i];
    const bool indexed = planning::looks_up(r.kind);
    s.movements.emplace_back(r, movement_addresses{s.address(r.from) + r.from_offset,
                                                   indexed ? s.address(r.index) + r.index_offset : nullptr,
                                                   s.address(r.to), s.arena + r.workspace, s.fault});
  }
  if (taken_products() == 0) return;
  const planning::task_order order = s.order_by_data();
  for (std::size_t i = 0; i < s.takings.size(); ++i)
    if (s.takings[i].is && !s.may_take(order, i)) s.set_taking(i, false);
}

void executor::choose_by_time(const stream& on, blas_choices& choices) {
  state& s = *state_;
  s.graph = {};
  const blas_choices before = choices;
  std::vector<bool> chosen(s.plan.count.products, false);
  for (std::size_t i = 0; i < s.plan.count.contractions; ++i) {
    const auto number = static_cast<std::size_t>(s.plan.contractions[i].product);
    if (chosen[number] || s.product_call[number] < 0) continue;
    chosen[number] = true;
    s.choose_by_time(number, s.contractions[i], on, before, choices);
  }
  choose_takings_by_time(on, choices);
}

/// Products by then run in their own fastest way.
void executor::choose_takings_by_time(const stream& on, blas_choices& choices) {
  state& s = *state_;
  planning::task_order order;
  for (std::size_t i = 0; i < s.takings.size(); ++i) {
    const state::taking& t = s.takings[i];
    if (!t.of.found()) continue;
    if (order.tasks.empty()) order = s.order_by_data();
    s.set_taking(i, false);
    if (!s.may_take(order, i)) continue;
    const auto product = static_cast<std::size_t>(s.taken_contraction(i).product);
    const std::string key = s.key_of_taking(i, s.gemm_of(product).call.blas());
    const blas_algorithm* const known = choices.find(key);
    blas_algorithm way;
    if (known != nullptr) {
      way = *known;
    } else {
      const auto index = static_cast<std::size_t>(s.plan.instructions[i].index);
      const std::vector<float> time = time_in_turns(on, 2, [&](std::size_t taken) {
        if (taken == 0) {
          launch(static_cast<std::size_t>(t.of.instruction), launches::all, on, kernel_start::in_turn);
          launch(i, launches::without_joins, on, kernel_start::in_turn);
        } else {
          s.run_taking(i, s.arguments.data() + s.first_piece[index], on, kernel_start::in_turn);
        }
        return true;
      });
      way.left = time[1] < time[0] ? apart::product : apart::nothing;
      choices.set(key, way);
    }
    s.set_taking(i, way.left == apart::product);
  }
}

blas_fallbacks executor::fallbacks() const {
  const state& s = *state_;
  blas_fallbacks n;
  for (std::size_t i = 0; i < s.plan.count.contractions; ++i) {
    const std::ptrdiff_t call = s.product_call[static_cast<std::size_t>(s.plan.contractions[i].product)];
    if (call < 0) continue;  // the plan says so
    const state::gemm& by = s.gemms[static_cast<std::size_t>(call)];
    n.products += by.by_our_kernel;
    n.unfused_epilogues += by.lacks_epilogue;
  }
  return n;
}

std::size_t executor::epilogues_apart() const {
  const state& s = *state_;
  std::size_t n = 0;
  for (std::size_t i = 0; i < s.plan.count.contractions; ++i) {
    const auto number = static_cast<std::size_t>(s.plan.contractions[i].product);
    const std::ptrdiff_t call = s.product_call[number];
    if (call < 0) continue;
    const state::gemm& by = s.gemms[static_cast<std::size_t>(call)];
    n += state::is_followed(s.plan.products[number], by) && !by.lacks_epilogue;
  }
  return n;
}

std::size_t executor::taken_products() const {
  std::size_t n = 0;
  for (const std::int32_t by : state_->taken_by) n += by >= 0;
  return n;
}

std::size_t executor::small_products() const {
  const state& s = *state_;
  std::size_t n = 0;
  for (std::size_t i = 0; i < s.plan.count.contractions; ++i) {
    const std::ptrdiff_t call = s.product_call[static_cast<std::size_t>(s.plan.contractions[i].product)];
    n += call >= 0 && s.gemms[static_cast<std::size_t>(call)].left == apart::product;
  }
  return n;
}

void executor::run(const stream& on, kernel_start start) {
  for (std::size_t i = 0; i < state_->plan.count.instructions; ++i) run_instruction(i, on, start);
}
void executor::run_timed(const stream& on, std::span<double> seconds) {
  using clock = std::chrono::steady_clock;
  on.synchronize();
  for (std::size_t i = 0; i < state_->plan.count.instructions; ++i) {
    const clock::time_point begin = clock::now();
    run_instruction(i, on);
    on.synchronize();
    seconds[i] += std::chrono::duration<double>(clock::now() - begin).count();
  }
}
void executor::run_first_output(const stream& on) {
  const state& s = *state_;
  for (std::size_t i = 0; i < s.plan.count.instructions; ++i) {
    if (!s.plan.instructions[i].first_output) continue;
    const std::int32_t by = s.taken_by[i];
    // by a kernel that is not needed: then by itself
    if (by >= 0 && !s.plan.instructions[by].first_output)
      launch_product(i, on, kernel_start::in_turn);
    else
      run_instruction(i, on);
  }
}
void executor::replay(const stream& on) {
  if (state_->graph.empty()) state_->graph = captured_graph(on, [&] { run(on); });
  state_->graph.launch(on);
}

void executor::put_by_data(const stream& capturing, kernel_start start) {
  state& s = *state_;
  const planning::task_order order = s.order_by_data();
  const capture_point begin(capturing);
  std::vector<capture_point> behind(order.tasks.size());
  std::vector<const capture_point*> before, last;
  for (std::size_t t = 0; t < order.tasks.size(); ++t) {
    const planning::task& now = order.tasks[t];
    before.clear();
    for (const std::int32_t b : order.waits(t)) before.push_back(&behind[static_cast<std::size_t>(b)]);
    if (before.empty()) before.push_back(&begin);
    capture_point::behind(before).go_on(capturing);
    const auto i = static_cast<std::size_t>(now.instruction);
    launch(i, now.joins ? launches::joins : launches::without_joins, capturing, start);
    behind[t] = capture_point(capturing);
    // who waits for a product that a kernel has taken in waits for the kernel
    if (s.takings[i].is && !now.joins)
      for (std::size_t b = 0; b < t; ++b)
        if (order.tasks[b].instruction == s.takings[i].of.instruction) behind[b] = behind[t];
    if (!order.followed[t]) last.push_back(&behind[t]);
  }
  if (last.empty()) last.push_back(&begin);
  capture_point::behind(last).go_on(capturing);
}
bool executor::has_calls_beside() const { return !state_->order_by_data().is_a_line(); }

void executor::run_instruction(std::size_t i, const stream& on, kernel_start start) {
  const state& s = *state_;
  if (s.taken_by[i] >= 0) return;
  const bound_plan here{s.plan, s.arena, s.inputs, s.outputs, s.fault, s.taken_by};
  before_instruction(here, i, on);
  launch(i, launches::all, on, start);
  after_instruction(here, i, on);
}

void executor::launch(std::size_t i, launches which, const stream& on, kernel_start start) {
  state& s = *state_;
  const instruction& now = s.plan.instructions[i];
  const auto index = static_cast<std::size_t>(now.index);
  switch (now.kind) {
    case unit_kind::kernel: {
      const void* const arguments = s.arguments.data() + s.first_piece[index];
      if (which != launches::joins && s.takings[i].is)
        s.run_taking(i, arguments, on, start);
      else if (which != launches::joins)
        state::put(on, start, [&] { s.kernels[index].launch(arguments, on.handle()); });
      if (which != launches::without_joins && s.plan.kernels[index].columns > 0)
        state::put(on, start, [&] {
          s.kernels[index].join(arguments, s.column_targets.data() + s.plan.kernels[index].first_column,
                                on.handle());
        });
      on.check_launch("a fused kernel");
      break;
    }
    case unit_kind::contraction:
      if (s.taken_by[i] < 0) launch_product(i, on, start);
      break;
    case unit_kind::gather:
    case unit_kind::scatter_add:
    case unit_kind::pad:
    case unit_kind::concat:
      state::put(on, start, [&] { s.movements[index].run(on.handle()); });
      on.check_launch("a movement");
      break;
    case unit_kind::attention:
      state::put(on, start, [&] { attend(s.plan.attentions[index], s.attentions[index], on.handle()); });
      on.check_launch("an attention's kernel");
      break;
  }
}

void executor::launch_product(std::size_t i, const stream& on, kernel_start start) {
  state& s = *state_;
  const auto index = static_cast<std::size_t>(s.plan.instructions[i].index);
  const auto product = static_cast<std::size_t>(s.plan.contractions[index].product);
  const state::operands& x = s.contractions[index];
  if (s.product_call[product] < 0 || s.gemm_of(product).by_our_kernel) {
    state::put(on, start,
               [&] { contract(s.plan.products[product], x.a, x.b, x.c, x.workspace, on.handle()); });
    on.check_launch("a contraction's kernel");
  } else {
    state::run_product(s.plan.products[product], s.gemm_of(product), x, on, start);
  }
}

}  // namespace napkin::on_cuda
