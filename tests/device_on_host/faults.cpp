// The watch of a plan's memory finds what it is there for: faults are put into plans and kernels that are well, and
// each shows, as misuse or as NaN in what comes out.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lookup.hpp"
#include "napkin/cuda/executor.hpp"
#include "napkin/cuda/memory.hpp"
#include "napkin/cuda/transfer.hpp"
#include "support/device_graphs.hpp"
#include "support/device_run.hpp"
#include "support/host_kernels.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
using nk::planning::region;
using nk::testing::host_device;
using nk::testing::raw_bytes;

namespace {

using layers = nk::testing::layer_gradients<nk::dtype::f32>;  // kernels, and products with epilogues
using looked_up = nk::train_step<lookup_test::lookup, nk::adamw>::gradients;  // a gather and its adjoint
using joined =
    nk::testing::made_by<&nk::testing::joined<nk::dtype::f32, 5, 7>>;  // what lies in a larger tensor
using made = std::vector<raw_bytes>;

/// A plan whose records may be changed, one run of it on a device that is the host, and what was found.
template <class Make>
struct subject {
  using plan = on_cuda::frozen_plan<Make>;
  on_cuda::plan_view view = plan::view();
  std::vector<nk::planning::access_record> accesses = copy(view.accesses, view.count.accesses);
  std::vector<nk::planning::contraction_record> contractions =
      copy(view.contractions, view.count.contractions);
  std::vector<nk::planning::movement_record> movements = copy(view.movements, view.count.movements);
  std::vector<on_cuda::product> products = copy(view.products, view.count.products);
  std::vector<nk::passes::lifetime> lives = copy(view.lives, view.count.lives);
  std::vector<on_cuda::kernel_entry> kernels =
      copy(on_cuda::compiled_kernels<plan>::table(), view.count.kernels);
  std::vector<std::string> found;

  subject() {
    view.accesses = accesses.data();
    view.contractions = contractions.data();
    view.movements = movements.data();
    view.products = products.data();
    view.lives = lives.data();
  }
  subject(const subject&) = delete;
  subject& operator=(const subject&) = delete;

  /// Empty where an index was outside of its axis.
  made run() {
    static const nk::testing::device_case c(Make::make().view());
    host_device d;
    made given = c.outputs();
    {
      const on_cuda::stream on(d.cuda);
      const on_cuda::blas_library blas(d.blas);
      on_cuda::blas_choices choices;
      constexpr std::size_t slack = 4096;  // on both sides: a fault of the plan is none of the host's memory
      const on_cuda::device_memory arena(d.cuda, view.peak + slack),
          noted(d.cuda, sizeof(on_cuda::index_fault));
      on_cuda::fill_with_zeros(on, arena.data(), arena.size());
      on_cuda::fill_with_zeros(on, noted.data(), noted.size());
      std::vector<on_cuda::device_memory> held;
      std::vector<const void*> from;
      std::vector<void*> to;
      const auto hold = [&](const raw_bytes& x) {
        held.emplace_back(d.cuda, x.size() + slack);
        on_cuda::fill_with_zeros(on, held.back().data(), held.back().size());
        std::byte* const at = held.back().data() + slack / 2;
        on_cuda::copy_to_device(on, at, x);
        return at;
      };
      for (const raw_bytes& x : c.inputs) from.push_back(hold(x));
      for (const raw_bytes& x : given) to.push_back(hold(x));
      on_cuda::executor executor(view, kernels.data(), arena.data() + slack / 2,
                                 reinterpret_cast<on_cuda::index_fault*>(noted.data()), blas, choices);
      executor.bind(from, to);
      executor.replay(on);
      for (std::size_t o = 0; o < given.size(); ++o) on_cuda::copy_to_host(on, given[o], to[o]);
      on_cuda::index_fault fault;
      on_cuda::copy_to_host(on, std::as_writable_bytes(std::span(&fault, 1)), noted.data());
      if (fault.noted != 0) given.clear();
    }
    found = d.cuda.misuse;
    return given;
  }
  bool finds(const std::string& text) const {
    return std::any_of(found.begin(), found.end(),
                       [&](const std::string& x) { return x.find(text) != x.npos; });
  }
  static bool has_nan(const made& given) {
    for (std::size_t o = 0; o < given.size(); ++o)
      for (const double x : nk::testing::to_doubles(given[o], plan::graph()[plan::graph().outputs[o]].type))
        if (std::isnan(x)) return true;
    return false;
  }
  /// Bytes of the tensor that an access goes over, if it is dense.
  std::size_t bytes_of(std::size_t kernel, const nk::planning::access_record& a) const {
    const nk::planning::kernel_record& k = view.kernels[kernel];
    std::size_t n = 4;
    for (std::int32_t d = 0; d < k.outer_rank + k.inner_rank; ++d)
      if (view.strides[a.first_stride + d] != 0) n *= view.sizes[k.first_size + d];
    return n;
  }

 private:
  template <class T>
  static std::vector<T> copy(const T* from, std::size_t count) {
    return {from, from + count};
  }
};

// A kernel that writes 16 bytes more, so far from where one of its accesses lies. What fills arguments and launches
// are functions alone, so that this is where they look.
struct {
  on_cuda::kernel_entry of;
  std::size_t access = 0;
  std::ptrdiff_t by = 0;
  std::byte* base = nullptr;
} overrun;
on_cuda::kernel_entry overrunning(const on_cuda::kernel_entry& of, std::size_t access, std::ptrdiff_t by) {
  overrun = {of, access, by};
  return {of.argument_bytes,
          [](const on_cuda::kernel_memory& from, void* to) {
            overrun.base = from.memory[overrun.access];
            overrun.of.fill(from, to);
          },
          [](const void* arguments, on_cuda::stream_handle on) {
            overrun.of.launch(arguments, on);
            nk::testing::launched_on->launch(on,
                                             [to = overrun.base + overrun.by] { std::memset(to, 0x11, 16); });
          },
          of.join};
}

/// f(location&, time, written) for each place that an instruction has, but for what follows a product.
template <class Make>
void for_each_place(subject<Make>& s, const std::function<void(nk::planning::location&, int, bool)>& f) {
  for (std::size_t i = 0; i < s.view.count.instructions; ++i) {
    const nk::planning::instruction& now = s.view.instructions[i];
    const auto index = static_cast<std::size_t>(now.index);
    if (now.kind == nk::planning::unit_kind::kernel) {
      const nk::planning::kernel_record& k = s.view.kernels[index];
      for (std::int32_t a = 0; a < k.accesses; ++a) {
        nk::planning::access_record& access = s.accesses[static_cast<std::size_t>(k.first_access + a)];
        f(access.base, now.time, access.written);
      }
    } else if (now.kind == nk::planning::unit_kind::contraction) {
      f(s.contractions[index].a, now.time, false);
      f(s.contractions[index].b, now.time, false);
      f(s.contractions[index].c, now.time, true);
    } else {
      f(s.movements[index].from, now.time, false);
      f(s.movements[index].to, now.time, true);
    }
  }
}

template <class Make>
made good() {
  subject<Make> s;
  made given = s.run();
  CAPTURE(s.found);
  CHECK(s.found.empty());
  CHECK(!s.has_nan(given));
  return given;
}

}  // namespace

TEST_CASE("a kernel that writes a piece too far is found, on either side of what it writes", "[cuda]") {
  const made expected = good<layers>();
  std::size_t found = 0, tried = 0;
  for (std::size_t k = 0; k < subject<layers>::plan::view().count.kernels; ++k)
    for (const bool behind : {true, false})
      for (std::int32_t a = 0; a < subject<layers>::plan::view().kernels[k].accesses; ++a) {
        subject<layers> s;
        const nk::planning::access_record& access =
            s.accesses[static_cast<std::size_t>(s.view.kernels[k].first_access + a)];
        if (!access.written) continue;
        const auto by = behind ? static_cast<std::ptrdiff_t>(s.bytes_of(k, access)) : -16;
        s.kernels[k] = overrunning(s.kernels[k], static_cast<std::size_t>(a), by);
        const made given = s.run();
        CAPTURE(k, a, by, s.found);
        ++tried;
        found += s.finds("(kernel " + std::to_string(k) + "): changes 1");
        // Where two of its results lie side by side it is another of its own that changes.
        CHECK((s.finds("changes") || given != expected));
      }
  CHECK(tried >= 4);
  CHECK(found >= tried - 1);
}

TEST_CASE("a kernel that changes what it may only read is found", "[cuda]") {
  std::size_t tried = 0;
  for (std::size_t k = 0; k < subject<layers>::plan::view().count.kernels; ++k)
    for (std::int32_t a = 0; a < subject<layers>::plan::view().kernels[k].accesses; ++a) {
      subject<layers> s;
      const auto first = static_cast<std::size_t>(s.view.kernels[k].first_access);
      const auto written_there = [&](const nk::planning::location& l) {
        for (std::int32_t x = 0; x < s.view.kernels[k].accesses; ++x)
          if (s.accesses[first + static_cast<std::size_t>(x)].written &&
              s.accesses[first + static_cast<std::size_t>(x)].base == l)
            return true;
        return false;
      };
      if (written_there(s.accesses[first + static_cast<std::size_t>(a)].base)) continue;
      s.kernels[k] = overrunning(s.kernels[k], static_cast<std::size_t>(a), 0);
      s.run();
      CAPTURE(k, a, s.found);
      CHECK(s.finds("changes"));
      ++tried;
    }
  CHECK(tried >= 3);
}

TEST_CASE("a product of one column too many is found", "[cuda]") {
  std::size_t tried = 0;
  const auto check = [&]<class Make>(std::type_identity<Make>) {
    for (std::size_t p = 0; p < subject<Make>::plan::view().count.products; ++p) {
      subject<Make> s;
      if (!s.products[p].gemm.possible) continue;
      ++s.products[p].gemm.c.columns;
      s.run();
      CAPTURE(p, s.found);
      CHECK(s.finds("(contraction "));
      ++tried;
    }
  };
  check(std::type_identity<layers>{});
  check(std::type_identity<looked_up>{});
  CHECK(tried >= 6);
}

TEST_CASE("a gather of one row too many is found", "[cuda]") {
  subject<looked_up> s;
  const auto gather = std::find_if(s.movements.begin(), s.movements.end(), [](const auto& m) {
    return m.kind == nk::planning::unit_kind::gather && m.to.where == region::arena;
  });
  REQUIRE(gather != s.movements.end());
  ++gather->to_shape[0];
  ++gather->index_shape[0];
  s.run();
  CAPTURE(s.found);
  CHECK(s.finds("its record says that it writes where no life is"));
  CHECK(s.finds("changes"));
}

TEST_CASE("an offset that is too low is found where it is written to, and shows where it is read", "[cuda]") {
  std::size_t written = 0, read = 0;
  const auto check = [&]<class Make>(std::type_identity<Make>) {
    const made expected = good<Make>();
    std::size_t places = 0;
    {
      subject<Make> s;
      for_each_place<Make>(s, [&](auto&, int, bool) { ++places; });
    }
    for (std::size_t place = 0; place < places; ++place) {
      subject<Make> s;
      bool changed = false, to = false;
      std::size_t at = 0;
      for_each_place<Make>(s, [&](nk::planning::location& l, int, bool is_written) {
        if (at++ != place || l.where != region::arena || l.at < 64) return;
        l.at -= 64;
        changed = true, to = is_written;
      });
      if (!changed) continue;
      const made given = s.run();
      CAPTURE(place, to, s.found);
      if (to) CHECK(s.finds("its record says that it writes where no life is"));
      CHECK(given != expected);
      ++(to ? written : read);
    }
  };
  check(std::type_identity<layers>{});
  check(std::type_identity<looked_up>{});
  CHECK(written >= 4);
  CHECK(read >= 4);
}

TEST_CASE("what is read of a life that is over, or has not begun, is NaN", "[cuda]") {
  std::size_t tried = 0;
  const auto check = [&]<class Make>(std::type_identity<Make>) {
    const auto view = subject<Make>::plan::view();
    const nk::passes::memory_plan placed = nk::planning::plan_memory_of(view.lives, view.count.lives);
    std::size_t places = 0;
    {
      subject<Make> s;
      for_each_place<Make>(s, [&](auto&, int, bool) { ++places; });
    }
    for (std::size_t place = 0; place < places; ++place)
      for (std::size_t l = 0; l < view.count.lives; ++l) {
        subject<Make> s;
        bool changed = false;
        std::size_t at = 0;
        for_each_place<Make>(s, [&](nk::planning::location& x, int now, bool is_written) {
          if (at++ != place || is_written || x.where != region::arena) return;
          const auto own = [&](std::size_t k) {
            return placed.offsets[k] == x.at && view.lives[k].first < now && now <= view.lives[k].last;
          };
          std::size_t of = 0;
          while (of < view.count.lives && !own(of)) ++of;
          if (of == view.count.lives) return;
          // As long a life, that shares no byte with one that lives now.
          const std::size_t begin = placed.offsets[l], end = begin + view.lives[of].bytes;
          for (std::size_t k = 0; k < view.count.lives; ++k)
            if (view.lives[k].first < now && now <= view.lives[k].last && view.lives[k].bytes > 0 &&
                placed.offsets[k] < end && begin < placed.offsets[k] + view.lives[k].bytes)
              return;
          if (end > view.peak || view.lives[l].bytes == 0) return;
          x.at = begin;
          changed = true;
        });
        if (!changed) continue;
        CAPTURE(place, l);
        CHECK(s.has_nan(s.run()));
        ++tried;
      }
  };
  check(std::type_identity<layers>{});
  check(std::type_identity<looked_up>{});
  CHECK(tried >= 4);
}

TEST_CASE("parts of a larger tensor are watched element by element", "[cuda]") {
  const made expected = good<joined>();
  subject<joined> s;
  // A part that is written an element further on is in the whole, and in another part of it.
  const auto part =
      std::find_if(s.accesses.begin(), s.accesses.end(), [](const auto& a) { return a.written && a.part; });
  REQUIRE(part != s.accesses.end());
  std::size_t kernel = 0;
  while (part - s.accesses.begin() >= s.view.kernels[kernel].first_access + s.view.kernels[kernel].accesses)
    ++kernel;
  const auto access =
      static_cast<std::size_t>(part - s.accesses.begin() - s.view.kernels[kernel].first_access);
  s.kernels[kernel] = overrunning(s.kernels[kernel], access,
                                  static_cast<std::ptrdiff_t>(s.view.strides[part->first_stride] * 4 - 16));
  s.run();
  CAPTURE(kernel, access, s.found);
  CHECK(s.finds("(kernel " + std::to_string(kernel) + "): changes"));
}
