// Devices and the time they must take at least, as constants.
#include "napkin/cost/time.hpp"
#include "napkin/cpu/cost.hpp"
#include "napkin/ops/elementwise.hpp"
#include "napkin/ops/matmul.hpp"
#include "napkin/ops/reduce.hpp"

namespace nk = napkin;
using nk::arithmetic;

namespace {

// ---- peaks by what is multiplied and in what it adds up
static_assert(nk::h100_sxm.peak(arithmetic::bf16).per_second == 989'400'000'000'000);
static_assert(nk::h100_sxm.sparse_peak(arithmetic::bf16).dense() == nk::h100_sxm.peak(arithmetic::bf16));
static_assert(nk::h100_sxm.sparse_peak(arithmetic::f32).per_second == 0);
static_assert(nk::rtx_4090.peak(arithmetic::f16, arithmetic::f16).per_second == 330'300'000'000'000);
static_assert(nk::rtx_4090.peak(arithmetic::f16).per_second == 165'200'000'000'000);
static_assert(nk::a100_80gb.peak(arithmetic::f8).per_second == 0);
static_assert(nk::a100_80gb.peak(arithmetic::f64).per_second == 0);  // not in the table: not known
static_assert(nk::h200.ridge() > 206 && nk::h200.ridge() < 207);
static_assert(nk::a100_80gb.ridge() > 153 && nk::a100_80gb.ridge() < 154);
static_assert(nk::detail::find_device("NVIDIA H200") == &nk::h200);
static_assert(nk::detail::find_device("nvidia l40s") == nullptr);

static_assert(nk::a100_pcie.ridge() > 161 && nk::a100_pcie.ridge() < 162);
static_assert(nk::rtx_5090.ridge() > 116.9 && nk::rtx_5090.ridge() < 117);
static_assert(nk::rtx_5090.peak(arithmetic::tf32).per_second == 0);  // not in the table: not known

// ---- every row has its vendor's document, or it is none
constexpr bool have_documents() {
  for (const nk::listed_device& d : nk::known_devices) {
    bool vendors = false;
    for (const std::string_view host : {"https://www.nvidia.com/", "https://images.nvidia.com/",
                                        "https://nvdam.widen.net/"})  // NVIDIA's own for its documents
      vendors = vendors || d.address.starts_with(host);
    if (!vendors || d.document.empty() || std::string_view(d.is->name).empty()) return false;
  }
  return true;
}
static_assert(have_documents());

/// What the check of data sheets would refuse: the sparse rate as the dense one.
constexpr nk::device with_sparse_as_dense() {
  nk::device d = nk::h100_sxm;
  d.rates[2].dense.per_second *= 2;
  return d;
}
static_assert(nk::detail::rates_agree(nk::h100_sxm) && !nk::detail::rates_agree(with_sparse_as_dense()));

// ---- time: what is slower, arithmetic or memory
inline constexpr nk::device slow{"ten by four",
                                 1,
                                 1'000,
                                 /*bandwidth*/ 4,
                                 0,
                                 {nk::unit_rate{arithmetic::f32, arithmetic::f32, {10}, 0, 0, false},
                                  nk::unit_rate{arithmetic::tf32, arithmetic::f32, {100}, 0, 0, false}}};
struct m : nk::dim<"m", 8> {};
struct k : nk::dim<"k", 100> {};
struct n : nk::dim<"n", 5> {};
using x_type = nk::tensor<nk::f32, m, k>;
using w_type = nk::tensor<nk::f32, k, n>;
using product = decltype(nk::matmul(std::declval<x_type>(), std::declval<w_type>()));
constexpr double flops = 2 * 8 * 100 * 5, bytes = 4 * (8 * 100 + 100 * 5 + 8 * 5);
static_assert(nk::time_on<slow, product>.seconds == bytes / 4);  // 1,340 s against 800
static_assert(nk::time_on<slow, product>.compute == flops / 10 && nk::time_on<slow, product>.by_memory == 1);
inline constexpr nk::device fast_memory{"ten by a thousand", 1, 1'000, 1'000, 0, slow.rates};
static_assert(nk::time_on<fast_memory, product>.seconds == flops / 10);
static_assert(nk::time_on<fast_memory, product, nk::cpu, arithmetic::tf32>.compute == flops / 100);

// Products and the rest of one kernel share the vector unit, or run side by side.
using activated = decltype(nk::relu(std::declval<product>()));
static_assert(nk::plan_of<activated>.launches == 1);
static_assert(nk::time_on<fast_memory, activated>.compute == (flops + 8 * 5) / 10);
static_assert(nk::time_on<fast_memory, activated, nk::cpu, arithmetic::tf32>.compute == flops / 100);

// What is computed in f32 and stored as f64, and the other way round: each at the rate of what it is computed
// in; of both in one kernel f32's, the faster. (`slow` has no rate of f64, and none is asked for.)
using as_f64 = decltype(nk::cast<nk::f64>(nk::exp(std::declval<x_type>()) * 2.f));
static_assert(nk::plan_of<as_f64>.launches == 1);
static_assert(nk::time_on<fast_memory, as_f64>.compute == 2 * 800 / 10.0);
using x_f64 = nk::tensor<nk::f64, m, k>;
using as_f32 = decltype(nk::cast<nk::f32>(std::declval<x_f64>() * 2.0));
using in_both = decltype(nk::cast<nk::f32>(std::declval<x_f64>() * 2.0) * 2.f);
inline constexpr nk::device with_f64 = fast_memory.with(arithmetic::f64, {5});
static_assert(nk::time_on<with_f64, as_f32>.compute == 800 / 5.0);
static_assert(nk::time_on<with_f64, in_both>.compute == 2 * 800 / 10.0);

// Kernels one after another.
constexpr auto loss = [](auto x, auto w) { return nk::sum(nk::matmul(x, w)); };
using step = nk::gradient_of<decltype(nk::grad<1>(loss)), x_type, w_type>;
static_assert(nk::time_on<slow, step>.kernels == nk::plan_of<step>.launches);
static_assert(nk::time_on<slow, step>.seconds >= nk::time_on<slow, step>.memory);
static_assert(nk::time_on<slow, step>.flops == nk::cost<step>.flops.matmul);

// ---- utilisation of a measured time
static_assert(nk::utilisation(500, 100, {10}) == 0.5);
static_assert(nk::mfu<product>(slow, 1'600) == 0.5 && nk::hfu<product>(slow, 800) == 1);
template <std::uint64_t Seconds>
concept CanTake = requires {
  typename std::bool_constant<(nk::mfu<product>(slow, static_cast<double>(Seconds)) > 0)>;
};
static_assert(CanTake<800> && !CanTake<799> && !CanTake<0>);
template <class T>
concept HasRate = requires {
  typename std::bool_constant<(nk::utilisation(1, 1, nk::a100_80gb.peak(nk::arithmetic_of(nk::dtype_of<T>))) >
                               0)>;
};
static_assert(HasRate<nk::bf16> && !HasRate<nk::f64> && !HasRate<nk::i32>);

}  // namespace
