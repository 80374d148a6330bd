// Which text a model is trained on, and which part of it validates.
#pragma once

#include <cstdint>
#include <string>

#include "napkin/train/file_system.hpp"
#include "napkin/train/token_file.hpp"

namespace napkin {

struct corpus {
  std::string name;  // the path it was opened by
  token_source train;
  token_source validation;
};

/// Open a file or a folder as training data; no token may reach `vocabulary`.
///
/// file      text or token file (see `find_tokens`): the first nine tenths train, the last tenth validates
/// folder    with *.bin files: those with the word `train` (or training) in their names train, those with
///           `val` (valid, validation) validate, as nanoGPT and llm.c name them; a word has no letters beside
///           it
/// folder    else: each regular file in it and below, as bytes, sorted bytewise by path; every tenth
///           (index % 10 == 9) validates. Fewer than ten files are joined and split as one. Names that begin
///           with a dot are passed over; links to files are followed, links to folders or to nothing are not.
///
/// `input_error` if it is missing, empty, or the parts of a pair are not both there, or not whole
/// (`unfinished_tokens`).
corpus open_corpus(file_system& files, const std::string& path, std::uint64_t vocabulary);

/// The default corpus: the C++ standard library's headers, the one real text of every machine that builds
/// this. The folder that the build found (the definition NAPKIN_LIBRARY_HEADERS) if it is still there, else
/// the highest version below /usr/include/c++, else libc++'s where clang keeps it. `input_error` if there is
/// none. `root` is put before the latter paths, for tests.
std::string default_corpus_folder(file_system& files, const std::string& root = "");

}  // namespace napkin
