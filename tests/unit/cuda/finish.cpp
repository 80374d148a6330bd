// The kernels behind a product's call, thread by thread on the host, beside plain loops: elements and sums of matrices
// whose rows move 16 bytes at a time, and of others, and sums that several blocks share.
#include "napkin/cuda/finish.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <vector>

#include "support/compare.hpp"
#include "support/host_products.hpp"

namespace nk = napkin;
using namespace nk::on_cuda;
using nk::dtype;
using nk::passes::activation;
using nk::passes::summed;

namespace {

/// Bytes at a multiple of 256, and some behind them that nothing may write to.
class memory {
 public:
  explicit memory(std::size_t bytes) : bytes_(bytes), all_(bytes + 512, std::byte{0x5a}) {
    const auto at = reinterpret_cast<std::uintptr_t>(all_.data());
    begin_ = all_.data() + (256 - at % 256) % 256;
  }
  std::byte* data() const { return begin_; }
  bool is_intact() const {
    for (const std::byte* p = begin_ + bytes_; p < all_.data() + all_.size(); ++p)
      if (*p != std::byte{0x5a}) return false;
    return true;
  }

 private:
  std::size_t bytes_;
  std::vector<std::byte> all_;
  std::byte* begin_;
};

float value(std::uint64_t i) { return static_cast<float>(static_cast<int>(i * 37 % 41) - 20) / 8; }

template <class T>
std::vector<T> filled(std::byte* to, std::size_t count, std::uint64_t salt) {
  std::vector<T> x;
  for (std::size_t i = 0; i < count; ++i) x.push_back(T(value(i + salt)));
  std::memcpy(to, x.data(), count * sizeof(T));
  return x;
}

/// x[t, i] y[t, j] -> (i, j) with the sums of y over t: m sums of k terms, as BLAS has them.
template <class T>
void check_operand_sums(std::uint64_t m, std::uint64_t k, std::size_t workspace, std::uint64_t splits,
                        std::size_t offset = 0) {
  CAPTURE(m, k, workspace, offset, sizeof(T));
  product p;
  p.gemm.possible = true;
  p.gemm.m = m, p.gemm.n = 4, p.gemm.k = k, p.gemm.batch = 1;
  p.gemm.a.type = p.gemm.b.type = nk::dtype_of<T>;
  p.gemm.a.ld = static_cast<std::int64_t>(m);
  p.gemm.c.type = dtype::f32;
  p.gemm.workspace = workspace;
  p.follows.type = dtype::f32;
  p.follows.sums = summed::first_operand;
  p.follows.vector_size = m;
  REQUIRE(epilogue_of(p.follows, false) == blas_epilogue::bias_gradient_a);
  const memory a((m * k + offset) * sizeof(T)), vector(m * 4), shared(workspace);
  const std::vector<T> x = filled<T>(a.data() + offset * sizeof(T), m * k, 1);
  const finish_operands at{
      .a = a.data() + offset * sizeof(T), .vector = vector.data(), .workspace = shared.data()};
  const sum_arguments s(p, at);
  const sum_dealing d(s, at.workspace, workspace);
  CHECK(d.parts.splits() == splits);
  CHECK((d.width > 1) == (m % (16 / sizeof(T)) == 0 && offset == 0));
  CHECK((d.join.sums > 0) == (splits > 1));
  nk::testing::finish_on_host(p, apart::all, at);
  double largest = 0;
  for (std::uint64_t i = 0; i < m; ++i) {
    double sum = 0, of_magnitudes = 1;
    for (std::uint64_t j = 0; j < k; ++j) {
      const auto term = static_cast<double>(static_cast<float>(x[j * m + i]));
      sum += term, of_magnitudes += std::fabs(term);
    }
    float given = 0;
    std::memcpy(&given, vector.data() + i * 4, 4);
    largest = nk::testing::worst_of(largest, std::fabs(static_cast<double>(given) - sum) / of_magnitudes);
  }
  CHECK(largest <= 1e-6);
  CHECK(vector.is_intact());
  CHECK(shared.is_intact());
}

}  // namespace

TEST_CASE("sums of an operand: adjacent ones at once, terms shared by blocks, those joined in order",
          "[epilogue]") {
  constexpr std::size_t much = 1 << 20;
  check_operand_sums<nk::bf16>(512, 768, much, 12);
  check_operand_sums<nk::bf16>(512, 770, much, 13);
  check_operand_sums<nk::f16>(40, 1000, much, 16);
  check_operand_sums<float>(96, 300, much, 5);
  check_operand_sums<float>(97, 300, much, 5);          // no rows of 16 bytes
  check_operand_sums<nk::bf16>(512, 768, much, 12, 3);  // nor at such an address
  check_operand_sums<float>(96, 300, 3 * 96 * 4, 3);    // as many as there is room for
  check_operand_sums<float>(96, 300, 0, 1);
  check_operand_sums<nk::bf16>(512, 64, much, 1);
  check_operand_sums<nk::bf16>(1, 5, much, 1);
}

TEST_CASE(
    "GPT-2's sums of a bias's gradient are dealt to two waves of blocks, within the product's workspace",
    "[epilogue]") {
  for (const std::uint64_t m : {768u, 2304u, 3072u}) {
    sum_arguments s;
    s.from_type = dtype::bf16;
    s.sums = m, s.terms = s.terms_a_split = 65536, s.ld = static_cast<std::int64_t>(m);
    const sum_dealing d(s, nullptr, 32 << 20);
    CHECK(d.width == 8);
    const std::uint64_t blocks = m / (8 * sum_columns) * d.parts.splits();
    CAPTURE(m, blocks);
    CHECK(blocks <= 1056);
    CHECK(blocks >= 950);
    CHECK(d.parts.terms_a_split % sum_step == 0);  // whole rounds of loads
    CHECK(d.join.terms * m * 4 <= 32 << 20);
  }
}

namespace {

/// Elements of a result whose columns lie `ld` apart, in a batch of two.
template <class T>
void check_elements(std::uint64_t m, std::int64_t ld, activation then, bool adds_vector, bool keeps) {
  CAPTURE(m, ld, static_cast<int>(then), adds_vector, keeps, sizeof(T));
  constexpr std::uint64_t n = 5, batch = 2;
  product p;
  p.gemm.possible = true;
  p.gemm.m = m, p.gemm.n = n, p.gemm.batch = batch;
  p.gemm.c.type = nk::dtype_of<T>;
  p.gemm.c.ld = ld, p.gemm.c.batch_stride = ld * static_cast<std::int64_t>(n);
  p.follows.type = nk::dtype_of<T>;
  p.follows.then = then;
  p.follows.keeps = keeps;
  if (adds_vector) p.follows.vector_size = m;
  REQUIRE(p.follows.adds_vector() == adds_vector);
  const auto count = static_cast<std::size_t>(ld) * n * batch;
  const memory result(count * sizeof(T)), vector(m * sizeof(T)), auxiliary(count * sizeof(T));
  const std::vector<T> x = filled<T>(result.data(), count, 0), b = filled<T>(vector.data(), m, 7),
                       before = filled<T>(auxiliary.data(), count, 11);
  const finish_operands at{.result = result.data(), .vector = vector.data(), .auxiliary = auxiliary.data()};
  CHECK(finish_arguments(p, at).may_move(16 / sizeof(T)) ==
        (m % (16 / sizeof(T)) == 0 && ld % static_cast<std::int64_t>(16 / sizeof(T)) == 0));
  nk::testing::finish_on_host(p, apart::all, at);
  int wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    T given, kept;
    std::memcpy(&given, result.data() + i * sizeof(T), sizeof(T));
    std::memcpy(&kept, auxiliary.data() + i * sizeof(T), sizeof(T));
    const std::uint64_t row = i % static_cast<std::uint64_t>(ld);
    float wanted = static_cast<float>(x[i]);
    T wanted_kept = before[i];
    if (row < m) {
      if (adds_vector) wanted += static_cast<float>(b[row]);
      if (keeps) wanted_kept = T(wanted);
      if (then == activation::gelu) wanted = nk::passes::gelu_at(wanted).value;
      if (then == activation::gelu_gradient)
        wanted *= nk::passes::gelu_at(static_cast<float>(before[i])).slope;
    }
    wrong += static_cast<float>(given) != static_cast<float>(T(wanted));
    wrong += static_cast<float>(kept) != static_cast<float>(wanted_kept);
  }
  CHECK(wrong == 0);
  CHECK((result.is_intact() && vector.is_intact() && auxiliary.is_intact()));
}
template <class T>
void check_all_elements() {
  for (const auto& [m, ld] : {std::pair{24, 24}, std::pair{24, 32}, std::pair{24, 25}, std::pair{21, 24}}) {
    const auto rows = static_cast<std::uint64_t>(m);
    check_elements<T>(rows, ld, activation::none, true, false);
    check_elements<T>(rows, ld, activation::gelu, true, true);
    check_elements<T>(rows, ld, activation::gelu, true, false);
    check_elements<T>(rows, ld, activation::gelu, false, true);
    check_elements<T>(rows, ld, activation::gelu, false, false);
    check_elements<T>(rows, ld, activation::gelu_gradient, false, false);
  }
}

}  // namespace

TEST_CASE("an epilogue's elements, 16 bytes at once or one by one, and none beside them", "[epilogue]") {
  check_all_elements<float>();
  check_all_elements<nk::bf16>();
  check_all_elements<nk::f16>();
}
