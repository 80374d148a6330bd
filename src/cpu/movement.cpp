#include "napkin/cpu/movement.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

#include "napkin/core/error.hpp"
#include "napkin/cpu/threads.hpp"
#include "napkin/plan/scalar.hpp"

namespace napkin::on_cpu {

namespace {

/// f(offset of each operand) at `count` positions of a shape in row-major order, from one on.
template <std::size_t N, class F>
void for_each_offset(const shape& s, const std::ptrdiff_t (*strides)[max_rank], std::size_t first,
                     std::size_t count, F&& f) {
  std::size_t index[max_rank]{};
  std::ptrdiff_t offset[N]{};
  for (std::size_t d = s.size(), rest = first; d-- > 0 && rest > 0; rest /= s[d]) {
    index[d] = rest % s[d];
    for (std::size_t k = 0; k < N; ++k) offset[k] += strides[k][d] * static_cast<std::ptrdiff_t>(index[d]);
  }
  for (std::size_t left = count; left > 0; --left) {
    f(offset);
    for (std::size_t d = s.size(); d-- > 0;) {
      for (std::size_t k = 0; k < N; ++k) offset[k] += strides[k][d];
      if (++index[d] < s[d]) break;
      for (std::size_t k = 0; k < N; ++k) offset[k] -= strides[k][d] * static_cast<std::ptrdiff_t>(s[d]);
      index[d] = 0;
    }
  }
}

std::size_t index_at(const std::byte* at, dtype type) {
  const auto read = [at]<class T>(std::type_identity<T>) {
    T x;
    std::memcpy(&x, at, sizeof x);
    return static_cast<std::size_t>(x);
  };
  switch (type) {
    case dtype::i64:
      return read(std::type_identity<i64>{});
    case dtype::i32:
      return read(std::type_identity<i32>{});
    case dtype::i16:
      return read(std::type_identity<i16>{});
    case dtype::i8:
      return read(std::type_identity<i8>{});
    case dtype::u32:
      return read(std::type_identity<u32>{});
    case dtype::u16:
      return read(std::type_identity<u16>{});
    case dtype::u8:
      return read(std::type_identity<u8>{});
    default:
      throw error("an index must be an integer, not " + std::string(name_of(type)));
  }
}

/// A shape split at one axis: what lies before it, and behind it.
struct split_shape {
  shape before, behind;
  std::ptrdiff_t before_stride[max_rank]{}, behind_stride[max_rank]{};
};
template <class Strides>
split_shape split(const shape& s, const Strides& stride, std::size_t axis, std::size_t width) {
  split_shape out;
  for (std::size_t d = 0; d < axis; ++d) {
    out.before_stride[out.before.size()] = stride[d];
    out.before.push_back(s[d]);
  }
  for (std::size_t d = axis + width; d < s.size(); ++d) {
    out.behind_stride[out.behind.size()] = stride[d];
    out.behind.push_back(s[d]);
  }
  return out;
}
std::ptrdiff_t offset_of(std::size_t i, const shape& s, const std::ptrdiff_t* stride) {
  std::ptrdiff_t offset = 0;
  for (std::size_t d = s.size(); d-- > 0;) {
    offset += static_cast<std::ptrdiff_t>(i % s[d]) * stride[d];
    i /= s[d];
  }
  return offset;
}
bool is_dense(const shape& s, const std::ptrdiff_t* stride) {
  std::ptrdiff_t expected = 1;
  for (std::size_t d = s.size(); d-- > 0;) {
    if (s[d] != 1 && stride[d] != expected) return false;
    expected *= static_cast<std::ptrdiff_t>(s[d]);
  }
  return true;
}
void copy_run(std::byte* to, const std::byte* from, const shape& s, const std::ptrdiff_t* from_stride,
              std::size_t bytes) {
  if (is_dense(s, from_stride)) {
    std::memcpy(to, from, numel(s) * bytes);
    return;
  }
  std::ptrdiff_t strides[1][max_rank];
  std::memcpy(strides[0], from_stride, sizeof strides[0]);
  for_each_offset<1>(s, strides, 0, numel(s), [&](const std::ptrdiff_t* offset) {
    std::memcpy(to, from + offset[0] * static_cast<std::ptrdiff_t>(bytes), bytes);
    to += bytes;
  });
}
/// Copied by a thread at a time: more than a thread costs to wake.
constexpr std::size_t bytes_a_task = std::size_t{1} << 18;

void set_zeros(std::byte* to, std::size_t bytes) {
  parallel_for((bytes + bytes_a_task - 1) / bytes_a_task, [&](std::size_t task) {
    const std::size_t begin = task * bytes_a_task;
    std::memset(to + begin, 0, std::min(bytes_a_task, bytes - begin));
  });
}
/// `count` pieces of `bytes`, steps apart. Single elements are moves, not calls.
void copy_pieces(std::byte* to, std::ptrdiff_t to_step, const std::byte* from, std::ptrdiff_t from_step,
                 std::size_t count, std::size_t bytes) {
  const auto copy_each = [&](auto size) {
    for (std::size_t i = 0; i < count; ++i, to += to_step, from += from_step) std::memcpy(to, from, size);
  };
  switch (bytes) {
    case 1:
      return copy_each(std::integral_constant<std::size_t, 1>{});
    case 2:
      return copy_each(std::integral_constant<std::size_t, 2>{});
    case 4:
      return copy_each(std::integral_constant<std::size_t, 4>{});
    case 8:
      return copy_each(std::integral_constant<std::size_t, 8>{});
    default:
      return copy_each(bytes);
  }
}
[[noreturn]] void out_of_range(const char* of, std::size_t index, std::size_t size) {
  throw input_error(std::string(of) + ": index " + std::to_string(static_cast<std::ptrdiff_t>(index)) +
                    " is outside an axis of size " + std::to_string(size));
}

}  // namespace

movement::movement(const movement_record& record, const std::byte* from, const std::byte* index,
                   std::byte* to)
    : record_(&record), from_(from), index_(index), to_(to) {}

void movement::run() const {
  switch (record_->kind) {
    case unit_kind::gather:
      return gather();
    case unit_kind::scatter_add:
      return scatter_add();
    default:
      return place();
  }
}

void movement::place() const {
  const movement_record& r = *record_;
  const std::size_t bytes = size_of(r.type);
  if (r.fills) set_zeros(to_, numel(r.to_shape) * bytes);
  if (numel(r.from_shape) == 0) return;
  const stride_list whole = row_major_strides(r.to_shape);
  const auto width = static_cast<std::ptrdiff_t>(bytes);
  std::ptrdiff_t strides[2][max_rank]{};  // bytes
  std::byte* start = to_;
  for (std::size_t d = 0; d < r.from_shape.size(); ++d) {
    strides[0][d] = r.from_stride[d] * width;
    strides[1][d] = whole[d] * r.step[d] * width;
    start += static_cast<std::ptrdiff_t>(r.start[d]) * whole[d] * width;
  }
  // The inner axes that lie densely in both are one piece; the axis before them is a row of pieces. Threads
  // are dealt rows, or parts of a long one.
  std::size_t rank = r.from_shape.size(), piece = bytes;
  const auto is_dense = [&](std::size_t d) {
    const auto dense = static_cast<std::ptrdiff_t>(piece);
    return r.from_shape[d] == 1 || (strides[0][d] == dense && strides[1][d] == dense);
  };
  while (rank > 0 && is_dense(rank - 1)) piece *= r.from_shape[--rank];
  const bool has_row = rank > 0;
  if (has_row) --rank;
  const std::size_t count = has_row ? r.from_shape[rank] : 1;
  const std::ptrdiff_t from_step = has_row ? strides[0][rank] : 0, to_step = has_row ? strides[1][rank] : 0;
  shape outer;
  for (std::size_t d = 0; d < rank; ++d) outer.push_back(r.from_shape[d]);
  const std::size_t rows = numel(outer), pieces = 1 + bytes_a_task / piece,
                    length = std::min(piece, bytes_a_task);
  const std::size_t blocks = (count + pieces - 1) / pieces, parts = (piece + length - 1) / length;
  const std::size_t rows_each = blocks * parts > 1 ? 1 : 1 + bytes_a_task / (count * piece);
  parallel_for((rows + rows_each - 1) / rows_each * blocks * parts, [&](std::size_t task) {
    const std::size_t row = task / (blocks * parts) * rows_each, first = task / parts % blocks * pieces,
                      begin = task % parts * length;
    const auto at = [&](std::ptrdiff_t step) {
      return static_cast<std::ptrdiff_t>(first) * step + static_cast<std::ptrdiff_t>(begin);
    };
    for_each_offset<2>(
        outer, strides, row, std::min(rows_each, rows - row), [&](const std::ptrdiff_t* offset) {
          copy_pieces(start + offset[1] + at(to_step), to_step, from_ + offset[0] + at(from_step), from_step,
                      std::min(pieces, count - first), std::min(length, piece - begin));
        });
  });
}

void movement::gather() const {
  const movement_record& r = *record_;
  const std::size_t bytes = size_of(r.type), axis = static_cast<std::size_t>(r.axis);
  const split_shape table = split(r.from_shape, r.from_stride, axis, 1);
  const std::size_t picks = numel(r.index_shape), run = numel(table.behind), size = r.from_shape[axis];
  const std::size_t total = numel(table.before) * picks;
  const std::size_t block = run == 0 ? (total == 0 ? 1 : total) : 1 + 65536 / (run * bytes);
  parallel_for((total + block - 1) / block, [&](std::size_t task) {
    const std::size_t end = (task + 1) * block < total ? (task + 1) * block : total;
    for (std::size_t i = task * block; i < end; ++i) {
      const std::ptrdiff_t at = offset_of(i % picks, r.index_shape, r.index_stride.data());
      const std::size_t pick =
          index_at(index_ + at * static_cast<std::ptrdiff_t>(size_of(r.index_type)), r.index_type);
      if (pick >= size) out_of_range("gather", pick, size);
      const std::ptrdiff_t from = offset_of(i / picks, table.before, table.before_stride) +
                                  static_cast<std::ptrdiff_t>(pick) * r.from_stride[axis];
      copy_run(to_ + i * run * bytes, from_ + from * static_cast<std::ptrdiff_t>(bytes), table.behind,
               table.behind_stride, bytes);
    }
  });
}

/// Each task owns a range of the behind-axes' positions, and adds in order of position in the index, so that
/// the sums do not depend on the number of threads.
void movement::scatter_add() const {
  const movement_record& r = *record_;
  const std::size_t axis = static_cast<std::size_t>(r.axis), width = r.index_shape.size();
  const split_shape values = split(r.from_shape, r.from_stride, axis, width);
  const std::size_t picks = numel(r.index_shape), run = numel(values.behind), size = r.to_shape[axis];
  const std::size_t outer = numel(values.before);
  std::ptrdiff_t picked_stride[max_rank]{};
  for (std::size_t d = 0; d < width; ++d) picked_stride[d] = r.from_stride[axis + d];
  const bool dense = is_dense(values.behind, values.behind_stride);
  std::memset(to_, 0, numel(r.to_shape) * size_of(r.type));
  constexpr std::size_t columns = 64;  // elements a task owns
  const std::size_t strips = (run + columns - 1) / columns;
  const auto add = [&]<class T>(std::type_identity<T>) {
    parallel_for(outer * strips, [&](std::size_t task) {
      const std::size_t o = task / strips, begin = (task % strips) * columns;
      const std::size_t end = begin + columns < run ? begin + columns : run;
      const std::ptrdiff_t from_outer = offset_of(o, values.before, values.before_stride);
      for (std::size_t j = 0; j < picks; ++j) {
        const std::ptrdiff_t at = offset_of(j, r.index_shape, r.index_stride.data());
        const std::size_t pick =
            index_at(index_ + at * static_cast<std::ptrdiff_t>(size_of(r.index_type)), r.index_type);
        if (pick >= size) out_of_range("scatter_add", pick, size);
        const T* from =
            reinterpret_cast<const T*>(from_) + from_outer + offset_of(j, r.index_shape, picked_stride);
        T* to = reinterpret_cast<T*>(to_) + (o * size + pick) * run;
        for (std::size_t i = begin; i < end; ++i) {
          const std::ptrdiff_t step =
              dense ? static_cast<std::ptrdiff_t>(i) : offset_of(i, values.behind, values.behind_stride);
          to[i] = planning::combined<op::sum, dtype_of<T>>(to[i], from[step]);
        }
      }
    });
  };
  switch (r.type) {
    case dtype::f64:
      return add(std::type_identity<f64>{});
    case dtype::f32:
      return add(std::type_identity<f32>{});
    case dtype::i64:
      return add(std::type_identity<i64>{});
    case dtype::i32:
      return add(std::type_identity<i32>{});
    default:
      throw error("scatter_add has no kernel for " + std::string(name_of(r.type)) +
                  ": cast to f32 first (its sums would lose what they add)");
  }
}

}  // namespace napkin::on_cpu
