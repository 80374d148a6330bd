// What the fast and the general kernels of attention do alike: where a head's rows lie, how they come to shared
// memory and go back, and a warp's products of what lies there, of 16 bits. Over attention_body.hpp's Machine.
#pragma once

#include <type_traits>

#include "attention_shape.hpp"
#include "napkin/cuda/attention.hpp"
#include "napkin/cuda/device_function.hpp"
#include "napkin/cuda/packed.hpp"
#include "napkin/plan/scalar.hpp"

namespace napkin::on_cuda::detail {

/// What a tensor holds in an attention of Type: sums as they are computed; a mask is counted in bytes.
template <dtype Type, attention_tensor X>
using attention_element = std::conditional_t<
    X == attention_tensor::log_sum || X == attention_tensor::delta || X == attention_tensor::largest,
    planning::register_type<Type>, std::conditional_t<X == attention_tensor::mask, std::byte, type_of<Type>>>;

/// Where a head of each of these tensors begins: divided once for all of them. Heads count the axes of keys
/// first: those of a group follow one another.
template <dtype Type, attention_tensor... X>
class attention_head {
  const attention_arguments& a_;
  std::int64_t offset_[sizeof...(X)] = {};  // elements
  static constexpr unsigned index_of(attention_tensor x) {
    unsigned index = 0;
    bool found = false;
    ((found = found || X == x, index += !found), ...);
    return index;
  }

 public:
  NAPKIN_DEVICE attention_head(const attention_arguments& a, unsigned head) : a_(a) {
    for (unsigned o = a.outer_rank; o-- > 0;) {
      const std::int64_t place = head % a.outer_size[o];
      head /= a.outer_size[o];
      ((offset_[index_of(X)] += place * a.template walk<X>().outer[o]), ...);
    }
  }
  template <attention_tensor Y>
  NAPKIN_DEVICE attention_element<Type, Y>* at() const {
    return reinterpret_cast<attention_element<Type, Y>*>(a_.template at<Y>()) + offset_[index_of(Y)];
  }
};

/// Rows from `first` of a head to shared memory, their first Columns; zeros past the last row, and past a
/// row's width.
template <attention_tensor X, unsigned Rows, unsigned Columns, unsigned Pitch, class Machine, class T>
NAPKIN_DEVICE void load_rows(Machine& m, const attention_arguments& a, T* to, const T* head, unsigned first,
                             unsigned last, unsigned width) {
  const auto thread = [&m] { return m.warp() * 32 + m.lane(); };  // kept from here, it made kernels spill
  const std::int64_t step = a.template walk<X>().position, across = a.template walk<X>().width;
  if (a.by_vectors) {
    constexpr unsigned n = 16 / sizeof(T), in_row = Columns / n, at_once = attention_threads / in_row;
    const unsigned column = thread() % in_row * n, row = thread() / in_row;
    const unsigned left = column < width && first + row < last ? last - first - row : 0;
    const T* from = head + (first + row) * step + column;
    to += row * Pitch + column;
    NAPKIN_UNROLL
    for (unsigned i = 0; i < Rows; i += at_once) {
      m.copy_async(to + i * Pitch, from, i < left);
      from += at_once * step;
    }
  } else {
    NAPKIN_ROLL
    for (unsigned i = thread(); i < Rows * Columns; i += attention_threads) {
      const unsigned row = i / Columns, column = i % Columns;
      const bool there = first + row < last && column < width;
      to[row * Pitch + column] = there ? head[(first + row) * step + column * across] : T{};
    }
  }
}

/// And back: rows of shared memory to a head's, from `first`; of the rows that there are, the columns that
/// there are.
template <attention_tensor X, unsigned Rows, unsigned Columns, unsigned Pitch, class Machine, class T>
NAPKIN_DEVICE void store_rows(Machine& m, const attention_arguments& a, T* head, const T* from,
                              unsigned first, unsigned last, unsigned width) {
  const unsigned thread = m.warp() * 32 + m.lane();
  const std::int64_t step = a.template walk<X>().position, across = a.template walk<X>().width;
  if (a.by_vectors) {
    using word = std::conditional_t<sizeof(T) == 2, std::uint32_t, T>;  // halves were put there in twos
    using piece = packed<word, 16 / sizeof(word)>;
    constexpr unsigned n = 16 / sizeof(T), in_row = Columns / n, at_once = attention_threads / in_row;
    const unsigned column = thread % in_row * n, row = thread / in_row;
    if (column >= width) return;
    NAPKIN_UNROLL
    for (unsigned i = row; i < row + Rows; i += at_once)
      if (first + i < last)
        put_packed(reinterpret_cast<word*>(head + (first + i) * step + column),
                   *reinterpret_cast<const piece*>(from + i * Pitch + column));
  } else {
    const bool along_rows = step == 1;  // lanes side by side write what lies side by side
    NAPKIN_ROLL
    for (unsigned i = thread; i < Rows * Columns; i += attention_threads) {
      const unsigned row = along_rows ? i % Rows : i / Columns, column = along_rows ? i / Rows : i % Columns;
      if (first + row < last && column < width)
        head[(first + row) * step + column * across] = from[row * Pitch + column];
    }
  }
}

/// c += rows * others^T, by mma over Columns: bands of 16 rows by Count times 8 of the others.
template <dtype Type, unsigned Columns, unsigned Pitch, unsigned Bands, unsigned Count, class Machine,
          class T>
NAPKIN_DEVICE void multiply_by_mma(Machine& m, float (&c)[Bands][Count][4], const T* rows, const T* others) {
  const unsigned lane = m.lane();
  rows += lane % 16 * Pitch + lane / 16 * 8;
  others += (lane / 16 * 8 + lane % 8) * Pitch + lane / 8 % 2 * 8;
  NAPKIN_UNROLL
  for (unsigned step = 0; step < Columns / 16; ++step) {
    std::uint32_t left[Bands][4], right[4];
    NAPKIN_UNROLL
    for (unsigned b = 0; b < Bands; ++b)
      m.template load_matrices<false>(left[b], rows + b * 16 * Pitch + step * 16);
    NAPKIN_UNROLL
    for (unsigned n = 0; n < Count; n += 2) {
      m.template load_matrices<false>(right, others + n * 8 * Pitch + step * 16);
      NAPKIN_UNROLL
      for (unsigned b = 0; b < Bands; ++b) {
        m.template multiply<Type>(c[b][n], left[b], right[0], right[1]);
        m.template multiply<Type>(c[b][n + 1], left[b], right[2], right[3]);
      }
    }
  }
}

/// sums += weights * others, by mma, over the tile's rows: Columns of the sums, from `first` times 8.
template <dtype Type, unsigned Columns, unsigned Pitch, unsigned Bands, unsigned Count, unsigned Tiles,
          class Machine, class T>
NAPKIN_DEVICE void add_by_mma(Machine& m, float (&sums)[Bands][Count][4], unsigned first,
                              const float (&weights)[Bands][Tiles][4], const T* others) {
  others += m.lane() % 16 * Pitch + m.lane() / 16 * 8;
  NAPKIN_UNROLL
  for (unsigned step = 0; step < Tiles / 2; ++step) {
    std::uint32_t left[Bands][4], right[4];
    NAPKIN_UNROLL
    for (unsigned b = 0; b < Bands; ++b) NAPKIN_UNROLL
    for (unsigned i = 0; i < 4; ++i) {
      const float* const pair = weights[b][2 * step + i / 2] + i % 2 * 2;
      left[b][i] = m.template pack<Type>(pair[0], pair[1]);
    }
    NAPKIN_UNROLL
    for (unsigned n = 0; n < Columns / 8; n += 2) {
      m.template load_matrices<true>(right, others + step * 16 * Pitch + n * 8);
      NAPKIN_UNROLL
      for (unsigned b = 0; b < Bands; ++b) {
        m.template multiply<Type>(sums[b][first + n], left[b], right[0], right[1]);
        m.template multiply<Type>(sums[b][first + n + 1], left[b], right[2], right[3]);
      }
    }
  }
}

}  // namespace napkin::on_cuda::detail
