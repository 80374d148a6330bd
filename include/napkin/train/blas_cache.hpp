// The algorithms chosen for matrix products, on disk: what was timed once is not timed again. A cache, so
// nothing that is wrong with it stops a program. Its path is the program's to say (train/cache_path.hpp);
// under "" nothing is kept.
#pragma once

#include <string>
#include <vector>

#include "napkin/cuda/blas_choices.hpp"
#include "napkin/train/file_system.hpp"

namespace napkin {

/// Add to `choices` what a cache holds; a file that is not there holds nothing. One that cannot be read or
/// was timed among other candidates (on_cuda::candidates_timed), and lines that are damaged, are left out and
/// said in `complaints`, a line each.
void load_blas_cache(file_system& files, const std::string& path, on_cuda::blas_choices& choices,
                     std::vector<std::string>& complaints);

/// Replace the cache, whole or not at all; its folder is made if missing. Of two programs that save at once
/// one's additions are lost, and timed again another time. Failures are said in `complaints`.
void save_blas_cache(file_system& files, const std::string& path, const on_cuda::blas_choices& choices,
                     std::vector<std::string>& complaints);

}  // namespace napkin
