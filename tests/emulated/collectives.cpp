// What the lanes of a warp do together: shuffles, votes, meetings, and products of matrices.
#include <bit>
#include <cstring>
#include <vector>

#include "emulated/instructions.hpp"
#include "emulated/lanes.hpp"
#include "emulated/machine.hpp"
#include "napkin/core/dtype.hpp"

namespace napkin::testing::ptx {
namespace {

enum class shuffled : u8 { butterfly, index, up };

/// shfl.sync d|p, a, b, c: c has the clamp, and the bits of a lane's number that its segment keeps.
template <shuffled How, bool Says>
void shuffle(warp& w, const instruction& i) {
  const std::int32_t* const x = i.x + (Says ? 2 : 1);
  const u64 *const a = w.row(x[0]), *const b = w.row(x[1]), *const c = w.row(x[2]);
  u64 out[warp_size], there[warp_size];
  w.each_lane([&](unsigned l) {
    const auto by = static_cast<unsigned>(b[l] & 31), clamp = static_cast<unsigned>(c[l] & 31),
               segment = static_cast<unsigned>(c[l] >> 8 & 31);
    const unsigned first = l & segment, last = first | (clamp & ~segment);
    unsigned j = How == shuffled::butterfly ? l ^ by
                 : How == shuffled::index   ? first | (by & ~segment)
                                            : l - by;
    there[l] = How == shuffled::up ? static_cast<int>(j) >= static_cast<int>(last) : j <= last;
    if (there[l] == 0) j = l;
    if ((w.mask() >> j & 1) == 0) w.of().fail(i, "asks a lane that takes no part");
    out[l] = a[j] & 0xffffffff;
  });
  w.each_lane([&](unsigned l) {
    w.row(i.x[0])[l] = out[l];
    if constexpr (Says) w.row(i.x[1])[l] = there[l];
  });
}
template <shuffled How>
handler shuffle_for(const instruction& i) {
  return i.text.find('|') != i.text.npos ? &shuffle<How, true> : &shuffle<How, false>;
}
void ballot(warp& w, const instruction& i) {
  const u32 yes = w.lanes_where(i.x[1]) & w.mask();
  w.each_lane([&](unsigned l) { w.row(i.x[0])[l] = yes; });
}
void any(warp& w, const instruction& i) {
  const bool yes = (w.lanes_where(i.x[1]) & w.mask()) != 0;
  w.each_lane([&](unsigned l) { w.row(i.x[0])[l] = yes; });
}
void meet_warp(warp& w, const instruction&) { ++w.epoch; }

// ldmatrix.sync.aligned.m8n8.x4: lanes 8 m to 8 m + 7 name the rows of matrix m. Lane l gets elements 2 * (l % 4)
// and the next of row l / 4; of a transposed one, of column l / 4.
template <bool Turned>
void load_matrices(warp& w, const instruction& i) {
  u64 at[warp_size];
  unsigned lane[warp_size];
  w.each_lane([&](unsigned l) {
    at[l] = (w.row(i.x[4])[l] + static_cast<u64>(i.offset)) & 0xffffffff;
    lane[l] = l;
  });
  // Whoever names a row is said to read it: the other lanes are of the same warp.
  std::byte* rows[warp_size];
  w.of().touch_each<false>(w, i, space::shared, at, lane, 16, rows);
  for (unsigned m = 0; m < 4; ++m) {
    u16 matrix[8][8];
    for (unsigned r = 0; r < 8; ++r) std::memcpy(matrix[r], rows[8 * m + r], 16);
    w.each_lane([&](unsigned l) {
      const unsigned r = l / 4, c = 2 * (l % 4);
      const u32 low = Turned ? matrix[c][r] : matrix[r][c],
                high = Turned ? matrix[c + 1][r] : matrix[r][c + 1];
      w.row(i.x[m])[l] = high << 16 | low;
    });
  }
  w.of().count(space::shared, at, 16, false);
}

/// By their 16 bits: each is met so often that to convert it again took a fifth of a test's time.
template <dtype Half>
const double* values_of() {
  static const std::vector<double> all = [] {
    std::vector<double> x(1 << 16);
    for (std::size_t bits = 0; bits < x.size(); ++bits)
      x[bits] = static_cast<double>(static_cast<float>(std::bit_cast<type_of<Half>>(static_cast<u16>(bits))));
    return x;
  }();
  return all.data();
}

// mma.sync.aligned.m16n8k16.row.col.f32: with g = lane / 4 and t = lane % 4, register a[i] holds row g + 8 * (i % 2),
// columns 2 t + 8 * (i / 2) and the next; b[i] rows 2 t + 8 i and the next of column g; c[i] row g + 8 * (i / 2),
// column 2 t + i % 2.
template <dtype Half>
void multiply_matrices(warp& w, const instruction& i) {
  ++w.of().counted().products;
  const double* const values = values_of<Half>();
  const auto half = [values](u64 word, unsigned which) {
    return values[static_cast<u16>(word >> (16 * which))];
  };
  // Of a loop over eight numbers g++ 12 makes a shuffle for each product.
  using eight [[gnu::vector_size(64)]] = double;
  double a[16][16];
  eight b[16], c[16];
  const auto row_of_c = [](unsigned l, unsigned r) { return l / 4 + 8 * (r / 2); };
  const auto column_of_c = [](unsigned l, unsigned r) { return l % 4 * 2 + r % 2; };
  for (unsigned l = 0; l < warp_size; ++l) {
    const unsigned g = l / 4, t = l % 4;
    for (unsigned r = 0; r < 4; ++r)
      for (unsigned p = 0; p < 2; ++p)
        a[g + 8 * (r % 2)][2 * t + 8 * (r / 2) + p] = half(w.row(i.x[4 + r])[l], p);
    for (unsigned r = 0; r < 2; ++r)
      for (unsigned p = 0; p < 2; ++p) b[2 * t + 8 * r + p][g] = half(w.row(i.x[8 + r])[l], p);
    for (unsigned r = 0; r < 4; ++r)
      c[row_of_c(l, r)][column_of_c(l, r)] = static_cast<double>(get<float>(w.row(i.x[10 + r])[l]));
  }
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned k = 0; k < 16; ++k) c[row] += a[row][k] * b[k];
  for (unsigned l = 0; l < warp_size; ++l)
    for (unsigned r = 0; r < 4; ++r)
      w.row(i.x[r])[l] = bits_of(static_cast<float>(c[row_of_c(l, r)][column_of_c(l, r)]));
}

}  // namespace

handler collective(std::span<const std::string_view> p, instruction& i) {
  const std::string_view op = p[0];
  i.is_collective = true;
  const auto mask_at = [&] {  // the last operand
    std::int32_t last = -1;
    for (const std::int32_t x : i.x)
      if (x >= 0) last = x;
    return last;
  };
  if (op == "shfl" && p[1] == "sync") {
    i.mask = mask_at();
    return p[2] == "bfly"  ? shuffle_for<shuffled::butterfly>(i)
           : p[2] == "idx" ? shuffle_for<shuffled::index>(i)
           : p[2] == "up"  ? shuffle_for<shuffled::up>(i)
                           : nullptr;
  }
  if (op == "vote" && (p[1] == "ballot" || p[2] == "ballot")) {
    i.mask = mask_at();
    return &ballot;
  }
  if (op == "vote" && p[1] == "sync" && p[2] == "any") {
    i.mask = mask_at();
    return &any;
  }
  if (op == "bar" && p[1] == "warp") {
    i.mask = mask_at();
    return &meet_warp;
  }
  if (op == "ldmatrix" && i.count == 4 && p.back() == "b16" && p[3] == "m8n8" && p[4] == "x4")
    return p[5] == "trans" ? &load_matrices<true> : &load_matrices<false>;
  if (op == "mma" && p.size() == 10 && p[3] == "m16n8k16" && p[4] == "row" && p[5] == "col" && p[6] == "f32")
    return p[7] == "bf16"  ? &multiply_matrices<dtype::bf16>
           : p[7] == "f16" ? &multiply_matrices<dtype::f16>
                           : nullptr;
  i.is_collective = false;
  return nullptr;
}

}  // namespace napkin::testing::ptx
