// Parameters that a device stores as one tensor, laid by rows and back.
#include "napkin/train/stored_tensor.hpp"

#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

using namespace napkin::detail;

TEST_CASE("stored_tensor: pieces of rows lie as the device has them for a while, and then as before") {
  // 3 rows: 2 elements of the first parameter, 1 of the second, 3 of the third
  const stored_tensor tensor{0, 3, {2, 1, 3}};
  CHECK(tensor.length() == 18);
  std::vector<float> on_host(18), other{1, 2, 3, 4};
  std::iota(on_host.begin(), on_host.end(), 0.0f);
  const std::vector<float> before = on_host;
  const std::vector<float> by_rows{0, 1, 6, 9, 10, 11, 2, 3, 7, 12, 13, 14, 4, 5, 8, 15, 16, 17};
  const tensor_on_host tensors[] = {{other.data(), {0, 2, {1, 1}}}, {on_host.data(), tensor}};
  {
    const laid_by_rows while_copied(tensors);
    CHECK(on_host == by_rows);
    CHECK(other == std::vector<float>{1, 3, 2, 4});
  }
  CHECK(on_host == before);
  CHECK(other == std::vector<float>{1, 2, 3, 4});

  on_host = by_rows;
  lay_behind_one_another({tensors + 1, 1}, room_to_lay(tensors));
  CHECK(on_host == before);
  lay_behind_one_another({}, room_to_lay({}));  // of a model without any
}

TEST_CASE("stored_tensor: what has one row or one parameter lies alike on both sides") {
  CHECK(stored_tensor{0, 1, {2, 3}}.is_the_same_on_both());
  CHECK(stored_tensor{0, 4, {2}}.is_the_same_on_both());
  CHECK_FALSE(stored_tensor{0, 2, {2, 3}}.is_the_same_on_both());
}
