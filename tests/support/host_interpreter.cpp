#include "support/host_interpreter.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "napkin/core/error.hpp"
#include "napkin/cpu/interpret_kernel.hpp"
#include "support/host_device.hpp"
#include "support/run_teams.hpp"

namespace napkin::testing {

namespace {

const on_cuda::plan_view* plan_at_work = nullptr;

/// What a launch is given; behind it, the addresses of its accesses.
struct call {
  std::int32_t kernel = 0;
  std::byte *scratch = nullptr, *partials = nullptr;
};
std::byte** addresses_of(void* call_at) {
  return reinterpret_cast<std::byte**>(static_cast<std::byte*>(call_at) + sizeof(call));
}

/// Kernel k of the plan as the interpreter is called with it: by whole rows, whatever pieces of them the
/// device's teams take.
class interpreted_kernel {
 public:
  interpreted_kernel(const on_cuda::plan_view& p, const call& c, std::byte* const* memory)
      : plan_(p), record_(p.kernels[c.kernel]), call_(c), memory_(memory, memory + record_.accesses) {}

  void run() const {
    const planning::kernel_record& r = record_;
    std::vector<on_cpu::kernel_memory> memory(memory_.size());
    for (std::size_t a = 0; a < memory.size(); ++a) {
      memory[a].data = memory_[a];
      const std::ptrdiff_t* by =
          plan_.strides + plan_.accesses[r.first_access + static_cast<std::int32_t>(a)].first_stride;
      std::copy_n(by, r.outer_rank, memory[a].outer);
      std::copy_n(by + r.outer_rank, r.inner_rank, memory[a].inner);
    }
    std::vector<std::size_t> columns;
    for (int i = 0; i < r.columns; ++i) columns.push_back(plan_.columns[r.first_column + i].begin);

    on_cpu::kernel_arguments k;
    k.index = static_cast<std::size_t>(call_.kernel);
    k.outer_rank = static_cast<std::size_t>(r.outer_rank);
    k.inner_rank = static_cast<std::size_t>(r.inner_rank);
    std::copy_n(plan_.sizes + r.first_size, r.outer_rank, k.outer);
    std::copy_n(plan_.sizes + r.first_size + r.outer_rank, r.inner_rank, k.inner);
    k.row_length = r.row_length;
    k.chunk = r.inner_rank == 0 ? 1 : k.inner[r.inner_rank - 1];
    k.walks = 1;
    for (std::size_t d = 0; d < k.outer_rank; ++d) k.walks *= k.outer[d];
    const bool by_teams = r.chunks == 1;  // else no sums are a team's own
    k.walks_per_block = by_teams ? r.walks_per_block : k.walks;
    k.memory = memory.data();
    k.constants = plan_.constants + r.first_constant;
    k.slots = plan_.slots + r.first_slot;
    k.partials = call_.partials;
    k.partials_per_block = r.partials_per_block;
    k.columns = columns.data();
    k.steps = plan_.steps + plan_.programs[r.program].first_step;
    k.step_count = static_cast<std::size_t>(plan_.programs[r.program].steps);

    // What a team keeps in registers is no memory of the plan's.
    std::vector<double> kept;
    if (r.scratch_per_block == 0 && r.slots > 0) {
      const std::size_t numbers =
          static_cast<std::size_t>(r.slots) * r.row_length + *std::max_element(k.slots, k.slots + r.slots);
      kept.resize(r.blocks * numbers);
      k.scratch = reinterpret_cast<std::byte*>(kept.data());
      k.scratch_per_block = numbers * sizeof(double);
    } else {
      k.scratch = call_.scratch, k.scratch_per_block = r.scratch_per_block;
    }
    for (std::size_t block = 0; block < (by_teams ? r.blocks : 1); ++block)
      on_cpu::interpret_kernel(k, block);
  }

  void join(const std::vector<on_cuda::column_target>& to) const {
    for (std::size_t i = 0; i < to.size(); ++i) {
      const planning::column_record& c = plan_.columns[record_.first_column + static_cast<std::int32_t>(i)];
      with_primitive(c.kind, [&]<op Kind>(primitive<Kind>) {
        if constexpr (is_reduction(Kind))
          dispatch(c.type, [&]<class T>(std::type_identity<T>) {
            if constexpr (!is_complex(dtype_of<T>))
              join_columns<Kind, dtype_of<T>>(call_.partials + c.begin, record_.partials_per_block,
                                              record_.blocks, record_.row_length, to[i].added, to[i].to);
          });
      });
    }
  }

  bool has_walks() const { return record_.walks > 0 || record_.columns > 0; }
  std::size_t columns() const { return static_cast<std::size_t>(record_.columns); }

 private:
  const on_cuda::plan_view& plan_;
  const planning::kernel_record& record_;
  call call_;
  std::vector<std::byte*> memory_;
};

interpreted_kernel kernel_of(const void* arguments) {
  const auto& c = *static_cast<const call*>(arguments);
  return {*plan_at_work, c, addresses_of(const_cast<void*>(arguments))};
}
void launch(const void* arguments, on_cuda::stream_handle on) {
  if (const interpreted_kernel k = kernel_of(arguments); k.has_walks())
    launched_on->launch(on, [k] { k.run(); });
}
void join(const void* arguments, const on_cuda::column_target* columns, on_cuda::stream_handle on) {
  const interpreted_kernel k = kernel_of(arguments);
  const std::vector<on_cuda::column_target> to(columns, columns + k.columns());
  launched_on->launch(on, [k, to] { k.join(to); });
}
template <int K>
void fill(const on_cuda::kernel_memory& from, void* to) {
  new (to) call{K, from.scratch, from.partials};
  std::copy_n(from.memory, from.accesses, addresses_of(to));
}

template <int... K>
constexpr auto list_fills(std::integer_sequence<int, K...>) {
  return std::array{&fill<K>...};
}

}  // namespace

interpreted_launches::interpreted_launches(const on_cuda::plan_view& of) {
  static constexpr auto fills = list_fills(std::make_integer_sequence<int, most_kernels>{});
  if (of.count.kernels > most_kernels) throw error("interpreted_launches: a plan of too many kernels");
  if (plan_at_work != nullptr) throw error("interpreted_launches: another plan's are there");
  plan_at_work = &of;
  for (std::size_t k = 0; k < of.count.kernels; ++k) {
    const auto accesses = static_cast<std::size_t>(of.kernels[k].accesses);
    entries_.push_back({sizeof(call) + accesses * sizeof(std::byte*), fills[k], &launch, &join});
  }
}
interpreted_launches::~interpreted_launches() { plan_at_work = nullptr; }

}  // namespace napkin::testing
