// A step's account (train/step_account.hpp) written down: for a terminal, for programs, for a browser.
#pragma once

#include <string>

#include "napkin/train/step_account.hpp"

namespace napkin {

/// Tables by layer and by kernel: FLOPs, bytes, intensity, what bounds it, the least time on the device,
/// memory, and the measured time where there is one. Kernels that equal layers repeat are one line.
std::string account_table(const step_account& account);

/// All numbers as JSON: integers exact, seconds as doubles that read back to the same bits.
/// docs/accounting.md says what is where.
std::string account_json(const step_account& account);

/// One HTML page that needs no network: the JSON, and a script that draws it.
std::string account_page(const step_account& account);

}  // namespace napkin
