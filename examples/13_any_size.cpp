// Axes that are sized at run time: one plan, made by the compiler for the bounds, takes whatever comes. A
// model reads rows of letters, as many and as long as each batch has them, and says which letter stands there
// most.
#include <iostream>
#include <napkin/napkin.hpp>
#include <vector>

namespace nk = napkin;

namespace {

struct batch : nk::dim<"batch", nk::up_to<32>> {};
struct seq : nk::dim<"seq", nk::up_to<20>> {};
struct letter : nk::dim<"letter", 4> {};
struct width : nk::dim<"width", 8> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<letter, width>, letters), (nk::param<width, letter>, out));

  constexpr auto logits(nk::input<nk::u16, batch, seq> text) const {
    const auto read = nk::gather<"letter">(letters, text);  // [batch, seq, width]
    return nk::dot<"width">(nk::mean<"seq">(read), out);    // of as many letters as there are
  }
  constexpr auto loss(nk::input<nk::u16, batch, seq> text, nk::input<nk::u16, batch> most) const {
    return nk::cross_entropy<"letter">(logits(text), most);
  }
};
using step = nk::train_step<model, nk::adamw>;

struct rows {
  nk::tensor<nk::u16, batch, seq> text;
  nk::tensor<nk::u16, batch> most;
};
/// Rows with one letter in two of three places or more.
rows draw(unsigned n, std::size_t count, std::size_t length) {
  rows r{nk::tensor<nk::u16, batch, seq>(nk::sized{count, length}),
         nk::tensor<nk::u16, batch>(nk::sized{count})};
  const auto random = nk::randint<nk::u16, batch, seq>(nk::seed{n}, 4);
  for (std::size_t i = 0; i < count; ++i) {
    r.most(i) = random(i, 0);
    for (std::size_t j = 0; j < length; ++j) r.text(i, j) = j % 3 != 2 ? r.most(i) : random(i, j);
  }
  return r;
}

bool failed = false;
void expect(bool condition, const char* what) {
  if (condition) return;
  std::cout << "not as expected: " << what << '\n';
  failed = true;
}

}  // namespace

int main() {
  // Expressions: the size is the tensor's own, and what lies behind it is never seen.
  const auto x = nk::arange<nk::f32, seq, width>(0, 1, nk::sized{3});  // 3 of at most 20
  const nk::tensor mean = nk::mean<"seq">(x);                          // over 3
  const nk::tensor weights = nk::softmax<"seq">(x);
  std::cout << "the mean of " << x.sizes()[0] << " rows: " << mean << "\nand " << weights.sizes()[0]
            << " weights\n";
  expect(mean(0) == 8, "the mean of 0, 8 and 16");
  const auto two = nk::arange<nk::f32, seq, width>(0, 1, nk::sized{2});
  try {
    const nk::tensor sum = x + two;
    expect(false, "x + two");
  } catch (const nk::input_error& e) {
    std::cout << "x + two: " << e.what() << '\n';
  }
  // Cost is given at the bounds, and for sizes that are given.
  using product = decltype(nk::einsum<"seq width, key width -> seq key">(x, x));
  static_assert(nk::cost<product>.flops.matmul == 2 * 20 * 20 * 8);
  static_assert(nk::cost_at<product>(nk::sized{3}).flops.matmul == 2 * 3 * 3 * 8);

  // Training: batches of 1 to 32 rows, of 1 to 20 letters.
  nk::trainer<step> trainer(nk::seed{1});
  for (unsigned n = 0; n < 300; ++n) {
    const rows r = draw(n, 1 + n * 7 % 32, 1 + n * 5 % 20);
    (void)trainer.step(0.05, r.text, r.most);
  }
  const rows test = draw(1000, 32, 9);
  const float loss = trainer.evaluate(test.text, test.most);
  std::cout << "loss after 300 batches of all sizes: " << loss << '\n';
  expect(loss < 0.3, "a loss below 0.3");

  // Predicting: one row, as long as it is.
  nk::predictor<model, &model::logits> predict(trainer.value_pointers());
  for (const unsigned length : {1u, 6u, 20u}) {
    const rows r = draw(length, 1, length);
    const auto said = predict(r.text);  // 1 x 4 numbers
    std::size_t best = 0;
    for (std::size_t k = 1; k < said.size(); ++k)
      if (said[k] > said[best]) best = k;
    std::cout << "of " << length << " letters: " << best << '\n';
    expect(said.size() == 4 && best == r.most(0), "the letter that stands there most");
  }
  return failed ? 1 : 0;
}
