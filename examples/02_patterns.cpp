// Patterns: einops's language for moving, reducing, repeating and contracting axes. The compiler parses the
// pattern, checks it against the names and sizes of the operands, and infers the result's axes.
#include <concepts>
#include <cstdio>
#include <napkin/napkin.hpp>

namespace nk = napkin;

namespace {

struct batch : nk::dim<"batch", 2> {};
struct height : nk::dim<"height", 4> {};
struct width : nk::dim<"width", 6> {};
struct channel : nk::dim<"channel", 3> {};
struct feature : nk::dim<"feature", 5> {};

template <class X, class... Ds>
constexpr bool has_axes = std::same_as<nk::axes_of<X>, nk::axes<Ds...>>;

bool failed = false;
void expect(bool condition, const char* what) {
  if (condition) return;
  std::printf("not as expected: %s\n", what);
  failed = true;
}

}  // namespace

int main() {
  auto image = nk::arange<nk::f32, batch, height, width, channel>();

  // rearrange: axes change their order, come together and come apart. Of a tensor the result is a view
  // wherever strides can say it, and the type tells.
  auto first = nk::rearrange<"batch height width channel -> batch channel height width">(image);
  static_assert(has_axes<decltype(first), batch, channel, height, width>);
  static_assert(nk::is_view<decltype(first)>);
  expect(nk::same_storage(first, image), "a view shares the tensor's storage");

  auto flat = nk::rearrange<"batch height width channel -> batch (height width) channel">(image);
  static_assert(nk::shape_of<decltype(flat)> == std::array<std::size_t, 3>{2, 24, 3});
  static_assert(nk::names_of<decltype(flat)>[1] == "(height width)");
  // A composed axis knows its parts: no size has to be said again.
  auto back = nk::rearrange<"batch (height width) channel -> batch height width channel">(flat);
  static_assert(has_axes<decltype(back), batch, height, width, channel>);

  // A label that is no axis's name renames the axis; a plain one comes apart when a part's size is given.
  auto rows =
      nk::rearrange<"batch (h1 h2) width channel -> h1 batch h2 width channel", nk::dim<"h1", 2>>(image);
  static_assert(has_axes<decltype(rows), nk::dim<"h1", 2>, batch, nk::dim<"h2", 2>, width, channel>);

  // reduce: what the result lacks is reduced. 2 x 2 pooling, and a mean over whatever comes first.
  nk::tensor pooled = nk::reduce<"batch (h 2) (w 2) channel -> batch h w channel", "max">(image);
  expect(pooled(0, 0, 0, 0) == image(0, 1, 1, 0), "the largest of a 2 x 2 window is its last");
  nk::tensor mean = nk::reduce<"... channel -> channel", "mean">(image);
  static_assert(has_axes<decltype(mean), channel>);
  expect(mean(0) == 70.5f, "the mean of 0, 3, .., 141");

  // repeat: labels that only the result has are new axes.
  nk::tensor tall = nk::repeat<"... width channel -> ... width (copy channel)", nk::dim<"copy", 2>>(image);
  expect(tall(1, 2, 3, 4) == image(1, 2, 3, 1), "channel 4 of 2 copies of 3 is channel 1");

  // einsum: labels that the result lacks are summed; any number of operands, contracted in pairs.
  auto weight = nk::full<nk::f32, channel, feature>(0.5f);
  auto scale = nk::arange<nk::f32, feature>();
  nk::tensor mixed = nk::einsum<"... channel, channel feature, feature -> ... feature">(image, weight, scale);
  static_assert(has_axes<decltype(mixed), batch, height, width, feature>);
  expect(mixed(0, 0, 0, 2) == 3.0f, "(0 + 1 + 2) * 0.5 * 2");

  // A label twice in one operand takes its diagonal.
  auto square = nk::arange<nk::f32, width, nk::primed<width>>();
  nk::tensor trace = nk::einsum<"width width ->">(square);
  expect(trace() == 0.0f + 7 + 14 + 21 + 28 + 35, "the trace of a matrix");

  for (const std::string& type : {nk::type_text<decltype(flat)>(), nk::type_text<decltype(rows)>(),
                                  nk::type_text<decltype(pooled)>(), nk::type_text<decltype(mixed)>()})
    std::printf("%s\n", type.c_str());
  return failed ? 1 : 0;
}
