// What is laid beside others or among zeros on the CPU, of sizes that are dealt to threads, against plain loops.
// tests/unit/cuda/movement.cpp has the random shapes and strides.
#include "napkin/cpu/movement.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "napkin/cpu/threads.hpp"

namespace nk = napkin;
using nk::planning::movement_record;

namespace {

/// Elements of `from` as its strides say, at `start` and `step` apart in `to`, zeros between.
template <class T>
void check(nk::dtype type, const nk::shape& from, const nk::stride_list& stride, const nk::shape& to,
           const nk::shape& start, const nk::stride_list& step) {
  movement_record r;
  r.kind = nk::planning::unit_kind::pad;
  r.type = type;
  r.from_shape = from, r.from_stride = stride, r.to_shape = to, r.start = start, r.step = step;
  std::size_t elements = nk::numel(from) == 0 ? 0 : 1;
  for (std::size_t d = 0; d < from.size(); ++d)
    if (elements > 0) elements += (from[d] - 1) * static_cast<std::size_t>(stride[d]);
  std::vector<T> x(elements), expected(nk::numel(to), T{0});
  for (std::size_t i = 0; i < elements; ++i) x[i] = static_cast<T>(i * 2654435761u >> 7 | 1);
  const nk::stride_list whole = nk::row_major_strides(to);
  for (std::size_t i = 0; i < nk::numel(from); ++i) {
    std::ptrdiff_t at = 0, of = 0;
    for (std::size_t d = from.size(), left = i; d-- > 0; left /= from[d]) {
      const auto index = static_cast<std::ptrdiff_t>(left % from[d]);
      of += index * stride[d];
      at += (static_cast<std::ptrdiff_t>(start[d]) + index * step[d]) * whole[d];
    }
    expected[static_cast<std::size_t>(at)] = x[static_cast<std::size_t>(of)];
  }
  const std::size_t before = nk::on_cpu::threads();
  for (const std::size_t threads : {1u, 2u, 3u}) {
    nk::on_cpu::set_threads(threads);
    std::vector<T> given(nk::numel(to), T{3});
    nk::on_cpu::movement(r, reinterpret_cast<const std::byte*>(x.data()), nullptr,
                         reinterpret_cast<std::byte*>(given.data()))
        .run();
    CHECK((given == expected));
  }
  nk::on_cpu::set_threads(before);
}

template <class T>
void check_all(nk::dtype type) {
  CAPTURE(nk::name_of(type));
  check<T>(type, {700'001}, {1}, {700'010}, {5}, {1});               // one long run
  check<T>(type, {700'001}, {2}, {2'100'007}, {3}, {3});             // no run
  check<T>(type, {900, 901}, {901, 1}, {902, 903}, {1, 2}, {1, 1});  // runs, one in each row
  check<T>(type, {900, 901}, {1, 900}, {900, 901}, {0, 0}, {1, 1});  // turned
  check<T>(type, {3, 70'000, 2}, {140'000, 2, 1}, {5, 140'000, 2}, {1, 0, 0}, {1, 2, 1});
  check<T>(type, {90'001, 2}, {3, 1}, {90'001, 4}, {0, 1}, {1, 2});  // many short rows
  check<T>(type, {40, 50, 60, 2}, {6'000, 1, 50, 3'000}, {41, 50, 62, 4}, {1, 0, 1, 1}, {1, 1, 1, 2});
  check<T>(type, {2, 1, 150'000}, {150'000, 7, 1}, {2, 4, 150'000}, {0, 3, 0}, {1, 1, 1});
}

}  // namespace

TEST_CASE("large tensors are laid among zeros by every number of threads") {
  check_all<std::uint8_t>(nk::dtype::u8);
  check_all<std::uint16_t>(nk::dtype::u16);
  check_all<float>(nk::dtype::f32);
  check_all<double>(nk::dtype::f64);
}
TEST_CASE("a single element and no element are laid among zeros", "[movement]") {
  check<float>(nk::dtype::f32, {}, {}, {}, {}, {});
  check<float>(nk::dtype::f32, {1}, {1}, {4}, {2}, {1});
  check<float>(nk::dtype::f32, {0}, {1}, {4}, {2}, {1});
  check<float>(nk::dtype::f32, {3, 0, 2}, {0, 2, 1}, {3, 1, 2}, {0, 0, 0}, {1, 1, 1});
}
