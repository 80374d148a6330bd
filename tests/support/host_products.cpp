#include "support/host_products.hpp"

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "../../src/cuda/tile_product_launch.hpp"
#include "napkin/cuda/loop_product.hpp"
#include "napkin/cuda/small_product_body.hpp"
#include "support/host_warps.hpp"

namespace napkin::testing {
namespace {

/// By the loops of our own kernel: of few rows or columns.
template <dtype Type>
void run_loops(const on_cuda::product& p, const type_of<Type>* a, const type_of<Type>* b, type_of<Type>* c) {
  const on_cuda::loop_product l = on_cuda::loops_of(p);
  for (std::uint64_t i = 0; i < l.results; ++i) {
    auto sum = on_cuda::sum_of_lane<Type>(l, i, 0, a, b);
    for (unsigned lane = 1; lane < l.lanes; ++lane) sum += on_cuda::sum_of_lane<Type>(l, i, lane, a, b);
    on_cuda::store_result<Type>(l, i, c, sum);
  }
}

template <dtype Type, bool Narrow>
void run_product_tiles(const on_cuda::detail::tile_arguments& k) {
  using memory = on_cuda::detail::product_memory<Type, Narrow>;
  constexpr unsigned threads = on_cuda::product_tile_of(Type, Narrow).threads;
  struct alignas(16) piece {
    std::byte bytes[16];
  };
  std::vector<piece> shared((sizeof(memory) + sizeof(piece) - 1) / sizeof(piece));
  host_block& block = host_block::of(threads);
  for (std::uint64_t i = 0; i < k.how.blocks(); ++i) {
    std::memset(static_cast<void*>(shared.data()), 0x7f, shared.size() * sizeof(piece));
    std::vector<host_warp> warps(threads / 32);
    block.run([&](unsigned thread) {
      host_machine machine(block, warps, thread);
      on_cuda::detail::tile_thread<host_machine, Type, Narrow>(machine, k,
                                                               *reinterpret_cast<memory*>(shared.data()))
          .run(i);
    });
  }
  if (k.how.splits > 1)
    for (std::uint64_t i = 0; i < k.how.results(); ++i) on_cuda::detail::add_splits<Type>(k, i);
}

}  // namespace

void contract_on_host(const on_cuda::product& p, const void* a, const void* b, void* c, void* workspace) {
  if (on_cuda::takes_tiles(p.loops)) {
    const on_cuda::detail::tile_arguments k = on_cuda::detail::tile_arguments_of(p, a, b, c, workspace);
    on_cuda::detail::dispatch_tiles(p.type, k.how.narrow,
                                    [&]<dtype Type, bool Narrow>() { run_product_tiles<Type, Narrow>(k); });
    return;
  }
  on_cuda::detail::dispatch_tiles(p.type, false, [&]<dtype Type, bool>() {
    using T = type_of<Type>;
    run_loops<Type>(p, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(c));
  });
}

void multiply_small_on_host(const on_cuda::small_product& p) {
  const on_cuda::detail::small_dealing dealing(p);
  on_cuda::detail::dispatch_small(p, [&]<dtype Type, bool AAlongRows, bool BAlongColumns, bool AtOnce>() {
    auto shared = std::make_unique<on_cuda::detail::small_memory>();
    host_block& block = host_block::of(dealing.warps * 32);
    for (unsigned i = 0; i < p.blocks(); ++i) {
      std::memset(static_cast<void*>(shared.get()), 0x7f, sizeof(*shared));
      std::vector<host_warp> warps(dealing.warps);
      block.run([&](unsigned thread) {
        host_machine machine(block, warps, thread);
        on_cuda::detail::small_thread<host_machine, Type, AAlongRows, BAlongColumns, AtOnce>(machine, p,
                                                                                             dealing, *shared)
            .run(i);
      });
    }
  });
}

namespace {

template <dtype Type, dtype Result>
void run_gemm(const on_cuda::product& p, const type_of<Type>* a, const type_of<Type>* b,
              const type_of<Result>* added, type_of<Result>* c) {
  const on_cuda::blas_product& g = p.gemm;
  if (g.swapped) std::swap(a, b);
  const auto at = [](const on_cuda::blas_matrix& x, std::uint64_t i, std::uint64_t j, std::uint64_t t) {
    return static_cast<std::int64_t>(i) + static_cast<std::int64_t>(j) * x.ld +
           static_cast<std::int64_t>(t) * x.batch_stride;
  };
  g.for_each_call([&](std::ptrdiff_t to_a, std::ptrdiff_t to_b, std::ptrdiff_t to_c, bool begins) {
    for (std::uint64_t t = 0; t < g.batch; ++t)
      for (std::uint64_t i = 0; i < g.m; ++i)
        for (std::uint64_t j = 0; j < g.n; ++j) {
          const std::int64_t to = to_c + at(g.c, i, j, t);
          double sum = 0;
          for (std::uint64_t l = 0; l < g.k; ++l)
            sum += static_cast<double>(a[to_a + (g.transpose_a ? at(g.a, l, i, t) : at(g.a, i, l, t))]) *
                   static_cast<double>(b[to_b + (g.transpose_b ? at(g.b, j, l, t) : at(g.b, l, j, t))]);
          sum *= p.follows.scale;
          if (!begins) sum += static_cast<double>(c[to]);
          if (begins && added != nullptr) sum += static_cast<double>(added[to]);
          c[to] = static_cast<type_of<Result>>(sum);
        }
  });
}
}  // namespace

void run_product(const on_cuda::product& p, const void* a, const void* b, const void* added, void* c,
                 void* workspace) {
  if (!p.gemm.possible) return contract_on_host(p, a, b, c, workspace);
  dispatch(p.type, [&]<class T>(std::type_identity<T>) {
    if constexpr (is_floating(dtype_of<T>)) {
      const auto *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
      if (p.gemm.c.type == dtype_of<T>)
        run_gemm<dtype_of<T>, dtype_of<T>>(p, x, y, static_cast<const T*>(added), static_cast<T*>(c));
      else
        run_gemm<dtype_of<T>, dtype::f32>(p, x, y, static_cast<const float*>(added), static_cast<float*>(c));
    }
  });
}

namespace {

template <dtype Type, unsigned Width>
void finish_all(const on_cuda::finish_arguments& k) {
  for (std::uint64_t i = 0; i < k.elements() / Width; ++i) on_cuda::finish_elements<Type, Width>(k, i);
}

/// As the kernel of so many lanes: each lane's terms, and those sums in the lanes' order.
template <dtype Type, unsigned Width>
void add_up(const on_cuda::sum_arguments& k, unsigned lanes) {
  for (std::uint64_t split = 0; split < k.splits(); ++split)
    for (std::uint64_t first = 0; first < k.sums; first += Width) {
      float all[Width] = {};
      for (unsigned lane = 0; lane < lanes; ++lane) {
        float sums[Width] = {};
        on_cuda::add_terms<Type, Width>(k, first, split, lane, lanes, sums);
        for (unsigned e = 0; e < Width; ++e) all[e] += sums[e];
      }
      for (unsigned e = 0; e < Width; ++e) on_cuda::put_sum(k, split, first + e, all[e]);
    }
}

}  // namespace

void finish_on_host(const on_cuda::product& p, on_cuda::apart left, const on_cuda::finish_operands& at) {
  const on_cuda::finish_arguments k(p, at);
  if (left == on_cuda::apart::all && k.changes_elements())
    on_cuda::for_epilogue_type(p.follows.type, [&](auto type) {
      constexpr unsigned most = on_cuda::most_adjacent(type());
      k.may_move(most) ? finish_all<type(), most>(k) : finish_all<type(), 1>(k);
    });
  const on_cuda::sum_arguments s(p, at);
  const on_cuda::sum_dealing d(s, at.workspace, p.gemm.workspace);
  on_cuda::for_epilogue_type(s.from_type, [&](auto from) {
    constexpr unsigned most = on_cuda::most_adjacent(from());
    d.width > 1 ? add_up<from(), most>(d.parts, on_cuda::sum_lanes)
                : add_up<from(), 1>(d.parts, on_cuda::sum_lanes);
  });
  if (d.join.sums > 0) add_up<dtype::f32, 1>(d.join, on_cuda::join_lanes);
}

void round_on_host(dtype type, const std::byte* from, std::byte* to, std::size_t size) {
  on_cuda::for_epilogue_type(type, [&](auto t) {
    for (std::size_t i = 0; i < size; ++i) {
      const auto at = static_cast<std::int64_t>(i);
      on_cuda::put_element<t()>(to, at, on_cuda::element_at<dtype::f32>(from, at));
    }
  });
}

}  // namespace napkin::testing
