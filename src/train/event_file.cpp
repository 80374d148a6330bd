// The few protobuf messages that scalars take, written by hand, and the records around them.
#include "napkin/train/event_file.hpp"

#include <unistd.h>

#include <array>
#include <bit>
#include <cstring>

#include "napkin/train/crc32c.hpp"

namespace napkin {
namespace {

static_assert(std::endian::native == std::endian::little);

// ---- protobuf's wire format: a key, the field's number and kind, before each value

enum class wire : std::uint64_t { varint = 0, eight_bytes = 1, length = 2, four_bytes = 5 };

void put_varint(std::string& to, std::uint64_t n) {
  for (; n >= 0x80; n >>= 7) to += static_cast<char>((n & 0x7f) | 0x80);
  to += static_cast<char>(n);
}
void put_key(std::string& to, std::uint64_t field, wire kind) {
  put_varint(to, field << 3 | static_cast<std::uint64_t>(kind));
}
template <class T>
void put_bits(std::string& to, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof value);
  to.append(bytes, sizeof bytes);
}
void put_text(std::string& to, std::uint64_t field, std::string_view text) {
  put_key(to, field, wire::length);
  put_varint(to, text.size());
  to += text;
}

// ---- Event, and what it is wrapped in

std::string event_at(double time, std::int64_t step) {
  constexpr std::uint64_t wall_time = 1, event_step = 2;
  std::string event;
  put_key(event, wall_time, wire::eight_bytes);
  put_bits(event, time);
  if (step == 0) return event;  // the default, which protobuf leaves out
  put_key(event, event_step, wire::varint);
  put_varint(event, static_cast<std::uint64_t>(step));
  return event;
}

std::uint32_t masked_checksum(std::string_view bytes) {
  const std::uint32_t crc = crc32c(std::as_bytes(std::span(bytes)));
  return std::rotr(crc, 15) + 0xa282ead8u;  // so that a checksum of checksums is not of a simple form
}

std::string record_of(const std::string& event) {
  std::string record;
  put_bits(record, static_cast<std::uint64_t>(event.size()));
  put_bits(record, masked_checksum(record));
  record += event;
  put_bits(record, masked_checksum(event));
  return record;
}

std::string name_of_host() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "host";
}

// TensorBoard looks for "tfevents" in a file's name and reads a folder's files in the order of their names.
appended_file new_event_file(file_system& files, const std::string& folder, double time) {
  make_folders(files, folder);
  return appended_file::make_new(files, folder + "/events.out.tfevents." +
                                            std::to_string(static_cast<std::int64_t>(time)) + "." +
                                            name_of_host() + "." + std::to_string(::getpid()));
}

}  // namespace

std::string event_of_version(double time) {
  constexpr std::uint64_t file_version = 3;
  std::string event = event_at(time, 0);
  put_text(event, file_version, "brain.Event:2");
  return record_of(event);
}

std::string event_of_start(double time, std::int64_t step) {
  constexpr std::uint64_t session_log = 7, status = 1, start = 1;
  std::string log;
  put_key(log, status, wire::varint);
  put_varint(log, start);
  std::string event = event_at(time, step);
  put_text(event, session_log, log);
  return record_of(event);
}

std::string event_of_scalars(double time, std::int64_t step, std::span<const event_scalar> scalars) {
  constexpr std::uint64_t summary = 5, value = 1, tag = 1, simple_value = 2;
  std::string values;
  for (const event_scalar& s : scalars) {
    std::string one;
    put_text(one, tag, s.name);
    put_key(one, simple_value, wire::four_bytes);
    put_bits(one, s.value);
    put_text(values, value, one);
  }
  std::string event = event_at(time, step);
  put_text(event, summary, values);
  return record_of(event);
}

event_file::event_file(file_system& files, const std::string& folder, double time, std::int64_t step)
    : file_(new_event_file(files, folder, time)) {
  const std::string begin = event_of_version(time) + event_of_start(time, step);
  file_.append(std::as_bytes(std::span(begin)));
}

void event_file::append(double time, std::int64_t step, std::span<const event_scalar> scalars) {
  const std::string record = event_of_scalars(time, step, scalars);
  file_.append(std::as_bytes(std::span(record)));
}

}  // namespace napkin
