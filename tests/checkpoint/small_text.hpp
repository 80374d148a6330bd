// Text to train on: the beginning of a document of this project.
#pragma once

#include <string>

#include "support/temporary_folder.hpp"

inline std::string small_text() {
  return read_whole(std::string(NAPKIN_SOURCE_DIR) + "/docs/training.md").substr(0, 4000);
}
