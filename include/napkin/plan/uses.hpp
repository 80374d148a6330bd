// What the instructions of a plan read and write, workspaces aside: each record's places, for all passes over plans,
// which look at them, move them and copy them.
#pragma once

#include <concepts>
#include <type_traits>

#include "napkin/plan/records.hpp"

namespace napkin::planning {

/// How a place is used.
struct place_use {
  bool written = false;
  bool part = false;          // others write the rest of what lies there
  std::ptrdiff_t offset = 0;  // bytes: where a part begins
  bool joined = false;        // by what joins the sums of a kernel's columns, which follows the kernel
};

/// By indices, which may be outside their axis: the first such is noted, in one place for all of a plan.
constexpr bool looks_up(unit_kind kind) {
  return kind == unit_kind::gather || kind == unit_kind::scatter_add;
}

namespace detail {

template <class T, class Of>
concept Record = std::same_as<std::remove_const_t<T>, Of>;

/// Where the operand of a concat or a pad lies in the result, in bytes.
constexpr std::ptrdiff_t start_of(const movement_record& r) {
  std::ptrdiff_t at = 0, stride = 1;
  for (std::size_t d = r.start.size(); d-- > 0; stride *= static_cast<std::ptrdiff_t>(r.to_shape[d]))
    at += static_cast<std::ptrdiff_t>(r.start[d]) * stride;
  return at * static_cast<std::ptrdiff_t>(size_of(r.type));
}

}  // namespace detail

/// f(location&, place_use) for each place of one record, in the same order for records of the same work; of a
/// const record, a const location.
constexpr void for_each_place(detail::Record<access_record> auto& r, auto&& f) {
  f(r.base, place_use{r.written, r.part, r.offset});
}
constexpr void for_each_place(detail::Record<column_record> auto& r, auto&& f) {
  f(r.to, place_use{true, false, 0, true});
  if (r.adds) f(r.added, place_use{false, false, 0, true});
}
constexpr void for_each_place(detail::Record<contraction_record> auto& r, auto&& f) {
  f(r.a, place_use{}), f(r.b, place_use{}), f(r.c, place_use{true});
  for (auto& x : r.others)
    if (x.bytes > 0) f(x.at, place_use{x.written});
}
constexpr void for_each_place(detail::Record<movement_record> auto& r, auto&& f) {
  f(r.from, place_use{});
  if (looks_up(r.kind)) f(r.index, place_use{});
  f(r.to, place_use{true, r.kind == unit_kind::concat, detail::start_of(r)});
}
constexpr void for_each_place(detail::Record<attention_record> auto& r, auto&& f) {
  for (auto& x : r.operands)
    if (x.there) f(x.at, place_use{x.written, x.part, x.offset});
}

/// The same of a kernel: of its accesses, then of its columns, which are joined last.
/// P  a plan, a static_plan or a plan_view
template <class P>
constexpr void for_each_place_of_kernel(P& p, const kernel_record& r, auto&& f) {
  for (std::int32_t a = r.first_access; a < r.first_access + r.accesses; ++a)
    for_each_place(p.accesses[static_cast<std::size_t>(a)], f);
  for (std::int32_t c = r.first_column; c < r.first_column + r.columns; ++c)
    for_each_place(p.columns[static_cast<std::size_t>(c)], f);
}
/// Of an instruction; of a contraction first its own, then its epilogue's.
template <class P>
constexpr void for_each_place_of(P& p, const instruction& now, auto&& f) {
  const auto index = static_cast<std::size_t>(now.index);
  switch (now.kind) {
    case unit_kind::kernel:
      for_each_place_of_kernel(p, p.kernels[index], f);
      break;
    case unit_kind::contraction:
      for_each_place(p.contractions[index], f);
      if (now.epilogue >= 0)
        for_each_place_of_kernel(p, p.kernels[static_cast<std::size_t>(now.epilogue)], f);
      break;
    case unit_kind::gather:
    case unit_kind::scatter_add:
    case unit_kind::pad:
    case unit_kind::concat:
      for_each_place(p.movements[index], f);
      break;
    case unit_kind::attention:
      for_each_place(p.attentions[index], f);
      break;
  }
}
/// Of all of a plan's instructions, table by table. `count` says how much of the tables there is.
template <class P>
constexpr void for_each_place_in(P& p, const plan_sizes& count, auto&& f) {
  for (std::size_t i = 0; i < count.accesses; ++i) for_each_place(p.accesses[i], f);
  for (std::size_t i = 0; i < count.columns; ++i) for_each_place(p.columns[i], f);
  for (std::size_t i = 0; i < count.contractions; ++i) for_each_place(p.contractions[i], f);
  for (std::size_t i = 0; i < count.movements; ++i) for_each_place(p.movements[i], f);
  for (std::size_t i = 0; i < count.attentions; ++i) for_each_place(p.attentions[i], f);
}

}  // namespace napkin::planning
