// What lanes do with memory: parameters, loads, stores, atomics, and copies that land later.
#include <algorithm>
#include <cstring>

#include "emulated/instructions.hpp"
#include "emulated/lanes.hpp"
#include "emulated/machine.hpp"

namespace napkin::testing::ptx {
namespace {

template <class T>
void load_parameter(warp& w, const instruction& i) {
  const u64* const at = w.row(i.x[i.count]);
  w.each_lane([&](unsigned l) {
    for (unsigned v = 0; v < i.count; ++v) {
      T x;
      std::memcpy(&x, w.of().parameter(at[l] + static_cast<u64>(i.offset) + v * sizeof(T), sizeof(T), i),
                  sizeof(T));
      w.row(i.x[v])[l] = bits_of(x);
    }
  });
}
template <space Where>
u64 address(u64 base, s64 offset) {
  const u64 at = base + static_cast<u64>(offset);
  return Where == space::shared ? at & 0xffffffff : at;
}
/// f(lane, memory) of each lane's bytes at register `base` and the instruction's offset.
template <space Where, bool Writes, class F>
void each_access(warp& w, const instruction& i, std::int32_t base, std::size_t bytes, F f) {
  const u64* const from = w.row(base);
  u64 at[warp_size];
  unsigned lane[warp_size] = {};
  std::size_t n = 0;
  w.each_lane([&](unsigned l) {
    at[n] = address<Where>(from[l], i.offset);
    lane[n++] = l;
  });
  std::byte* memory[warp_size];
  w.of().touch_each<Writes>(w, i, Where, {at, n}, lane, bytes, memory);
  for (std::size_t k = 0; k < n; ++k) f(lane[k], memory[k]);
  w.of().count(Where, {at, n}, bytes, Writes);
}
template <class T, space Where>
void load(warp& w, const instruction& i) {
  each_access<Where, false>(w, i, i.x[i.count], sizeof(T) * i.count,
                            [&](unsigned l, const std::byte* memory) {
                              for (unsigned v = 0; v < i.count; ++v) {
                                T x;
                                std::memcpy(&x, memory + v * sizeof(T), sizeof(T));
                                w.row(i.x[v])[l] = bits_of(x);
                              }
                            });
}
template <class T, space Where>
void store(warp& w, const instruction& i) {
  each_access<Where, true>(w, i, i.x[0], sizeof(T) * i.count, [&](unsigned l, std::byte* memory) {
    for (unsigned v = 0; v < i.count; ++v) {
      const T x = get<T>(w.row(i.x[1 + v])[l]);
      std::memcpy(memory + v * sizeof(T), &x, sizeof(T));
    }
  });
}
/// atom d, [at], b, c, or red [at], b: the latter writes no operand.
template <class T, space Where, class F>
void atomic(warp& w, const instruction& i) {
  const std::int32_t* const x = i.x + i.writes;
  u64* const d = i.writes != 0 ? w.row(i.x[0]) : nullptr;
  const u64 *const base = w.row(x[0]), *const b = w.row(x[1]), *const c = x[2] >= 0 ? w.row(x[2]) : b;
  w.each_lane([&](unsigned l) {
    std::byte* const at =
        w.of().touch(w, i, Where, address<Where>(base[l], i.offset), sizeof(T), l, true, false);
    T old;
    std::memcpy(&old, at, sizeof(T));
    const T now = F{}(old, get<T>(b[l]), get<T>(c[l]));
    std::memcpy(at, &now, sizeof(T));
    if (d != nullptr) d[l] = bits_of(old);
  });
}
template <space Where>
handler moving(std::string_view op, std::string_view type) {
  return of_type(type, [&]<class T>() -> handler {
    if (op == "ld") return &load<T, Where>;
    if (op == "st") return &store<T, Where>;
    return nullptr;
  });
}
template <space Where>
handler atomic_of(std::string_view op, std::string_view type) {
  return of_type(type, [&]<class T>() -> handler {
    if constexpr (std::integral<T> && sizeof(T) >= 4) {
      if (op == "add")
        return &atomic<T, Where, decltype([](T old, T b, T) { return static_cast<T>(old + b); })>;
      if (op == "cas") return &atomic<T, Where, decltype([](T old, T b, T c) { return old == b ? c : old; })>;
    }
    return nullptr;
  });
}

// cp.async.cg.shared.global [to], [from], 16, bytes: the others become zero. Lands when it is waited for.
void copy_async(warp& w, const instruction& i) {
  const u64 *const to = w.row(i.x[0]), *const from = w.row(i.x[1]), *const bytes = w.row(i.x[3]);
  w.each_lane([&](unsigned l) {
    const auto n = static_cast<u32>(bytes[l]);
    if (n != 0 && n != 16) w.of().fail(i, "copies part of 16 bytes");
    std::byte* const at = w.of().touch(w, i, space::shared, to[l] & 0xffffffff, 16, l, true);
    std::memset(at, 0x7f, 16);  // what is read before it is waited for
    if (n == 16) w.of().touch(w, i, space::global, from[l], 16, l, false);
    w.copies.push_back({l, to[l] & 0xffffffff, from[l], n});
  });
  u64 read_from[warp_size];
  std::size_t n = 0;
  w.each_lane([&](unsigned l) {
    if (static_cast<u32>(bytes[l]) == 16) read_from[n++] = from[l];
  });
  if (n > 0) w.of().count(space::global, {read_from, n}, 16, false);
}
void wait_async(warp& w, const instruction& i) {
  std::erase_if(w.copies, [&](const warp::copy& c) {
    if ((w.mask() >> c.lane & 1) == 0) return false;
    std::byte* const at = w.of().touch(w, i, space::shared, c.to, 16, c.lane, true);
    if (c.bytes == 16)
      std::memcpy(at, reinterpret_cast<const void*>(c.from), 16);
    else
      std::memset(at, 0, 16);
    return true;
  });
}

void nothing(warp&, const instruction&) {}

}  // namespace

handler memory_access(std::span<const std::string_view> p, instruction& i) {
  const std::string_view op = p[0], type = p.back();
  const auto has = [&](std::string_view part) { return std::find(p.begin(), p.end(), part) != p.end(); };
  i.is_volatile = has("volatile");
  if (op == "ld" && has("param"))
    return of_type(type, []<class T>() -> handler { return &load_parameter<T>; });
  if (op == "ld" || op == "st") {
    if (has("v2") != (i.count == 2) || has("v4") != (i.count == 4)) return nullptr;
    if (has("global")) return moving<space::global>(op, type);
    if (has("shared")) return moving<space::shared>(op, type);
    return nullptr;
  }
  if ((op == "atom" || op == "red") && p.size() == 4) {
    if (p[1] == "global") return atomic_of<space::global>(p[2], type);
    if (p[1] == "shared") return atomic_of<space::shared>(p[2], type);
  }
  if (op == "cp" && p[1] == "async" && p.size() == 5 && p[2] == "cg") return &copy_async;
  if (op == "cp" && p[1] == "async" && p[2] == "wait_all") return &wait_async;
  if (op == "membar") return &nothing;
  return nullptr;
}

}  // namespace napkin::testing::ptx
