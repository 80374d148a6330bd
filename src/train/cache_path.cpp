// The user's folder of caches, as the XDG base directory specification has it.
#include "napkin/train/cache_path.hpp"

#include <cstdlib>

namespace napkin {

std::string cache_path(const std::string& name) {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/')
    return std::string(cache) + "/napkin/" + name;  // else it is to be ignored
  const char* const home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + "/.cache/napkin/" + name : "";
}

}  // namespace napkin
