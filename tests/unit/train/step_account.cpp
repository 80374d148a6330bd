// The account of a step: its sums are the step's constants, its memory map is sound, its JSON says the same,
// and what a clock adds changes no bit of the training.
#include "napkin/train/step_account.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "napkin/napkin.hpp"
#include "napkin/train/cuda_step.hpp"
#include "napkin/train/step_account_text.hpp"
#include "napkin/train/step_rates.hpp"
#include "support/cruncher.hpp"

namespace nk = napkin;
using nlohmann::json;

namespace {

using model = lecture::cruncher<2, 4, 3>;
using step = nk::train_step<model, nk::adamw>;
using step_of_batches = nk::train_step<model, nk::adamw, nk::micro_batches<3>>;

struct config {
  struct batch : nk::dim<"batch", 4> {};
  struct seq : nk::dim<"seq", 16> {};
  struct vocab : nk::dim<"vocab", 32> {};
  struct embed : nk::dim<"embed", 16> {};
  struct ffn : nk::dim<"ffn", 32> {};
  struct heads : nk::dim<"heads", 2> {};
  struct hidden : nk::dim<"hidden", 8> {};
  static constexpr std::size_t layers = 2;
};
using language = nk::nn::gpt<config>;

// Of a step that another rule has refused no more is said.
struct refused : nk::failed {};
static_assert(std::is_same_v<decltype(nk::account_of<refused>("refused", nk::h100_sxm)), nk::failed>);
static_assert(std::is_same_v<decltype(nk::work_of<refused>(nullptr)), nk::failed>);
static_assert(std::is_same_v<decltype(nk::step_report<refused>()), nk::failed>);
static_assert(std::is_same_v<decltype(nk::step_flops<refused>()), nk::failed>);

bool close(double a, double b) { return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b)); }

template <class Step>
nk::step_account account() {
  return nk::account_of<Step>("cruncher", nk::h100_sxm);
}

template <class Step>
void check_sums() {
  const nk::step_account a = account<Step>();
  CHECK(a.total.cost == static_cast<const nk::cost_sheet&>(Step::cost));
  CHECK(a.phases[0].cost == Step::cost.forward);
  CHECK(a.phases[1].cost == Step::cost.backward);
  CHECK(a.phases[2].cost == Step::cost.optimizer);
  nk::cost_sheet kernels, layers;
  for (const nk::account_kernel& k : a.kernels)
    for (std::size_t run = 0; run < k.runs; ++run) kernels += k.cost();
  std::uint64_t parameters = 0;
  for (const nk::account_layer& l : a.layers) {
    layers += l.cost;
    parameters += l.parameters;
  }
  CHECK(kernels == a.total.cost);
  CHECK(layers == a.total.cost);
  CHECK(parameters == Step::parameter_count);
  CHECK(a.parameters == Step::parameter_count);
  CHECK(close(a.total.bound.seconds, nk::time_on<nk::h100_sxm, Step>.seconds));
  CHECK(a.total.bound.products == nk::time_on<nk::h100_sxm, Step>.products);
  CHECK(a.total.bound.flops == nk::time_on<nk::h100_sxm, Step>.flops);
  CHECK(a.model_flops.exact.total() == nk::conventions::exact<Step>.total());
  CHECK(a.model_flops.torch.total() == nk::conventions::torch<Step>.total());
}

}  // namespace

TEST_CASE("kernels, layers and phases of an account add up to the step's constants", "[account]") {
  check_sums<step>();
  check_sums<step_of_batches>();
  using on_gpu = nk::train_step<language, nk::adamw, nk::cuda>;
  static_assert(on_gpu::cost.launches >
                on_gpu::gradient_plan::view().count.instructions);  // joins of columns
  check_sums<on_gpu>();
}

TEST_CASE("an account's memory map is the plan's: nothing overlaps, the peak is the step's", "[account]") {
  const nk::step_account a = account<step>();
  CHECK(a.memory.peak == step::memory.peak);
  std::uint64_t end = 0, most = 0;
  for (const nk::account_buffer& b : a.buffers) {
    CHECK(b.first <= b.last);
    CHECK(b.last < a.kernels.size());
    end = std::max(end, b.offset + b.bytes);
    for (const nk::account_buffer& c : a.buffers) {
      const bool together = b.first <= c.last && c.first <= b.last;
      const bool apart = b.offset + b.bytes <= c.offset || c.offset + c.bytes <= b.offset;
      CHECK((&b == &c || !together || apart));
    }
  }
  CHECK(end == step::memory.intermediates);
  for (const nk::account_kernel& k : a.kernels) most = std::max(most, k.live);
  CHECK(most == a.kernels[a.peak_kernel].live);
  CHECK(most == step::memory.intermediates_lower_bound);
}

TEST_CASE("kernels read from kernels before them, and each but the first of a chain from some", "[account]") {
  const nk::step_account a = account<step>();
  std::size_t lines = 0;
  for (std::size_t i = 0; i < a.kernels.size(); ++i) {
    CHECK(!a.kernels[i].operations.empty());
    for (const std::size_t from : a.kernels[i].reads_from) {
      CHECK(from < i);
      CHECK(a.kernels[from].plan == a.kernels[i].plan);
      ++lines;
    }
  }
  CHECK(lines >= a.kernels.size() / 2);
  // the loss's own gradient comes from the forward pass
  const auto backward = std::find_if(a.kernels.begin(), a.kernels.end(), [](const nk::account_kernel& k) {
    return k.phase == nk::step_phase::backward;
  });
  REQUIRE(backward != a.kernels.end());
  REQUIRE(!backward->reads_from.empty());
  CHECK(a.kernels[backward->reads_from.front()].phase == nk::step_phase::forward);
}

TEST_CASE("the JSON of an account has its numbers, exactly", "[account]") {
  const nk::step_account a = account<step_of_batches>();
  const json j = json::parse(nk::account_json(a));
  CHECK(j.at("total").at("flops").at("total") == step_of_batches::cost.flops.total());
  CHECK(j.at("total").at("bytes").at("total") == step_of_batches::cost.bytes.total());
  CHECK(j.at("memory").at("peak") == step_of_batches::memory.peak);
  CHECK(j.at("total").at("least_seconds").get<double>() == a.total.bound.seconds);
  std::uint64_t flops = 0;
  for (const json& k : j.at("kernels"))
    flops += k.at("runs").get<std::uint64_t>() * k.at("flops").at("total").get<std::uint64_t>();
  CHECK(flops == step_of_batches::cost.flops.total());
  CHECK(j.at("kernels").size() == a.kernels.size());
  CHECK(j.at("memory").at("buffers").size() == a.buffers.size());
  CHECK_FALSE(j.contains("measured"));
}

TEST_CASE("a table of an account has a line for each layer and what is measured", "[account]") {
  nk::step_account a = account<step>();
  const std::string before = nk::account_table(a);
  CHECK(before.find("at least") != std::string::npos);
  CHECK(before.find("measured") == std::string::npos);
  CHECK(before.find(nk::bytes_text(step::memory.peak)) != std::string::npos);
  nk::step_timing timing{std::vector<double>(a.kernels.size(), 1e-3), 0.5, 5};
  nk::add_timing(a, timing, {{1, 2.0}, {2, 1.5}});
  CHECK(close(a.total.measured, 1e-3 * static_cast<double>(a.kernels.size())));
  CHECK(close(a.mfu(), static_cast<double>(nk::conventions::exact<step>.total()) / 0.5 /
                           static_cast<double>(nk::h100_sxm.peak(nk::arithmetic::f32).per_second)));
  const std::string after = nk::account_table(a);
  CHECK(after.find("measured") != std::string::npos);
  CHECK(after.find("500.00 ms") != std::string::npos);
  const json j = json::parse(nk::account_json(a));
  CHECK(j.at("measured").at("loss").at(1).at(1) == 1.5);
  CHECK(j.at("kernels").at(0).at("measured").at("seconds") == 1e-3);

  timing.kernels.pop_back();
  CHECK_THROWS_WITH(nk::add_timing(a, timing, {}), Catch::Contains("times of"));
  // a run too short to be timed: its losses, and no number
  nk::add_timing(a, {}, {{1, 2.0}});
  const json brief = json::parse(nk::account_json(a)).at("measured");
  CHECK(brief.at("step_seconds").is_null());
  CHECK(brief.at("mfu").is_null());
  CHECK(brief.at("loss").size() == 1);
  CHECK(nk::account_table(a).find("Measured") == std::string::npos);
  // faster than the device can be: said, and no number
  nk::add_timing(a, {{}, 1e-15, 0}, {});
  const json k = json::parse(nk::account_json(a));
  CHECK(k.at("measured").at("mfu").is_null());
  CHECK(k.at("measured").at("mfu_unknown").get<std::string>().find("more than all") != std::string::npos);
}

TEST_CASE("a page holds the JSON, whatever is in it, and no address", "[account]") {
  const nk::step_account a = nk::account_of<step>("</script><b>", nk::h100_sxm);
  const std::string page = nk::account_page(a);
  const std::string opening = "id=\"account\">";
  const std::size_t begin = page.find(opening) + opening.size(), end = page.find("</script>", begin);
  REQUIRE(end != std::string::npos);
  CHECK(json::parse(page.substr(begin, end - begin)) == json::parse(nk::account_json(a)));
  for (const char* address : {"http:", "https:", "src=", "href=", "@import", "url("})
    CHECK(page.find(address) == std::string::npos);
  CHECK(page.find("@css@") == std::string::npos);
}

TEST_CASE("a device without a rate that the step needs is refused", "[account]") {
  CHECK_THROWS_AS(nk::account_of<step>("cruncher", nk::device{"one", 1, 1, 1, 0, {}}), nk::input_error);
}

namespace {
template <class Step>
void check_timed_step() {
  nk::trainer<Step> as_it_is(nk::seed{3}), timed(nk::seed{3});
  std::vector<double> seconds(nk::trainer<Step>::timed_kernels, -1);
  REQUIRE(seconds.size() == account<Step>().kernels.size());
  std::vector<float> x(Step::micro_batches * Step::input_bytes(0) / sizeof(float)),
      y(Step::micro_batches * Step::input_bytes(1) / sizeof(float));
  for (int n = 0; n < 4; ++n) {
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = std::sin(static_cast<float>(n + 2) * static_cast<float>(i));
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = std::cos(static_cast<float>(n) + static_cast<float>(i));
    const nk::step_result a = as_it_is.step(0.01, x, y), b = timed.step_timed(seconds, 0.01, x, y);
    CHECK(a.loss == b.loss);
    CHECK(a.norm == b.norm);
    CHECK(b.applied);
  }
  for (const double s : seconds) {
    CHECK(s >= 0);  // of this step alone: nothing is left of what was there
    CHECK(s < 10);
  }
  CHECK(*std::max_element(seconds.begin(), seconds.end()) > 0);
  for (std::size_t i = 0; i < nk::trainer<Step>::parameters; ++i) {
    const nk::named_memory a = as_it_is.value(i), b = timed.value(i);
    CHECK(std::equal(a.data, a.data + a.count, b.data));
  }
  seconds.pop_back();
  CHECK_THROWS_WITH(timed.step_timed(seconds, 0.01, x, y), Catch::Contains("places for the times"));
  CHECK(timed.step(0.01, x, y).loss == as_it_is.step(0.01, x, y).loss);
}
}  // namespace

TEST_CASE("a step that is timed trains to the same bits", "[account]") {
  check_timed_step<step>();
  check_timed_step<step_of_batches>();
}

TEST_CASE("a recorder times some steps by kernel, and takes medians", "[account]") {
  nk::step_recorder recorder(2);
  std::size_t timed = 0;
  for (std::int64_t n = 1; n <= 40; ++n) {
    if (recorder.begin()) {
      ++timed;
      recorder.kernels()[0] = static_cast<double>(timed);
      recorder.kernels()[1] = timed == 3 ? 100 : 7;  // one disturbed
    }
    recorder.end(n, 1.0 / static_cast<double>(n));
  }
  const nk::step_timing t = recorder.timing();
  REQUIRE(timed == 7);
  CHECK(t.steps == 7);
  CHECK(t.kernels == std::vector<double>{4, 7});
  CHECK(t.step > 0);
  CHECK(recorder.losses().size() == 40);

  nk::step_recorder brief(2);
  for (std::int64_t n = 1; n <= 8; ++n) {
    (void)brief.begin();
    brief.end(n, 1);
  }
  CHECK(brief.timing().steps == 0);  // fewer than 5
  CHECK(brief.timing().step == 0);   // nor as they are
  for (std::int64_t n = 9; n <= 13; ++n) {
    (void)brief.begin();
    brief.end(n, 1);
  }
  CHECK(brief.timing().steps == 5);
  CHECK(brief.timing().step > 0);
  nk::step_recorder none(0);
  for (std::int64_t n = 1; n <= 3000; ++n) {
    CHECK_FALSE(none.begin());
    none.end(n, 1);
  }
  CHECK(none.losses().size() <= 1000);
  CHECK(none.losses().size() > 300);
}

TEST_CASE("step account: what is kept for the backward pass, by dtype, is all that is kept") {
  const auto kept = []<class Step>(std::type_identity<Step>) {
    const nk::step_account a = account<Step>();
    std::uint64_t all = 0;
    for (const auto& [type, bytes] : a.kept) all += bytes;
    CHECK(all == Step::memory.activations);
    CHECK(json::parse(nk::account_json(a))["memory"]["kept"].size() == a.kept.size());
    return a.kept;
  };
  const auto wide = kept(std::type_identity<nk::train_step<language, nk::adamw>>{}),
             narrow =
                 kept(std::type_identity<nk::train_step<language, nk::adamw, nk::compute_in<nk::bf16>>>{}),
             narrowest =
                 kept(std::type_identity<nk::train_step<language, nk::adamw, nk::compute_in<nk::f8>>>{});
  CHECK(wide.at(nk::dtype::f32) > 0);
  CHECK(!wide.contains(nk::dtype::bf16));
  CHECK(narrow.at(nk::dtype::bf16) > narrow.at(nk::dtype::f32));
  CHECK(!narrow.contains(nk::dtype::f8e4m3));
  CHECK(narrowest.at(nk::dtype::f8e4m3) > 0);
  CHECK(!narrowest.contains(nk::dtype::f8e5m2));  // adjoints are of the backward pass
  CHECK(narrowest.at(nk::dtype::bf16) < narrow.at(nk::dtype::bf16));
  CHECK(nk::account_table(account<nk::train_step<language, nk::adamw, nk::compute_in<nk::f8>>>())
            .find("bytes in f8e4m3") != std::string::npos);
}
