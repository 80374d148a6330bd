// The length of a checkpoint's file as a constant, against the file.
#include "napkin/train/checkpoint_bytes.hpp"

#include <catch2/catch.hpp>

#include "napkin/ops/matmul.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/optim/muon.hpp"
#include "napkin/optim/sgd.hpp"
#include "napkin/train/checkpoint.hpp"
#include "support/temporary_folder.hpp"

namespace checkpoint_bytes_test {

namespace nk = napkin;

struct batch : nk::dim<"batch", 3> {};
struct feature : nk::dim<"feature", 12> {};
struct hidden : nk::dim<"hidden", 100> {};

struct lone {
  BOOST_HANA_DEFINE_STRUCT(lone, (nk::param<>, only));
  constexpr auto loss(nk::input<nk::f32, batch> x) const { return nk::mean(x * only); }
};
struct several {
  BOOST_HANA_DEFINE_STRUCT(several, (nk::param<feature, hidden>, up), (nk::param<hidden>, down),
                           (nk::param<>, bias));
  constexpr auto loss(nk::input<nk::f32, batch, feature> x) const {
    return nk::mean(nk::dot<"hidden">(nk::relu(nk::dot<"feature">(x, up)), down) + bias);
  }
};

template <class Step>
std::uint64_t bytes_of_file(std::uint64_t steps, const nk::tensor_metadata& settings) {
  const temporary_folder folder;
  nk::trainer<Step> trainer(nk::seed{1});
  trainer.set_steps(static_cast<std::int64_t>(steps));
  const std::string path = folder / "run";
  nk::save_checkpoint(nk::posix_file_system(), path, trainer, {steps, 7 * steps}, settings);
  return nk::input_file(nk::posix_file_system(), path).status().size;
}

template <class Step>
void check() {
  CAPTURE(std::string(Step::optimizer::name));
  static_assert(nk::checkpoint_bytes<Step> > 0);
  CHECK(nk::checkpoint_bytes<Step> == bytes_of_file<Step>(0, {}));
  CHECK(nk::checkpoint_bytes<Step> == bytes_of_file<Step>(123'456'789'012'345, {}));
  // every length of what comes to it, so that no padding hides a letter
  std::string text;
  for (int i = 0; i < 70; ++i, text += i % 3 == 0 ? '"' : i % 7 == 0 ? '\x01' : 'a') {
    const std::uint64_t said = nk::checkpoint_bytes_with<Step>({{"a\nname", text}, {"b", "2"}});
    CHECK(said == bytes_of_file<Step>(1, {{"a\nname", text}, {"b", "2"}}));
  }
}

}  // namespace checkpoint_bytes_test

TEST_CASE("checkpoint_bytes: as many as the file has, to the byte") {
  using namespace checkpoint_bytes_test;
  check<nk::train_step<lone, nk::sgd>>();
  check<nk::train_step<lone, nk::adamw>>();
  check<nk::train_step<several, nk::sgd>>();
  check<nk::train_step<several, nk::adamw>>();
  check<nk::train_step<several, nk::muon>>();
}
