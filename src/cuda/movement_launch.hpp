// How a movement is launched: axes merged, the widest unit that strides and addresses allow, and whether
// offsets fit into 32 bits. Of the host; knows no CUDA, so that tests run it where there is none.
#pragma once

#include <variant>

#include "movement_axes.hpp"
#include "napkin/plan/uses.hpp"
#include "scatter_body.hpp"

namespace napkin::on_cuda::detail {

template <class Offset>
struct scatter_arguments {
  pad_arguments<Offset> zeros;  // the result, before anything is added
  unsigned zero_unit = 1;
  key_arguments<Offset> keys;
  sum_arguments<Offset> sums;  // keys and positions: those that the sort gives
  dtype type = dtype::f32;
  unsigned vector = 1;  // elements a thread adds side by side
  scatter_layout layout;
  std::byte* workspace = nullptr;
};

struct movement_launch {
  using narrow = std::int32_t;
  using wide = std::int64_t;
  // Nothing; or indices looked at only, where the result is empty.
  std::variant<std::monostate, copy_arguments<narrow>, copy_arguments<wide>, pad_arguments<narrow>,
               pad_arguments<wide>, gather_arguments<narrow>, gather_arguments<wide>, key_arguments<narrow>,
               key_arguments<wide>, scatter_arguments<narrow>, scatter_arguments<wide>, look_arguments>
      how;
  unsigned unit = 1;  // bytes; but of a scatter_add
};

/// Threads that take `units_per_thread` units each; whole blocks.
constexpr std::size_t threads_for_units(std::size_t count) {
  constexpr std::size_t block = std::size_t{movement_threads} * units_per_thread;
  return (count + block - 1) / block * movement_threads;
}

/// f.operator()<Bytes>() for a unit.
template <class F>
void dispatch_unit(unsigned bytes, F&& f) {
  switch (bytes) {
    case 16:
      return f.template operator()<16>();
    case 8:
      return f.template operator()<8>();
    case 4:
      return f.template operator()<4>();
    case 2:
      return f.template operator()<2>();
    default:
      return f.template operator()<1>();
  }
}

/// Only floats come 16 bytes at a time and by 32-bit offsets: an integer's scatter_add is nobody's gradient.
constexpr unsigned widest_vector(dtype type) {
  return is_floating(type) ? static_cast<unsigned>(16 / size_of(type)) : 1;
}

/// f.operator()<Type, Vector>() for the sums of a scatter_add; of unsigned integers for the signed ones.
template <class Offset, class F>
void dispatch_sum(dtype type, unsigned vector, F&& f) {
  dispatch(signed_of(type), [&]<class T>(std::type_identity<T>) {
    constexpr dtype D = dtype_of<T>;
    if constexpr (is_floating(D) || (is_integer(D) && D == signed_of(D) && sizeof(Offset) == 8)) {
      if (vector == 1) return f.template operator()<D, 1>();
      if constexpr (is_floating(D)) return f.template operator()<D, widest_vector(D)>();
    }
  });
}

/// The same of sums that look through their indices.
template <class F>
void dispatch_look(dtype type, unsigned vector, F&& f) {
  dispatch(type, [&]<class T>(std::type_identity<T>) {
    constexpr dtype D = dtype_of<T>;
    if constexpr (is_floating(D) && sizeof(T) > 1) {
      if (vector == 1) return f.template operator()<D, 1>();
      return f.template operator()<D, widest_vector(D)>();
    }
  });
}

/// Makes the arguments by f.operator()<Offset>() for the narrowest offset there may be.
template <class F>
void choose_offset(bool narrow, movement_launch& launch, F&& f) {
  if (narrow)
    launch.how = f.template operator()<std::int32_t>();
  else
    launch.how = f.template operator()<std::int64_t>();
}

inline void launch_copy(movement_launch& launch, const planning::movement_record& r,
                        const movement_addresses& at, bool may_be_narrow) {
  const auto width = static_cast<std::ptrdiff_t>(size_of(r.type));
  const stride_list whole = row_major_strides(r.to_shape);
  axis_list axes;
  std::byte* to = at.to;
  for (std::size_t d = 0; d < r.from_shape.size(); ++d) {
    axes.push_back({r.from_shape[d], {r.from_stride[d] * width, whole[d] * r.step[d] * width}});
    to += static_cast<std::ptrdiff_t>(r.start[d]) * whole[d] * width;
  }
  axes.push_back({size_of(r.type), {1, 1}});
  axes = merged(axes);
  unsigned& unit = launch.unit = 16;
  narrow_unit(unit, at.from);
  narrow_unit(unit, to);
  narrow_unit(unit, axes.back().size);
  for (std::size_t d = 0; d + 1 < axes.size(); ++d)
    for (const std::ptrdiff_t stride : axes[d].stride) narrow_unit(unit, stride);

  axes.back().size /= unit;
  std::size_t count = axes.back().size;
  for (std::size_t d = 0; d + 1 < axes.size(); ++d) {
    for (std::ptrdiff_t& stride : axes[d].stride) stride /= static_cast<std::ptrdiff_t>(unit);
    count *= axes[d].size;
  }
  const bool narrow = is_narrow(reach(axes, 0)) && is_narrow(reach(axes, 1)) && is_narrow(count);
  choose_offset(narrow && may_be_narrow, launch, [&]<class Offset>() {
    return copy_arguments<Offset>{walk_of<Offset>(axes), static_cast<count_of<Offset>>(count), at.from, to};
  });
}

struct plain_pad_axis {
  std::size_t size, count, start, step;
  std::ptrdiff_t stride;
};

template <class Offset, class Axes>
pad_arguments<Offset> pad_of(const Axes& axes, const std::byte* from, std::byte* to) {
  pad_arguments<Offset> a;
  a.count = 1;
  a.from = from;
  a.to = to;
  for (const plain_pad_axis& x : axes) {
    a.count *= static_cast<count_of<Offset>>(x.size);
    if (x.size == 1 && x.count == 1) continue;
    auto& axis = a.axes[a.rank++];
    axis.size = divisor<Offset>(static_cast<count_of<Offset>>(x.size));
    axis.step = divisor<Offset>(static_cast<count_of<Offset>>(x.step));
    axis.start = static_cast<Offset>(x.start);
    axis.count = static_cast<count_of<Offset>>(x.count);
    axis.stride = static_cast<Offset>(x.stride);
  }
  return a;
}

inline void launch_pad(movement_launch& launch, const planning::movement_record& r,
                       const movement_addresses& at, bool may_be_narrow) {
  const auto width = static_cast<std::ptrdiff_t>(size_of(r.type));
  inplace_vector<plain_pad_axis, static_cast<std::size_t>(max_axes)> axes{
      {size_of(r.type), size_of(r.type), 0, 1, 1}};
  const std::byte* from = at.from;
  for (std::size_t d = r.from_shape.size(); d-- > 0;) {
    plain_pad_axis a{r.to_shape[d], r.from_shape[d], r.start[d], 1, r.from_stride[d] * width};
    if (a.count > 1 && r.step[d] < 0) {  // the same walk from its other end
      const auto steps = static_cast<std::ptrdiff_t>(a.count - 1);
      from += steps * a.stride;
      a.start -= static_cast<std::size_t>(-r.step[d] * steps);
      a.step = static_cast<std::size_t>(-r.step[d]);
      a.stride = -a.stride;
    } else if (a.count > 1) {
      a.step = static_cast<std::size_t>(r.step[d]);
    }
    plain_pad_axis& inner = axes[0];
    const bool is_whole = inner.count == inner.size;  // and so begins at 0, with a step of 1
    const bool follows = a.count <= 1 || a.stride == inner.stride * static_cast<std::ptrdiff_t>(inner.count);
    if (is_whole && follows && a.step == 1)
      inner = {a.size * inner.size, a.count * inner.size, a.start * inner.size, 1, inner.stride};
    else
      axes.insert(0, a);
  }
  unsigned& unit = launch.unit = 16;
  plain_pad_axis& last = axes.back();
  narrow_unit(unit, from);
  narrow_unit(unit, at.to);
  narrow_unit(unit, last.size);
  narrow_unit(unit, last.count);
  narrow_unit(unit, last.start);
  for (std::size_t d = 0; d + 1 < axes.size(); ++d) narrow_unit(unit, axes[d].stride);

  last.size /= unit;
  last.count /= unit;
  last.start /= unit;
  std::size_t count = last.size, reached = last.count;
  for (std::size_t d = 0; d + 1 < axes.size(); ++d) {
    axes[d].stride /= static_cast<std::ptrdiff_t>(unit);
    count *= axes[d].size;
    reached +=
        axes[d].count * static_cast<std::size_t>(axes[d].stride < 0 ? -axes[d].stride : axes[d].stride);
  }
  choose_offset(is_narrow(count) && is_narrow(reached) && may_be_narrow, launch,
                [&]<class Offset>() { return pad_of<Offset>(axes, from, at.to); });
}

inline index_source index_of(const planning::movement_record& r, const movement_addresses& at,
                             std::size_t size) {
  const bool scatters = r.kind == planning::unit_kind::scatter_add;
  return {at.index, r.index_type, scatters ? index_fault::of_scatter_add : index_fault::of_gather, size,
          at.fault};
}

/// The index's axes, with the strides of what is picked.
inline axis_list pick_axes(const planning::movement_record& r, const std::ptrdiff_t* stride) {
  axis_list axes;
  for (std::size_t d = 0; d < r.index_shape.size(); ++d)
    axes.push_back({r.index_shape[d], {stride == nullptr ? 0 : stride[d], r.index_stride[d]}});
  if (axes.empty()) axes.push_back({1, {0, 0}});
  return merged(axes);
}

template <class Offset>
key_arguments<Offset> keys_of(const planning::movement_record& r, const movement_addresses& at,
                              std::size_t size) {
  return {walk_of<Offset>(pick_axes(r, nullptr)), static_cast<count_of<Offset>>(numel(r.index_shape)),
          index_of(r, at, size)};
}
inline void launch_look(movement_launch& launch, const planning::movement_record& r,
                        const movement_addresses& at, std::size_t size, bool may_be_narrow) {
  const bool narrow = is_narrow(numel(r.index_shape)) && is_narrow(reach(pick_axes(r, nullptr), 1));
  choose_offset(narrow && may_be_narrow, launch,
                [&]<class Offset>() { return keys_of<Offset>(r, at, size); });
}

inline void launch_gather(movement_launch& launch, const planning::movement_record& r,
                          const movement_addresses& at, bool may_be_narrow) {
  const auto width = static_cast<std::ptrdiff_t>(size_of(r.type));
  const auto axis = static_cast<std::size_t>(r.axis);
  const std::size_t size = r.from_shape[axis];
  axis_list axes;
  std::size_t before = 1, behind = 1;
  for (std::size_t d = 0; d < axis; ++d) {
    axes.push_back({r.from_shape[d], {r.from_stride[d] * width, 0}});
    before *= r.from_shape[d];
  }
  for (std::size_t d = 0; d < r.index_shape.size(); ++d)
    axes.push_back({r.index_shape[d], {0, r.index_stride[d]}});
  for (std::size_t d = axis + 1; d < r.from_shape.size(); ++d) {
    axes.push_back({r.from_shape[d], {r.from_stride[d] * width, 0}});
    behind *= r.from_shape[d];
  }
  if (before * numel(r.index_shape) == 0) return;
  if (behind == 0) return launch_look(launch, r, at, size, may_be_narrow);
  axes.push_back({size_of(r.type), {1, 0}});
  axes = merged(axes);
  std::ptrdiff_t pick_stride = size > 1 ? r.from_stride[axis] * width : 0;
  unsigned& unit = launch.unit = 16;
  narrow_unit(unit, at.from);
  narrow_unit(unit, at.to);
  narrow_unit(unit, axes.back().size);
  narrow_unit(unit, pick_stride);
  for (std::size_t d = 0; d + 1 < axes.size(); ++d) narrow_unit(unit, axes[d].stride[0]);

  axes.back().size /= unit;
  pick_stride /= static_cast<std::ptrdiff_t>(unit);
  std::size_t count = axes.back().size;
  for (std::size_t d = 0; d + 1 < axes.size(); ++d) {
    axes[d].stride[0] /= static_cast<std::ptrdiff_t>(unit);
    count *= axes[d].size;
  }
  const std::size_t picked =
      size * static_cast<std::size_t>(pick_stride < 0 ? -pick_stride : pick_stride) + reach(axes, 0);
  const bool narrow = is_narrow(picked) && is_narrow(reach(axes, 1)) && is_narrow(count);
  choose_offset(narrow && may_be_narrow, launch, [&]<class Offset>() {
    return gather_arguments<Offset>{walk_of<Offset>(axes),
                                    static_cast<count_of<Offset>>(count),
                                    static_cast<Offset>(pick_stride),
                                    index_of(r, at, size),
                                    at.from,
                                    at.to};
  });
}

/// As the sums of a scatter_add walk their axes; what depends on how it sorts is not set.
template <class Offset>
sum_arguments<Offset> sums_of(const scatter_layout& layout, const movement_addresses& at,
                              const axis_list& outer, const axis_list& picks, const axis_list& run,
                              unsigned vector) {
  using count = count_of<Offset>;
  sum_arguments<Offset> s;
  s.outer = walk_of<Offset>(outer);
  s.picks = walk_of<Offset>(picks);
  s.run = walk_of<Offset>(run);
  s.outer_count = static_cast<count>(layout.outer);
  s.columns = static_cast<count>(layout.run / vector);
  s.run_length = static_cast<count>(layout.run);
  s.size = static_cast<count>(layout.size);
  s.count = static_cast<std::uint32_t>(layout.picks);
  s.from = at.from;
  s.to = at.to;
  return s;
}

inline void launch_scatter(movement_launch& launch, const planning::movement_record& r,
                           const movement_addresses& at, bool may_be_narrow, bool may_look) {
  if (!is_floating(r.type) && !is_integer(r.type))
    throw error("scatter_add has no kernel for " + std::string(name_of(r.type)) + " on a GPU");
  const scatter_layout layout = layout_of_scatter(r);
  const auto axis = static_cast<std::size_t>(r.axis);
  const std::size_t width = size_of(r.type), elements = numel(r.to_shape);
  if (elements == 0) {
    if (layout.outer * layout.run * layout.picks != 0) launch_look(launch, r, at, layout.size, may_be_narrow);
    return;
  }
  const bool looks = may_look && looks_through_indices(r);
  if (layout.picks != 0 && !looks && at.workspace == nullptr)
    throw error("scatter_add: the workspace is missing (workspace_of(record) bytes)");

  const std::size_t ranks = r.index_shape.size();
  axis_list outer{{1, {0, 0}}}, run;
  for (std::size_t d = 0; d < axis; ++d) outer.push_back({r.from_shape[d], {r.from_stride[d], 0}});
  for (std::size_t d = axis + ranks; d < r.from_shape.size(); ++d)
    run.push_back({r.from_shape[d], {r.from_stride[d], 0}});
  run.push_back({1, {1, 0}});
  outer = merged(outer);
  run = merged(run);
  const axis_list picks = pick_axes(r, r.from_stride.data() + axis);

  unsigned bytes = 16;  // that a thread may add side by side
  narrow_unit(bytes, at.from);
  narrow_unit(bytes, at.to);
  if (run.size() > 1) bytes = 1;
  narrow_unit(bytes, layout.run * width);
  for (const auto& axes : {outer, picks})
    for (const plain_axis& a : axes) narrow_unit(bytes, a.stride[0] * static_cast<std::ptrdiff_t>(width));
  const unsigned vector = bytes == 16 ? widest_vector(r.type) : 1;

  if (looks) {
    launch.how = look_arguments{sums_of<std::int32_t>(layout, at, outer, picks, run, vector),
                                index_of(r, at, layout.size), r.type, vector, rows_that_look(layout.picks)};
    return;
  }
  std::size_t largest = elements;
  for (const std::size_t n : {layout.pieces * 2 * layout.outer * layout.run, layout.picks, reach(picks, 1),
                              reach(outer, 0) + reach(picks, 0) + reach(run, 0)})
    largest = n > largest ? n : largest;
  const bool narrow = is_narrow(elements * width) && layout.picks != 0 && is_narrow(largest);
  choose_offset(narrow && may_be_narrow && is_floating(r.type), launch, [&]<class Offset>() {
    scatter_arguments<Offset> s;
    s.type = r.type;
    s.vector = vector;
    s.layout = layout;
    s.workspace = at.workspace;
    s.zero_unit = 16;
    narrow_unit(s.zero_unit, at.to);
    narrow_unit(s.zero_unit, elements * width);
    const inplace_vector<plain_pad_axis, 1> nothing{{elements * width / s.zero_unit, 0, 0, 1, 0}};
    s.zeros = pad_of<Offset>(nothing, nullptr, at.to);
    if (layout.picks == 0) return s;
    s.keys = keys_of<Offset>(r, at, layout.size);
    s.keys.keys = reinterpret_cast<std::uint32_t*>(at.workspace + layout.keys[0]);
    s.keys.positions = reinterpret_cast<std::uint32_t*>(at.workspace + layout.positions[0]);
    s.sums = sums_of<Offset>(layout, at, outer, picks, run, vector);
    s.sums.length = static_cast<std::uint32_t>(layout.length);
    s.sums.pieces = static_cast<std::uint32_t>(layout.pieces);
    s.sums.partials = at.workspace + layout.partials;
    return s;
  });
}

/// `may_be_narrow`: false in a test of 64-bit offsets; `may_look`: false in one of sorted indices, which has
/// a workspace for them.
inline movement_launch launch_of(const planning::movement_record& r, const movement_addresses& at,
                                 bool may_be_narrow = true, bool may_look = true) {
  using planning::unit_kind;
  const bool indexed = planning::looks_up(r.kind);
  movement_launch launch;
  if (indexed && !is_integer(r.index_type))
    throw error("an index must be an integer, not " + std::string(name_of(r.index_type)));
  if (indexed && numel(r.index_shape) != 0 && (at.index == nullptr || at.fault == nullptr))
    throw error("gather, scatter_add: the index or the place for its faults is missing");
  if (r.kind == unit_kind::scatter_add) {
    launch_scatter(launch, r, at, may_be_narrow, may_look);
  } else if (r.kind == unit_kind::gather) {
    launch_gather(launch, r, at, may_be_narrow);
  } else if (r.fills) {
    if (numel(r.to_shape) != 0) launch_pad(launch, r, at, may_be_narrow);
  } else if (numel(r.from_shape) != 0) {
    launch_copy(launch, r, at, may_be_narrow);
  }
  return launch;
}

}  // namespace napkin::on_cuda::detail
