// What the training programs print, and what they keep of the command line in a checkpoint.
#pragma once

#include <cstdint>
#include <napkin/train/checkpoint_folder.hpp>
#include <napkin/train/corpus.hpp>
#include <napkin/train/run_log.hpp>
#include <napkin/train/step_account.hpp>
#include <napkin/train/vocabulary.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "options.hpp"

/// Print what the data are, and what byte counts reach on them: the bits per byte that a model must beat.
/// Returned as words to print beside the model's.
std::string print_corpus(const napkin::corpus& text);
void print_model(std::uint64_t parameters, std::uint64_t flops, std::uint64_t memory, std::uint64_t tokens);

/// "step 340: validation 1.893 bits per byte", of a loss in nats per token.
std::string validation_text(std::int64_t step, double loss, double bytes_a_token);

/// What the tokens of a corpus stand for: bytes, or what lies beside token files; nothing where neither says.
///
/// Errors  `input_error` where there are more than the model has
std::optional<napkin::vocabulary> open_vocabulary(napkin::file_system& files, const napkin::corpus& text,
                                                  std::size_t model);
/// Of so many tokens on average; 0 where their bytes are not known.
double bytes_a_token(const std::optional<napkin::vocabulary>& words, std::span<const std::uint16_t> tokens);

/// Where the checkpoint is and, if steps are left, how to go on.
void print_saved(std::int64_t step, std::int64_t steps, const std::string& path);
void print_speed(std::int64_t steps, double seconds, std::uint64_t flops, std::uint64_t tokens);

/// What a sample begins after: the end of a line, where that is a token.
std::vector<std::uint16_t> begin_of_sample(const std::optional<napkin::vocabulary>& words);
/// A sample's bytes; where those are not known, the numbers of its tokens.
std::string text_of_sample(const std::optional<napkin::vocabulary>& words,
                           const std::vector<std::uint16_t>& tokens);
/// A text with what a terminal would not print in hexadecimal.
std::string printable(const std::string& text);

/// The options that a resumed run takes from its checkpoint, unless they are given anew. `input_error` for a
/// seed that is not the run's, or settings that cannot be.
napkin::tensor_metadata settings_of(const train_options& o);
void take_settings(const napkin::run_state& state, train_options& o);

/// The device that is asked for by name; without a name, this machine's processors, which are measured the
/// first time.
napkin::device device_of(const train_options& o, const std::string& runs_on);

/// The same where it is no mistake that a device is not known.
std::optional<napkin::device> known_device(const std::string& runs_on);

/// The log of a run that begins with these options: in its folder, or where they say.
napkin::run_log open_log(napkin::file_system& files, const train_options& o, napkin::run_begun begun);

/// What --cost prints: tables, or JSON; and the page, where one is asked for.
int print_account(const napkin::step_account& account, const train_options& o);

/// The page of a run: what was predicted before, what was measured after it.
class run_report {
 public:
  /// `input_error` where no file can be written there.
  run_report(napkin::file_system& files, std::string path, napkin::step_account account);
  void write(const napkin::step_recorder& recorder);

 private:
  napkin::file_system& files_;
  std::string path_;
  napkin::step_account account_;
};

/// Where a run goes on from, and why not from a later checkpoint.
void print_resumed(const napkin::resumed_run& run);

/// Make and lock the folder of a run, and refuse one that cannot take a checkpoint of so many bytes.
void prepare(napkin::checkpoint_folder& folder, std::uint64_t bytes, bool resumed);
