// What an instruction of a plan reads and writes, but for its workspace.
#pragma once

#include "napkin/plan/records.hpp"

namespace napkin::planning {

struct place_use {
  location at;
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

/// Where the operand of a concat or a pad lies in the result, in bytes.
constexpr std::ptrdiff_t start_of(const movement_record& r) {
  std::ptrdiff_t at = 0, stride = 1;
  for (std::size_t d = r.start.size(); d-- > 0; stride *= static_cast<std::ptrdiff_t>(r.to_shape[d]))
    at += static_cast<std::ptrdiff_t>(r.start[d]) * stride;
  return at * static_cast<std::ptrdiff_t>(size_of(r.type));
}

template <class P>
constexpr void for_each_use_of_kernel(const P& p, const kernel_record& r, auto&& f) {
  for (std::int32_t a = r.first_access; a < r.first_access + r.accesses; ++a) {
    const access_record& x = p.accesses[static_cast<std::size_t>(a)];
    f(place_use{x.base, x.written, x.part, x.offset});
  }
  for (std::int32_t c = r.first_column; c < r.first_column + r.columns; ++c) {
    const column_record& x = p.columns[static_cast<std::size_t>(c)];
    f(place_use{x.to, true, false, 0, true});
    if (x.adds) f(place_use{x.added, false, false, 0, true});
  }
}

}  // namespace detail

/// f(place_use) for each, what is joined last. P: a plan, a static_plan or a plan_view.
template <class P>
constexpr void for_each_use(const P& p, const instruction& now, auto&& f) {
  const auto index = static_cast<std::size_t>(now.index);
  switch (now.kind) {
    case unit_kind::kernel:
      detail::for_each_use_of_kernel(p, p.kernels[index], f);
      break;
    case unit_kind::contraction: {
      const contraction_record& r = p.contractions[index];
      f(place_use{r.a}), f(place_use{r.b}), f(place_use{r.c, true});
      for (const contraction_record::other& x : r.others)
        if (x.bytes > 0) f(place_use{x.at, x.written});
      if (now.epilogue >= 0)
        detail::for_each_use_of_kernel(p, p.kernels[static_cast<std::size_t>(now.epilogue)], f);
      break;
    }
    case unit_kind::gather:
    case unit_kind::scatter_add:
    case unit_kind::pad:
    case unit_kind::concat: {
      const movement_record& r = p.movements[index];
      f(place_use{r.from});
      if (looks_up(r.kind)) f(place_use{r.index});
      f(place_use{r.to, true, r.kind == unit_kind::concat, detail::start_of(r)});
      break;
    }
    case unit_kind::attention:
      for (const attention_operand& x : p.attentions[index].operands)
        if (x.there) f(place_use{x.at, x.written, x.part, x.offset});
      break;
  }
}

}  // namespace napkin::planning
