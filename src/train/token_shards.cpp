// llm.c's header, and the tokens behind it.
#include "napkin/train/token_shards.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "napkin/core/error.hpp"
#include "napkin/train/atomic_file.hpp"
#include "token_header.hpp"

namespace napkin {

token_shards::token_shards(file_system& files, const std::string& folder, const std::string& name,
                           std::size_t size)
    : files_(&files), prefix_(folder + "/" + name + "_"), size_(size) {
  constexpr std::size_t most = std::numeric_limits<std::int32_t>::max();
  if (size == 0 || size > most)
    throw error("a token file has from 1 to " + std::to_string(most) + " tokens, not " +
                std::to_string(size));
}

void token_shards::append(std::span<const std::uint16_t> tokens) {
  while (!tokens.empty()) {
    const std::size_t now = std::min(tokens.size(), size_ - shard_.size());
    shard_.insert(shard_.end(), tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(now));
    tokens = tokens.subspan(now);
    tokens_ += now;
    if (shard_.size() == size_) write_shard();
  }
}

void token_shards::finish() {
  if (!shard_.empty()) write_shard();
}

void token_shards::write_shard() {
  const detail::token_header header{.count = static_cast<std::int32_t>(shard_.size())};
  char number[24];
  std::snprintf(number, sizeof number, "%06zu", written_);
  const auto tokens = std::as_bytes(std::span(shard_));
  atomic_file file(*files_, prefix_ + number + ".bin", sizeof header + tokens.size());
  file.write(std::as_bytes(std::span(&header, 1)));
  file.write(tokens);
  file.seal();
  file.publish();
  shard_.clear();
  ++written_;
}

unfinished_tokens::unfinished_tokens(file_system& files, const std::string& folder)
    : files_(&files), folder_(folder) {
  write_atomically(files, folder_ + "/" + std::string(name), "");
}

void unfinished_tokens::finish() {
  remove_file(*files_, folder_ + "/" + std::string(name));
  sync_folder(*files_, folder_);
}

}  // namespace napkin
