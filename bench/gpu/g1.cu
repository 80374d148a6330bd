// G1: the 15 matrix products of a GPT-2 124M step, plain, in bf16, for 65,536 tokens and for 8,192; and one
// of 8,192 cubed, by which all others are judged.
#include "products.hpp"

namespace nk = napkin;

namespace {

using cases_list = std::vector<nk::benched::rung_case>;
using nk::benched::function_case;

template <std::size_t Tokens, std::size_t In, std::size_t Out>
void add_layer(cases_list& to, const char* name) {
  using l = nk::benched::layer<Tokens, In, Out>;
  const std::string behind = std::string(" ") + name + " " + std::to_string(Tokens);
  to.push_back(function_case<nk::benched::forward, typename l::x, typename l::weight>("forward" + behind));
  to.push_back(
      function_case<nk::benched::input_gradient, typename l::y, typename l::weight>("dgrad" + behind));
  to.push_back(function_case<nk::benched::weight_gradient, typename l::x, typename l::y>("wgrad" + behind));
}
template <std::size_t Tokens>
void add_layers(cases_list& to) {
  add_layer<Tokens, 768, 3 * 768>(to, "qkv");
  add_layer<Tokens, 768, 768>(to, "proj");
  add_layer<Tokens, 768, 4 * 768>(to, "fc1");
  add_layer<Tokens, 4 * 768, 768>(to, "fc2");
  add_layer<Tokens, 768, 50304>(to, "head");
}

}  // namespace

std::vector<nk::benched::rung_case> nk::benched::cases() {
  cases_list all;
  using cube = nk::benched::layer<8192, 8192, 8192>;
  all.push_back(function_case<nk::benched::forward, cube::x, cube::weight>("cube 8192"));
  add_layers<65536>(all);
  add_layers<8192>(all);
  return all;
}
