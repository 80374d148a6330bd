// What an account says of a model's attentions: how many are one operation on the backend, and why others are
// not.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "napkin/napkin.hpp"
#include "napkin/train/cuda_step.hpp"
#include "napkin/train/step_account_text.hpp"

namespace nk = napkin;
using nk::passes::attention_fit;

namespace {

struct config {
  struct batch : nk::dim<"batch", 2> {};
  struct seq : nk::dim<"seq", 8> {};
  struct vocab : nk::dim<"vocab", 12> {};
  struct embed : nk::dim<"embed", 8> {};
  struct ffn : nk::dim<"ffn", 12> {};
  struct heads : nk::dim<"heads", 2> {};
  struct hidden : nk::dim<"hidden", 4> {};
  static constexpr std::size_t layers = 2;
};
using step = nk::train_step<nk::nn::gpt<config>, nk::adamw, nk::cuda>;

}  // namespace

TEST_CASE("an account says which products no library call computes, and why", "[account]") {
  nk::step_account a = nk::account_of<step>("gpt", nk::h100_sxm);
  CHECK(nk::account_table(a).find("no library call") == std::string::npos);
  CHECK(!nlohmann::json::parse(nk::account_json(a)).at("kernels")[0].contains("refused"));
  a.kernels[0].line.refused = "it takes too many calls";
  a.kernels[0].layer = "blocks.0.mlp";
  const std::string table = nk::account_table(a);
  const std::size_t at = table.find("\nProducts that no library call computes but a kernel of our own\n");
  REQUIRE(at != std::string::npos);
  CHECK(table.find("it takes too many calls\n", at) != std::string::npos);
  CHECK(nlohmann::json::parse(nk::account_json(a)).at("kernels")[0].at("refused") ==
        "it takes too many calls");
}

TEST_CASE("an account says which attentions are one operation", "[account]") {
  nk::step_account a = nk::account_of<step>("gpt", nk::h100_sxm);
  CHECK(a.attention == nk::passes::attention_choice{2, 0, attention_fit::fits});
  CHECK(nk::account_table(a).find("\nAttention: 2 as one operation\n") != std::string::npos);
  const nlohmann::json j = nlohmann::json::parse(nk::account_json(a)).at("attention");
  CHECK(j.at("one_operation") == 2);
  CHECK(j.at("products_and_softmax") == 0);
  CHECK(j.at("why").is_null());

  a.attention = {1, 3, attention_fit::mask_needs_gradient};
  CHECK(
      nk::account_table(a).find("\nAttention: 1 as one operation, 3 as matrix products and a softmax: a mask "
                                "needs a gradient\n") != std::string::npos);
  CHECK(nlohmann::json::parse(nk::account_json(a)).at("attention").at("why") == "a mask needs a gradient");

  a.attention = {};  // a model without
  CHECK(nk::account_table(a).find("Attention") == std::string::npos);
  CHECK(nlohmann::json::parse(nk::account_json(a)).at("attention").is_null());
}
