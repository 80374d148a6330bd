// The tasks of a planned contraction, and its two paths: oneDNN's sgemm and packed tiles.
#include "napkin/cpu/gemm.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>

#include "gemm_tile.hpp"
#include "napkin/core/dtype.hpp"
#include "napkin/core/error.hpp"
#include "napkin/cpu/threads.hpp"

#if defined(NAPKIN_HAS_DNNL)
#include <oneapi/dnnl/dnnl.h>
// Only a library that runs on the calling thread when told to gives the same bits with any pool.
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP || DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_SEQ
#define NAPKIN_USES_DNNL 1
#include <dlfcn.h>
#include <signal.h>
#endif
#endif

namespace napkin::on_cpu {
namespace {

using plan_type = contraction_plan;

struct offsets {
  std::ptrdiff_t a = 0, b = 0, c = 0;
};

/// Walks the product of some loops in row-major order.
class walk {
 public:
  walk(const inplace_vector<plan_type::loop, max_rank>& loops, std::size_t begin) : loops_(loops) {
    for (std::size_t i = loops.size(); i-- > 0;) {
      const plan_type::loop& l = loops[i];
      index_[i] = begin % l.size;
      begin /= l.size;
      const auto at = static_cast<std::ptrdiff_t>(index_[i]);
      now_.a += at * l.a, now_.b += at * l.b, now_.c += at * l.c;
    }
  }
  const offsets& now() const { return now_; }
  void next() {
    for (std::size_t i = loops_.size(); i-- > 0;) {
      const plan_type::loop& l = loops_[i];
      if (++index_[i] < l.size) {
        now_.a += l.a, now_.b += l.b, now_.c += l.c;
        return;
      }
      const auto back = static_cast<std::ptrdiff_t>(l.size - 1);
      now_.a -= back * l.a, now_.b -= back * l.b, now_.c -= back * l.c;
      index_[i] = 0;
    }
  }

 private:
  const inplace_vector<plan_type::loop, max_rank>& loops_;
  std::size_t index_[max_rank]{};
  offsets now_;
};

struct range {
  std::size_t begin, end;
  std::size_t size() const { return end - begin; }
  static range of_block(std::size_t block, std::size_t block_size, std::size_t extent) {
    return {block * block_size, std::min(extent, (block + 1) * block_size)};
  }
};

struct block {
  range batch, m, n, k;
  std::size_t k_index;
  block(const plan_type& p, std::size_t task) {
    // k varies fastest: the partial sums of one block of C are made together
    k_index = task % p.k_blocks();
    k = range::of_block(k_index, p.k_block, p.k);
    task /= p.k_blocks();
    n = range::of_block(task % p.n_blocks(), p.n_block, p.n);
    task /= p.n_blocks();
    m = range::of_block(task % p.m_blocks(), p.m_block, p.m);
    batch = range::of_block(task / p.m_blocks(), p.batch_block, p.batch_size());
  }
};

template <class T>
const T* at(const T* p, const range& i, std::ptrdiff_t i_stride, const range& j, std::ptrdiff_t j_stride) {
  return p + static_cast<std::ptrdiff_t>(i.begin) * i_stride +
         static_cast<std::ptrdiff_t>(j.begin) * j_stride;
}

/// A block of one product: c(m, n) = sum over outer_k and k. `To` is the element type, or the accumulator's
/// for a block of partial sums.
template <class From, class To>
struct product {
  const plan_type& p;
  const From *a, *b;  // of this batch element
  To* c;              // of this block
  std::ptrdiff_t c_m, c_n;
  range m, n, k;
};

// ---- by oneDNN

#if defined(NAPKIN_USES_DNNL)
/// While it lives, oneDNN works on the calling thread alone. The functions are looked up because they must
/// be those of whichever OpenMP library oneDNN was loaded with.
class one_omp_thread {
 public:
  one_omp_thread() {
    if (functions().get == nullptr || functions().set == nullptr) return;
    before_ = functions().get();
    if (before_ != 1) functions().set(1);
  }
  one_omp_thread(const one_omp_thread&) = delete;
  one_omp_thread& operator=(const one_omp_thread&) = delete;
  ~one_omp_thread() {
    if (before_ > 1) functions().set(before_);
  }

 private:
  struct table {
    int (*get)();
    void (*set)(int);
  };
  static const table& functions() {
    static const table found{reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads")),
                             reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))};
    return found;
  }
  int before_ = 1;
};

/// No signal is handled on this thread while it lives: oneDNN's kernels (2.6.3 on AVX-512) use the stack
/// pointer as a register for data, so that a handler's frame would be written over tensors.
class signals_wait {
 public:
  signals_wait() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~signals_wait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  signals_wait(const signals_wait&) = delete;
  signals_wait& operator=(const signals_wait&) = delete;

 private:
  sigset_t before_;
};

void multiply_dnnl(const product<float, float>& x) {
  const signals_wait until_the_end;
  const plan_type& p = x.p;
  const auto dim = [](auto value) { return static_cast<dnnl_dim_t>(value); };
  const bool a_rows = detail::is_row_major(p.m, p.k, p.a_m, p.a_k);
  const bool b_rows = detail::is_row_major(p.k, p.n, p.b_k, p.b_n);
  const auto leading = [&](std::ptrdiff_t stride, std::size_t extent) {  // 0 where it is never used
    return std::max(dim(stride), dim(std::max<std::size_t>(extent, 1)));
  };
  const dnnl_dim_t lda = a_rows ? leading(p.a_m, x.k.size()) : leading(p.a_k, x.m.size());
  const dnnl_dim_t ldb = b_rows ? leading(p.b_k, x.n.size()) : leading(p.b_n, x.k.size());
  const dnnl_dim_t ldc = leading(x.c_m, x.n.size());
  const float* a = at(x.a, x.m, p.a_m, x.k, p.a_k);
  const float* b = at(x.b, x.k, p.b_k, x.n, p.b_n);
  const std::size_t sums = p.k_size() / p.k;
  walk outer(p.outer_k, 0);
  for (std::size_t i = 0; i < sums; ++i, outer.next()) {
    const dnnl_status_t status =
        dnnl_sgemm(a_rows ? 'N' : 'T', b_rows ? 'N' : 'T', dim(x.m.size()), dim(x.n.size()), dim(x.k.size()),
                   1.0f, a + outer.now().a, lda, b + outer.now().b, ldb, i == 0 ? 0.0f : 1.0f, x.c, ldc);
    if (status != dnnl_success)
      throw system_error("dnnl_sgemm failed with status " + std::to_string(static_cast<int>(status)));
  }
}
#endif

// ---- by packed tiles

/// The accumulator, integers without sign: overflow wraps.
template <class T>
using sum_type = std::conditional_t<is_integer(dtype_of<T>), std::uint64_t, accumulator_type<T>>;

/// Strips of `width` rows, element by element along k, zeros beyond the edge.
template <class From, class Sum>
void pack(const From* from, std::size_t extent, std::ptrdiff_t stride, std::size_t k, std::ptrdiff_t k_stride,
          std::size_t width, Sum* to) {
  for (std::size_t first = 0; first < extent; first += width, to += k * width) {
    const std::size_t some = std::min(width, extent - first);
    const From* strip = from + static_cast<std::ptrdiff_t>(first) * stride;
    if (some < width) std::fill(to, to + k * width, Sum{});
    if (stride == 1) {
      for (std::size_t p = 0; p < k; ++p) {
        const From* line = strip + static_cast<std::ptrdiff_t>(p) * k_stride;
        for (std::size_t i = 0; i < some; ++i) to[p * width + i] = static_cast<Sum>(line[i]);
      }
    } else {
      for (std::size_t i = 0; i < some; ++i) {
        const From* line = strip + static_cast<std::ptrdiff_t>(i) * stride;
        for (std::size_t p = 0; p < k; ++p)
          to[p * width + i] = static_cast<Sum>(line[static_cast<std::ptrdiff_t>(p) * k_stride]);
      }
    }
  }
}

template <class From, class To>
void multiply_plain(const product<From, To>& x) {
  using sum = sum_type<From>;
  constexpr std::size_t rows = 96, columns = 128, depth = 1024 / sizeof(sum);
  static_assert(rows % detail::row_multiple == 0 && columns % detail::column_multiple == 0);
  alignas(64) sum packed_a[rows * depth];
  alignas(64) sum packed_b[columns * depth];
  alignas(64) sum tile[rows * columns];
  const plan_type& p = x.p;
  const detail::tile_kernel<sum>& kernel = detail::best_tile_kernel<sum>();
  const std::size_t sums = p.k == 0 ? 0 : p.k_size() / p.k;

  for (std::size_t j0 = x.n.begin; j0 < x.n.end; j0 += columns) {
    const range n{j0, std::min(x.n.end, j0 + columns)};
    for (std::size_t i0 = x.m.begin; i0 < x.m.end; i0 += rows) {
      const range m{i0, std::min(x.m.end, i0 + rows)};
      const std::size_t height = plan_type::round_up(m.size(), kernel.rows);
      std::fill(tile, tile + height * columns, sum{});
      walk outer(p.outer_k, 0);
      for (std::size_t s = 0; s < sums; ++s, outer.next())
        for (std::size_t k0 = x.k.begin; k0 < x.k.end; k0 += depth) {
          const range k{k0, std::min(x.k.end, k0 + depth)};
          pack(at(x.a, m, p.a_m, k, p.a_k) + outer.now().a, m.size(), p.a_m, k.size(), p.a_k, kernel.rows,
               packed_a);
          pack(at(x.b, n, p.b_n, k, p.b_k) + outer.now().b, n.size(), p.b_n, k.size(), p.b_k, kernel.columns,
               packed_b);
          for (std::size_t j = 0; j < n.size(); j += kernel.columns)
            for (std::size_t i = 0; i < m.size(); i += kernel.rows)
              kernel.run(k.size(), packed_a + i * k.size(), packed_b + j * k.size(), tile + i * columns + j,
                         columns);
        }
      To* c = x.c + static_cast<std::ptrdiff_t>(m.begin - x.m.begin) * x.c_m +
              static_cast<std::ptrdiff_t>(n.begin - x.n.begin) * x.c_n;
      for (std::size_t i = 0; i < m.size(); ++i)
        for (std::size_t j = 0; j < n.size(); ++j)
          c[static_cast<std::ptrdiff_t>(i) * x.c_m + static_cast<std::ptrdiff_t>(j) * x.c_n] =
              static_cast<To>(tile[i * columns + j]);
    }
  }
}

template <class From, class To>
void multiply(const product<From, To>& x, bool library) {
#if defined(NAPKIN_USES_DNNL)
  if constexpr (std::is_same_v<From, float> && std::is_same_v<To, float>) {
    if (library && x.p.blas) return multiply_dnnl(x);
  }
#endif
  (void)library;
  multiply_plain(x);
}

/// Epilogue calls for blocks that follow one another are joined.
class pending {
 public:
  explicit pending(contraction_epilogue call) : call_(call) {}
  void add(std::size_t first, std::size_t count) {
    if (!call_) return;
    if (first != last_) flush();
    if (first_ == last_) first_ = first;
    last_ = first + count;
  }
  void flush() {
    if (first_ != last_) call_(first_, last_);
    first_ = last_ = 0;
  }

 private:
  contraction_epilogue call_;
  std::size_t first_ = 0, last_ = 0;
};

/// partial[i], i < count, `stride` apart, summed pairwise in the order of a tree that depends on count alone.
template <class Sum>
void sum_tree(Sum* partial, std::size_t count, std::size_t stride, std::size_t length) {
  for (std::size_t step = 1; step < count; step *= 2)
    for (std::size_t i = 0; i + step < count; i += 2 * step) {
      Sum* to = partial + i * stride;
      const Sum* from = partial + (i + step) * stride;
      for (std::size_t e = 0; e < length; ++e) to[e] += from[e];
    }
}

template <class T>
void run(const plan_type& p, const T* a, const T* b, T* c, void* workspace, contraction_epilogue epilogue,
         bool library) {
  using sum = sum_type<T>;
  const std::size_t area = p.m * p.n;
  const std::size_t partial_size = p.batch_size() * area;  // elements
  sum* partials = p.k_blocks() > 1 ? static_cast<sum*>(workspace) : nullptr;

  parallel_for(p.tasks(), [&](std::size_t task) {
#if defined(NAPKIN_USES_DNNL)
    const one_omp_thread alone;
#endif
    const block here(p, task);
    pending done(epilogue);
    walk batch(p.batch, here.batch.begin);
    for (std::size_t e = here.batch.begin; e < here.batch.end; ++e, batch.next()) {
      const offsets& o = batch.now();
      if (partials != nullptr) {
        sum* to = partials + here.k_index * partial_size + e * area + here.m.begin * p.n + here.n.begin;
        multiply(product<T, sum>{p, a + o.a, b + o.b, to, static_cast<std::ptrdiff_t>(p.n), 1, here.m, here.n,
                                 here.k},
                 library);
        continue;
      }
      const std::ptrdiff_t first = o.c + static_cast<std::ptrdiff_t>(here.m.begin) * p.c_m +
                                   static_cast<std::ptrdiff_t>(here.n.begin) * p.c_n;
      multiply(product<T, T>{p, a + o.a, b + o.b, c + first, p.c_m, p.c_n, here.m, here.n, here.k}, library);
      done.add(static_cast<std::size_t>(first), here.m.size() * here.n.size());
    }
    done.flush();
  });
  if (partials == nullptr) return;

  // Rows of the partial sums, some 4,096 elements at a time.
  const std::size_t lines = p.batch_size() * p.m;
  const std::size_t lines_each = std::max<std::size_t>(1, 4096 / p.n);
  parallel_for(plan_type::ceil_div(lines, lines_each), [&](std::size_t task) {
    const range mine = range::of_block(task, lines_each, lines);
    sum_tree(partials + mine.begin * p.n, p.k_blocks(), partial_size, mine.size() * p.n);
    pending done(epilogue);
    for (std::size_t line = mine.begin; line < mine.end; ++line) {
      const std::ptrdiff_t first =
          walk(p.batch, line / p.m).now().c + static_cast<std::ptrdiff_t>(line % p.m) * p.c_m;
      for (std::size_t j = 0; j < p.n; ++j)
        c[first + static_cast<std::ptrdiff_t>(j) * p.c_n] = static_cast<T>(partials[line * p.n + j]);
      done.add(static_cast<std::size_t>(first), p.n);
    }
    done.flush();
  });
}

void run_any(const plan_type& p, const void* a, const void* b, void* c, void* workspace,
             contraction_epilogue epilogue, bool library) {
  if (epilogue && !p.blocks_are_contiguous())
    throw error("contract: an epilogue needs a plan whose blocks are contiguous");
  if (p.swapped) std::swap(a, b);
  dispatch(p.type, [&]<class T>(std::type_identity<T>) {
    if constexpr (!is_complex(dtype_of<T>) && dtype_of<T> != dtype::b8)
      run(p, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(c), workspace, epilogue,
          library);
    else
      throw error("contract: no sums of products in this dtype");
  });
}

}  // namespace

void contract(const contraction_plan& plan, const void* a, const void* b, void* c, void* workspace,
              contraction_epilogue epilogue) {
  run_any(plan, a, b, c, workspace, epilogue, true);
}

void contract_plain(const contraction_plan& plan, const void* a, const void* b, void* c, void* workspace,
                    contraction_epilogue epilogue) {
  run_any(plan, a, b, c, workspace, epilogue, false);
}

}  // namespace napkin::on_cpu
