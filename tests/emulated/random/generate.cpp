// generate FILE TYPE GRADIENTS: writes random graphs of a dtype, or their gradients where GRADIENTS is 1, as a
// source of constants that nvcc compiles (compiled.hpp): over the whole table of operations, of small tensors
// and along longer rows; of elementwise operations and reductions alone; of products, and of products that are added
// to what lies there.
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "support/accumulated.hpp"
#include "support/product_graphs.hpp"
#include "support/random_case.hpp"
#include "support/random_graph.hpp"

namespace nk = napkin;

namespace {

constexpr std::uint64_t graphs_of_a_kind = 4;
// Rows and what is in them: some fill a warp's vectors, some none, some take a block.
constexpr std::array<std::size_t, 5> rows{3, 8, 17, 40, 130};
constexpr std::array<std::size_t, 8> lengths{7, 16, 37, 64, 96, 200, 513, 1024};
constexpr std::array<std::size_t, 4> widths{64, 16, 40, 7};  // of matrices

nk::testing::random_graph_options longer(nk::dtype type, int operations, std::uint64_t seed) {
  const std::size_t count = rows[seed % rows.size()], length = lengths[seed / rows.size() % lengths.size()];
  nk::testing::random_graph_options o{
      .type = type, .operations = operations, .max_numel = 8 * count * length};
  o.inputs = {nk::shape{count, length}, nk::shape{2, count, length}, nk::shape{length}};
  return o;
}
nk::graph draw(std::string_view kind, std::uint64_t seed, nk::dtype type, bool is_differentiated) {
  const int operations = is_differentiated ? 14 : 25;
  if (kind == "products") return nk::testing::product_graphs(seed, type, widths[seed % widths.size()]).run();
  if (kind == "small") return nk::testing::random_graph(seed, {.type = type, .operations = operations});
  nk::testing::random_graph_options o = longer(type, operations, seed);
  o.only_elementwise_and_reductions = kind == "reductions";
  return nk::testing::random_graph(seed, o);
}

/// A number as C++ reads it, of all its bits.
std::string spelled(double x) {
  if (std::isnan(x)) return "__builtin_nan(\"\")";
  if (std::isinf(x)) return x < 0 ? "-__builtin_inf()" : "__builtin_inf()";
  std::ostringstream text;
  text << std::hexfloat << x;
  return text.str();
}
template <class Numbers>
std::string listed(const Numbers& numbers) {
  std::string text;
  for (const auto x : numbers) text += (text.empty() ? "" : ", ") + std::to_string(x);
  return '{' + text + '}';
}
std::string spelled(const nk::node& n) {
  std::ostringstream text;
  text << "{static_cast<op>(" << int{static_cast<std::uint8_t>(n.kind)} << "), static_cast<dtype>("
       << int{static_cast<std::uint8_t>(n.type)} << "), " << n.composite << ", " << n.shape_id << ", "
       << n.first_operand << ", " << n.arity << ", " << n.first_attribute << ", " << n.attribute_count << ", "
       << n.origin << ", static_cast<computed>(" << int{static_cast<std::uint8_t>(n.when)} << "), "
       << spelled(n.value) << '}';
  return text.str();
}
void write(std::ostream& to, const std::string& name, const nk::graph& g) {
  to << "struct " << name << " {\n  static constexpr graph make() {\n    graph g;\n";
  for (const nk::node& n : g.nodes) to << "    g.nodes.push_back(" << spelled(n) << ");\n";
  for (const nk::shape& s : g.shapes) to << "    g.shapes.push_back(shape" << listed(s) << ");\n";
  to << "    for (const int x : std::initializer_list<int>" << listed(g.pool) << ") g.pool.push_back(x);\n"
     << "    for (const int x : " << listed(g.outputs) << ") g.outputs.push_back(x);\n"
     << "    return g;\n  }\n};\n";
}

}  // namespace

int main(int argc, char** argv) {
  std::optional<nk::dtype> named;
  for (const nk::dtype t : {nk::dtype::f64, nk::dtype::f32, nk::dtype::bf16, nk::dtype::f16})
    if (argc == 4 && nk::name_of(t) == std::string_view(argv[2])) named = t;
  if (!named) {
    std::cerr << "generate FILE f64|f32|bf16|f16 0|1\n";
    return 2;
  }
  const nk::dtype type = *named;
  const bool is_differentiated = std::string_view(argv[3]) == "1";
  std::ofstream to(argv[1]);
  to << "#include <initializer_list>\n\n#include \"napkin/cuda/launch.cuh\"\n"
     << "#include \"emulated/random/compiled.hpp\"\n\n"
     << "namespace napkin::testing::random_graphs {\nnamespace {\n\n";
  // others for each dtype
  const std::uint64_t first = 100 * static_cast<std::uint64_t>(type) + 20 * is_differentiated;
  const auto add = [&](const std::string& kind, std::uint64_t seed, const nk::graph& g,
                       nk::testing::in_place same = {}) {
    const std::string name = kind + '_' + std::to_string(seed);
    write(to, name, g);
    to << "const added<" << name << "> is_added_" << name << "(\""
       << (is_differentiated ? "gradients of " : "") << kind << "\", " << seed << ", {" << same.first_slot
       << ", " << same.first_output << ", " << same.count << "});\n\n";
  };
  for (const std::string kind : {"small", "longer", "reductions", "products"})
    for (std::uint64_t seed = first; seed < first + graphs_of_a_kind; ++seed) {
      const nk::graph g = draw(kind, seed, type, is_differentiated);
      add(kind, seed, is_differentiated ? nk::testing::gradients_of(g, seed) : g);
      if (kind != "products" || is_differentiated) continue;
      const nk::testing::accumulated sums = nk::testing::accumulate_all(g);
      add("added_products", seed, sums.g, sums.same);
    }
  to << "}  // namespace\n}  // namespace napkin::testing::random_graphs\n";
  to.close();
  if (!to) {
    std::cerr << "generate: " << argv[1] << " could not be written\n";
    return 1;
  }
}
