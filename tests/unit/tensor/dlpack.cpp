// DLPack: what is handed out shares the memory and keeps it alive, what is taken over is let go of once.
#include "napkin/tensor/dlpack.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "napkin/cpu/lower.hpp"
#include "napkin/ops/elementwise.hpp"
#include "napkin/ops/movement.hpp"
#include "napkin/tensor/create.hpp"

namespace nk = napkin;

namespace {

struct a : nk::dim<"a", 2> {};
struct b : nk::dim<"b", 3> {};
struct none : nk::dim<"none", 0> {};
struct some : nk::dim<"some", nk::up_to<4>> {};

nk::tensor<nk::f32, a, b> example() { return {{1, 2, 3}, {4, 5, 6}}; }

// Another library's array: counts how often it is let go of.
template <class Managed>
struct foreign {
  std::vector<float> elements;
  std::vector<std::int64_t> shape, strides;
  Managed managed{};
  int released = 0;

  foreign(std::vector<float> values, std::vector<std::int64_t> sizes, std::vector<std::int64_t> steps = {})
      : elements(std::move(values)), shape(std::move(sizes)), strides(std::move(steps)) {
    if constexpr (nk::dlpack::is_versioned<Managed>) managed.version = {1, 3};
    managed.manager_ctx = this;
    managed.deleter = [](Managed* self) { ++static_cast<foreign*>(self->manager_ctx)->released; };
    managed.dl_tensor = {elements.data(),
                         {nk::dlpack::device_type::cpu, 0},
                         static_cast<std::int32_t>(shape.size()),
                         {nk::dlpack::type_code::floating, 32, 1},
                         shape.data(),
                         strides.empty() ? nullptr : strides.data(),
                         0};
  }
  foreign(const foreign&) = delete;
};
using versioned = foreign<nk::dlpack::managed_tensor_versioned>;
using unversioned = foreign<nk::dlpack::managed_tensor>;

template <class T, class... Ds>
std::string refusal(auto& other) {
  std::string text = "nothing was thrown";
  try {
    nk::from_dlpack<T, Ds...>(&other.managed);
  } catch (const nk::input_error& problem) {
    text = problem.what();
  }
  CHECK(other.released == 1);
  return text;
}

}  // namespace

TEST_CASE("dlpack: a copy is right between tensors that share memory through it") {
  nk::tensor<nk::f32, b> x = {1, 2, 3};
  const nk::tensor y = nk::from_dlpack<nk::f32, b>(nk::to_dlpack(x));
  CHECK(y.data() == x.data());
  nk::copy(nk::flip<"b">(x), y);
  CHECK(std::vector<float>(x.begin(), x.end()) == std::vector<float>{3, 2, 1});
}

TEST_CASE(
    "dlpack: an expression is right that reads what it is assigned to through it, and begins before it") {
  struct all : nk::dim<"n", 80> {};
  struct most : nk::dim<"n", 64> {};
  nk::tensor<nk::f32, all> x = nk::arange<nk::f32, all>();
  const nk::tensor y = nk::from_dlpack<nk::f32, most>(nk::to_dlpack(nk::slice<"n", 16, 80>(x)));
  CHECK(y.data() == x.data() + 16);
  CHECK(nk::same_storage(x, y));
  nk::as_view(y) = nk::slice<"n", 0, 64>(x) * 2;
  for (std::size_t i = 0; i < 64; ++i) CHECK(x(16 + i) == 2 * static_cast<float>(i));
  CHECK(!nk::same_storage(nk::zeros<nk::f32, all>(), y));
}

TEST_CASE("dlpack: a tensor handed out shares its memory, and keeps it after the tensor is gone") {
  const std::size_t before = nk::memory_allocated();
  nk::dlpack::managed_tensor_versioned* out = nullptr;
  {
    const auto x = example();
    out = nk::to_dlpack(x);
    CHECK(out->dl_tensor.data == x.data());
    CHECK(x.shared_storage().use_count() == 2);
  }
  CHECK(nk::memory_allocated() > before);
  const nk::dlpack::tensor& t = out->dl_tensor;
  CHECK(out->version.major == 1);
  CHECK(out->flags == 0);
  CHECK(t.device.type == nk::dlpack::device_type::cpu);
  REQUIRE(t.ndim == 2);
  CHECK(std::vector<std::int64_t>(t.shape, t.shape + 2) == std::vector<std::int64_t>{2, 3});
  CHECK(std::vector<std::int64_t>(t.strides, t.strides + 2) == std::vector<std::int64_t>{3, 1});
  CHECK((t.dtype == nk::dlpack::data_type{nk::dlpack::type_code::floating, 32, 1}));
  CHECK(static_cast<const float*>(t.data)[5] == 6);
  out->deleter(out);
  CHECK(nk::memory_allocated() == before);
}

TEST_CASE("dlpack: views go out by their strides, and come back as a copy") {
  const auto x = example();
  const auto across = nk::make_view<nk::strides<1, 3>, b, a>(x);
  auto* out = nk::to_dlpack<nk::dlpack::managed_tensor>(across);
  CHECK(out->dl_tensor.data == x.data());
  CHECK(out->dl_tensor.strides[0] == 1);
  CHECK(out->dl_tensor.strides[1] == 3);
  const auto back = nk::from_dlpack<nk::f32, b, a>(out);
  CHECK(x.shared_storage().use_count() == 2);  // x and the view: let go of at once
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t k = 0; k < 3; ++k) CHECK(back(k, i) == x(i, k));
  const auto backwards = nk::make_view<nk::strides<-3, -1>, a, b>(x, 5);
  const auto turned = nk::from_dlpack<nk::f32, a, b>(nk::to_dlpack(backwards));
  CHECK(turned(0, 0) == 6);
  CHECK(turned(1, 2) == 1);
}

TEST_CASE("dlpack: out and in again is the same memory") {
  const auto x = example();
  {
    const auto y = nk::from_dlpack<nk::f32, a, b>(nk::to_dlpack(x));
    CHECK(y.data() == x.data());
    y(1, 1) = 50;
    CHECK(x(1, 1) == 50);
    CHECK(x.shared_storage().use_count() == 2);
  }
  CHECK(x.shared_storage().use_count() == 1);
}

TEST_CASE("dlpack: every dtype goes out and in") {
  const auto check = [](auto type) {
    using T = typename decltype(type)::type;
    const nk::tensor<T, a, b> x;
    const auto y = nk::from_dlpack<T, a, b>(nk::to_dlpack(x));
    CHECK(y.data() == x.data());
  };
  for (const nk::dtype type : nk::all_dtypes) nk::dispatch(type, check);
}

TEST_CASE("dlpack: what lies as a tensor lies is shared until the last handle") {
  versioned other({1, 2, 3, 4, 5, 6}, {2, 3});
  {
    const auto x = nk::from_dlpack<nk::f32, a, b>(&other.managed);
    const auto row = x[1];
    CHECK(x.data() == other.elements.data());
    CHECK(row(2) == 6);
    CHECK(other.released == 0);
  }
  CHECK(other.released == 1);

  unversioned offset({0, 1, 2, 3, 4, 5, 6}, {2, 3}, {3, 1});
  offset.managed.dl_tensor.byte_offset = sizeof(float);
  CHECK(nk::from_dlpack<nk::f32, a, b>(&offset.managed)(0, 0) == 1);
  CHECK(offset.released == 1);
}

TEST_CASE("dlpack: what is read-only, unaligned, strided or below its bound is copied, and let go of") {
  const auto copied = [](auto& other, const auto& x) {
    CHECK(static_cast<const void*>(x.data()) != other.elements.data());
    CHECK(other.released == 1);
    CHECK(x(1, 2) == 6);
    CHECK(x(0, 1) == 2);
  };
  versioned constant({1, 2, 3, 4, 5, 6}, {2, 3});
  constant.managed.flags = nk::dlpack::read_only;
  copied(constant, nk::from_dlpack<nk::f32, a, b>(&constant.managed));
  versioned columns({1, 4, 2, 5, 3, 6}, {2, 3}, {1, 2});
  copied(columns, nk::from_dlpack<nk::f32, a, b>(&columns.managed));
  versioned fewer({1, 2, 3, 4, 5, 6}, {2, 3});
  const auto x = nk::from_dlpack<nk::f32, a, some>(&fewer.managed);
  CHECK(x.sizes() == std::array<std::size_t, 2>{2, 3});
  copied(fewer, x);

  versioned empty({}, {2, 0});
  empty.managed.dl_tensor.data = nullptr;
  CHECK(nk::from_dlpack<nk::f32, a, none>(&empty.managed).numel() == 0);
  CHECK(empty.released == 1);
}

TEST_CASE("dlpack: what cannot be taken is refused in words, and let go of") {
  using Catch::Contains;
  versioned wrong({1, 2, 3, 4, 5, 6}, {3, 2});
  CHECK_THAT(
      (refusal<nk::f64, a, b>(wrong)),
      Contains("expected f64, found f32; axis 'a' has 2 elements, axis 0 of the tensor 3; axis 'b' has 3 "
               "elements, axis 1 of the tensor 2"));
  versioned flat({1, 2, 3, 4, 5, 6}, {6});
  CHECK_THAT((refusal<nk::f32, a, b>(flat)), Contains("expected 2 axes (a, b), found shape [6]"));
  versioned away({1, 2, 3, 4, 5, 6}, {2, 3});
  away.managed.dl_tensor.device = {nk::dlpack::device_type::cuda, 1};
  CHECK_THAT((refusal<nk::f32, a, b>(away)), Contains("on a device (type 2, number 1)"));
  versioned later({1, 2, 3, 4, 5, 6}, {2, 3});
  later.managed.version = {2, 0};
  CHECK_THAT((refusal<nk::f32, a, b>(later)), Contains("expected version 1 of DLPack, found 2.0"));
  versioned lanes({1, 2, 3, 4, 5, 6}, {2, 3});
  lanes.managed.dl_tensor.dtype.lanes = 4;
  CHECK_THAT((refusal<nk::f32, a, b>(lanes)), Contains("32 bits and 4 lanes"));
  versioned negative({1, 2, 3, 4, 5, 6}, {-2, 3});
  CHECK_THAT((refusal<nk::f32, a, b>(negative)), Contains("negative size -2"));
  versioned nowhere({1, 2, 3, 4, 5, 6}, {2, 3});
  nowhere.managed.dl_tensor.data = nullptr;
  CHECK_THAT((refusal<nk::f32, a, b>(nowhere)), Contains("no memory"));
  CHECK_THROWS_AS((nk::from_dlpack<nk::f32, a, b>(static_cast<nk::dlpack::managed_tensor*>(nullptr))),
                  nk::input_error);
}

namespace {
// As in DLPack's own header: other types, the same layout.
struct their_tensor {
  void* data;
  nk::dlpack::device device;
  std::int32_t ndim;
  nk::dlpack::data_type dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};
struct their_managed {
  their_tensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(their_managed* self);
};
}  // namespace

TEST_CASE("dlpack: the structs of DLPack's own header do as well") {
  const auto x = example();
  their_managed* out = nk::to_dlpack<their_managed>(x);
  CHECK(out->dl_tensor.data == x.data());
  const auto y = nk::from_dlpack<nk::f32, a, b>(out);
  CHECK(y.data() == x.data());
}
