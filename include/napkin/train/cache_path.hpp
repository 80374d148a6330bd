// Where what is measured once is kept for the next program of the same user.
#pragma once

#include <string>

namespace napkin {

/// $XDG_CACHE_HOME/napkin/NAME, by default ~/.cache/napkin/NAME; "" where there is no home.
std::string cache_path(const std::string& name);

}  // namespace napkin
