// What refusing mistakes leaves to others: a program's own functions and operators beside this library's names,
// and the types that its layers are made of.
#include <array>
#include <concepts>
#include <functional>
#include <memory>
#include <napkin/napkin.hpp>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace program {

namespace nk = napkin;
using namespace napkin;  // NOLINT: as programs do

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 3> {};
using vector = nk::tensor<nk::f32, batch>;

// Functions of the library's names, called with what only converts to their parameters.

struct own {};
own mean(std::span<const float>);
own mean(std::span<const vector>);
own exp(std::span<const float>);
own dot(std::span<const float>, std::span<const float>);
own softmax(const std::vector<double>&);
own save_checkpoint(const std::string& path, const vector&);
template <class Range>
own sum(const Range&, std::size_t);

using floats = std::vector<float>;
static_assert(std::same_as<decltype(mean(std::declval<floats&>())), own>);
static_assert(std::same_as<decltype(mean(std::declval<std::vector<vector>&>())), own>);
static_assert(std::same_as<decltype(exp(std::declval<std::array<float, 3>&>())), own>);
static_assert(std::same_as<decltype(dot(std::declval<floats&>(), std::declval<floats&>())), own>);
static_assert(std::same_as<decltype(softmax(std::declval<std::vector<double>&>())), own>);
static_assert(std::same_as<decltype(save_checkpoint("x", std::declval<vector&>())), own>);
static_assert(std::same_as<decltype(sum(std::declval<floats&>(), std::size_t{1})), own>);

// Operators: a class of the program's own, and containers of tensors, where no operand takes part.

struct row {
  const float* begin() const;
  const float* end() const;
};
template <class A, class B>
own operator*(const A&, const B&);
own operator+(const std::string&, const vector&);

static_assert(std::same_as<decltype(std::declval<row&>() * std::declval<vector&>()), own>);
static_assert(std::same_as<decltype(std::string("x") + std::declval<vector&>()), own>);

struct pointers : std::vector<std::shared_ptr<vector>> {};
static_assert(std::same_as<decltype(std::declval<pointers&>() == std::declval<pointers&>()), bool>);
using few = decltype(std::declval<std::vector<vector>&>() | std::views::take(2));
static_assert(std::same_as<decltype(!std::declval<few&>()), bool>);
static_assert(std::same_as<decltype(std::declval<few&>() && true), bool>);

// What functions may be handed to fn and grad.

struct square final {
  constexpr auto operator()(const auto& x) const { return x * x; }
};
static_assert(std::same_as<decltype(nk::eval(nk::fn(square{})(std::declval<vector&>()))), vector>);
using total = decltype(nk::grad([](nk::input<nk::f32, batch> x) mutable { return nk::sum(x * x); }));
static_assert(std::same_as<decltype(std::declval<total&>()(std::declval<vector&>())), vector>);

// Deduction: a number, a copy, a view and an expression.

static_assert(std::same_as<decltype(nk::tensor(2.0f)), nk::tensor<nk::f32>>);
static_assert(std::same_as<decltype(nk::tensor(nk::i64{2})), nk::tensor<nk::i64>>);
static_assert(std::same_as<decltype(nk::tensor(std::declval<const vector&>())), vector>);
static_assert(std::same_as<decltype(nk::tensor(nk::slice<"batch", 0, 4>(std::declval<vector&>()))), vector>);
static_assert(std::same_as<decltype(nk::tensor(std::declval<vector&>() + 1)), vector>);
static_assert(std::is_assignable_v<nk::tensor<nk::f32>&, float>);

// Parameters are of one type, whoever holds them, and aggregates of it.

static_assert(std::same_as<decltype(nk::nn::linear<batch, hidden>{}.weight), nk::param<batch, hidden>>);
static_assert(std::same_as<decltype(nk::nn::embedding<batch, hidden>{}.table), nk::param<batch, hidden>>);
static_assert(std::same_as<decltype(nk::nn::mlp<batch, hidden>{}.down), nk::param<hidden, batch>>);
static_assert(std::same_as<decltype(nk::nn::swiglu_mlp<batch, hidden>{}.gate), nk::param<batch, hidden>>);
static_assert(std::is_aggregate_v<nk::param<batch>>);
static_assert(!std::invocable<const nk::param<hidden>&, nk::input<nk::f32, batch, hidden>>);

}  // namespace program
