// Fused kernels on the CPU: expressions over 32 rows of 768, which stay in the nearest caches, by dtype; and over as
// many elements rows of 12, windows of 2 by 2, and attention. One thread: what is measured is the code that a kernel
// becomes.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <napkin/cpu/threads.hpp>
#include <napkin/napkin.hpp>
#include <string>

namespace nk = napkin;

namespace {

struct row : nk::dim<"row", 32> {};
struct column : nk::dim<"column", 768> {};
struct seq : nk::dim<"seq", 128> {};
struct heads : nk::dim<"heads", 3> {};
struct hidden : nk::dim<"hidden", 64> {};
constexpr std::int64_t elements = row::size * column::size;
static_assert(elements == seq::size * heads::size * hidden::size);
struct item : nk::dim<"item", 2048> {};
struct kind : nk::dim<"kind", 12> {};
struct channel : nk::dim<"channel", 16> {};
struct height : nk::dim<"height", 48> {};
struct width : nk::dim<"width", 32> {};
static_assert(elements == item::size * kind::size && elements == channel::size * height::size * width::size);

template <class T>
struct operands {
  nk::tensor<T, row, column> a = nk::cast<T>(nk::randn<nk::f32, row, column>(nk::seed{1})),
                             b = nk::cast<T>(nk::randn<nk::f32, row, column>(nk::seed{2}));
  nk::tensor<T, column> g = nk::cast<T>(nk::randn<nk::f32, column>(nk::seed{3}));
  nk::tensor<T, seq, heads, hidden> q = nk::cast<T>(nk::randn<nk::f32, seq, heads, hidden>(nk::seed{5})),
                                    k = nk::cast<T>(nk::randn<nk::f32, seq, heads, hidden>(nk::seed{6})),
                                    v = nk::cast<T>(nk::randn<nk::f32, seq, heads, hidden>(nk::seed{7}));
  nk::tensor<T, item, kind> logits = nk::cast<T>(nk::randn<nk::f32, item, kind>(nk::seed{8}));
  nk::tensor<T, channel, height, width> image =
      nk::cast<T>(nk::randn<nk::f32, channel, height, width>(nk::seed{9}));
  nk::tensor<T, height, width, channel> channels_last =
      nk::cast<T>(nk::randn<nk::f32, height, width, channel>(nk::seed{10}));
  nk::tensor<nk::b8, row, column> shown = nk::randn<nk::f32, row, column>(nk::seed{4}) < 0.0f;
};

/// `make` gives an expression over operands<T>; what is timed is the tensor that it becomes.
template <class T, class Make>
void measure(const std::string& name, Make make) {
  benchmark::RegisterBenchmark((std::string(nk::name_of(nk::dtype_of<T>)) + "/" + name).c_str(),
                               [make](benchmark::State& state) {
                                 const operands<T> x;
                                 for (auto _ : state) {
                                   nk::tensor y = make(x);
                                   benchmark::DoNotOptimize(y.data());
                                 }
                                 state.SetItemsProcessed(state.iterations() * elements);
                               })
      ->Repetitions(5)
      ->ReportAggregatesOnly();
}

template <class T>
void measure_all() {
  measure<T>("add", [](const auto& x) { return x.a + x.b; });
  measure<T>("multiply_add", [](const auto& x) { return x.a * x.b + x.a; });
  measure<T>("bias_gelu", [](const auto& x) { return nk::gelu(x.a + x.g); });
  measure<T>("swiglu", [](const auto& x) { return nk::swiglu(x.a, x.b); });
  measure<T>("exp", [](const auto& x) { return nk::exp(x.a); });
  measure<T>("sum_of_rows", [](const auto& x) { return nk::sum<"column">(x.a); });
  measure<T>("sum_of_columns", [](const auto& x) { return nk::sum<"row">(x.a); });
  measure<T>("squared_error", [](const auto& x) { return nk::mean((x.a - x.b) * (x.a - x.b)); });
  measure<T>("softmax", [](const auto& x) { return nk::softmax<"column">(x.a); });
  measure<T>("masked_softmax",
             [](const auto& x) { return nk::softmax<"column">(nk::where(x.shown, x.a * 0.125, -1e30)); });
  measure<T>("layer_norm", [](const auto& x) { return nk::layer_norm<"column">(x.a, x.g, x.g); });
  measure<T>("sum_of_12", [](const auto& x) { return nk::sum<"kind">(x.logits); });
  measure<T>("softmax_of_12", [](const auto& x) { return nk::softmax<"kind">(x.logits); });
  measure<T>("max_pool", [](const auto& x) { return nk::max_pool<2, "height", "width">(x.image); });
  measure<T>("max_pool_channels_last",
             [](const auto& x) { return nk::max_pool<2, "height", "width">(x.channels_last); });
  measure<T>("causal_attention",
             [](const auto& x) { return nk::causal_attention<"seq", "hidden">(x.q, x.k, x.v); });
}

}  // namespace

int main(int argc, char** argv) {
  nk::on_cpu::set_threads(1);
  measure_all<nk::f32>();
  measure_all<nk::bf16>();
  measure_all<nk::f64>();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
