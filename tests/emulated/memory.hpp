// Memory as the machine that runs PTX sees it: every access lies in what is allocated, is aligned, reads what has
// been written, and races with no other thread's. What compute-sanitizer asks of a device (memcheck, initcheck,
// racecheck), asked of every byte.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

namespace napkin::testing::ptx {

/// Who touched a byte: 14 bits of the launch, 20 of the block, 10 of the thread, and 10 each of how often its
/// block and its warp had met. 0: nobody; 1: something before this launch; 2: of each byte another.
class stamp {
 public:
  constexpr stamp() = default;
  constexpr stamp(std::uint64_t launch, std::uint64_t block, std::uint64_t thread, std::uint64_t block_epoch,
                  std::uint64_t warp_epoch)
      : bits_(launch % launches << 50 | (block & 0xfffff) << 30 | thread << 20 | (block_epoch & 1023) << 10 |
              (warp_epoch & 1023)) {}
  static constexpr std::uint64_t launches = 1 << 14;
  static constexpr stamp before() {
    stamp s;
    s.bits_ = 1;
    return s;
  }
  static constexpr stamp of_bytes() {
    stamp s;
    s.bits_ = 2;
    return s;
  }
  constexpr bool is_nobody() const { return bits_ == 0; }
  constexpr bool is_of_bytes() const { return bits_ == 2; }
  constexpr std::uint64_t launch() const { return bits_ >> 50; }
  constexpr std::uint64_t block() const { return bits_ >> 30 & 0xfffff; }
  constexpr std::uint64_t thread() const { return bits_ >> 20 & 1023; }
  constexpr bool operator==(const stamp&) const = default;
  /// The same of a thread so many further.
  constexpr stamp of_thread(unsigned further) const {
    stamp s = *this;
    s.bits_ += std::uint64_t{further} << 20;
    return s;
  }

  /// Whether nothing says which of the two comes first. x: of a launch.
  constexpr bool races_with(stamp x) const {
    const std::uint64_t apart = bits_ ^ x.bits_;
    if (apart >> 30 != 0) return apart >> 50 == 0;  // another launch; or another block of this one
    if ((apart >> 10 & 1023) != 0 || apart >> 20 == 0)
      return false;  // the block met between; or the same thread
    const bool same_warp = apart >> 25 == 0;
    return !same_warp || (apart & 1023) == 0;
  }

 private:
  std::uint64_t bits_ = 0;
};

/// Bytes and who last wrote and read each of them: a word of four has one mark until part of it is touched.
class watched {
 public:
  watched(std::byte* at, std::size_t size)
      : at_(at), size_(size), words_(zeros(size / word + 1)), bytes_(zeros(size + word)) {}

  std::byte* data() const { return at_; }
  std::size_t size() const { return size_; }
  /// Known to have been written, by the host or another launch.
  void set_written(std::size_t from, std::size_t bytes) { set(from, bytes, {stamp::before(), {}, {}}); }
  void forget(std::size_t from, std::size_t bytes) { set(from, bytes, {}); }
  void forget_all() { std::fill_n(words_.get(), size_ / word + 1, mark{}); }
  void forget_launches() {
    const auto forget_launch = [](mark& m) {
      m = {m.writer.is_nobody() ? stamp{} : stamp::before(), {}, {}};
    };
    for (std::size_t w = 0; w <= size_ / word; ++w) {
      if (words_.get()[w].writer.is_of_bytes())
        std::for_each_n(bytes_.get() + w * word, word, forget_launch);
      else
        forget_launch(words_.get()[w]);
    }
  }

  /// Null, or what is wrong with it.
  const char* note_read(std::size_t from, std::size_t bytes, stamp who) {
    return each(from, bytes, [who](mark& m) -> const char* {
      if (const char* const wrong = refuse_read(m, who)) return wrong;
      if (m.reader.launch() != who.launch() || m.reader.thread() == who.thread())
        m.reader = who;
      else
        m.other_reader = who;
      return nullptr;
    });
  }
  /// The same of `lanes` of a warp, two at least, of which two stand for all: what races with another races
  /// with one of them. `who`: lane 0's stamp.
  const char* note_read(std::size_t from, std::size_t bytes, stamp who, std::uint32_t lanes) {
    const auto lane = [who](int l) { return who.of_thread(static_cast<unsigned>(l)); };
    const stamp first = lane(std::countr_zero(lanes)), last = lane(31 - std::countl_zero(lanes));
    return each(from, bytes, [=](mark& m) -> const char* {
      for (const stamp of : {first, last})
        if (const char* const wrong = refuse_read(m, of)) return wrong;
      // Who has read it before is kept, as it reads now if it is one of these.
      const std::uint64_t before = m.reader.thread() - who.thread();
      m.other_reader = last;
      if (m.reader.launch() != who.launch()) {
        m.reader = first;
      } else if (m.reader.block() == who.block() && before < 32 && (lanes >> before & 1) != 0) {
        m.reader = lane(static_cast<int>(before));
        if (m.reader == last) m.other_reader = first;
      }
      return nullptr;
    });
  }
  const char* note_write(std::size_t from, std::size_t bytes, stamp who) {
    return each(from, bytes, [who](mark& m) -> const char* {
      if (m.writer.races_with(who))
        return "writes what another thread writes, and nothing says which comes first";
      if (m.reader.races_with(who) || m.other_reader.races_with(who))
        return "writes what another thread reads, and nothing says which comes first";
      m.writer = who;
      return nullptr;
    });
  }

 private:
  static constexpr std::size_t word = 4;
  struct mark {
    stamp writer, reader, other_reader;
  };
  using marks = std::unique_ptr<mark, decltype(&std::free)>;
  std::byte* at_;
  std::size_t size_;
  marks words_, bytes_;  // a word's mark says that its bytes have marks of their own

  static const char* refuse_read(const mark& m, stamp who) {
    if (m.writer.is_nobody()) return "reads what nothing has written";
    if (m.writer.races_with(who))
      return "reads what another thread writes, and nothing says which comes first";
    return nullptr;
  }
  static marks zeros(std::size_t n) { return {static_cast<mark*>(std::calloc(n, sizeof(mark))), &std::free}; }
  /// f(mark) of each of these bytes, or of whole words at once, until one is not null.
  template <class F>
  const char* each(std::size_t from, std::size_t bytes, F f) {
    if ((from | bytes) % word != 0) return each_byte(from, from + bytes, f);
    mark* const begin = words_.get() + from / word;
    for (mark *m = begin, *const end = begin + bytes / word; m != end; ++m) {
      if (m->writer.is_of_bytes()) [[unlikely]]
        return each_byte(from + static_cast<std::size_t>(m - begin) * word, from + bytes, f);
      if (const char* const wrong = f(*m)) return wrong;
    }
    return nullptr;
  }
  template <class F>
  [[gnu::noinline]] const char* each_byte(std::size_t from, std::size_t end, F f) {
    for (std::size_t i = from; i < end;) {
      mark& whole = words_.get()[i / word];
      const bool is_apart = whole.writer.is_of_bytes();
      if (!is_apart && i % word == 0 && i + word <= end) {
        if (const char* const wrong = f(whole)) return wrong;
        i += word;
        continue;
      }
      if (!is_apart) {
        std::fill_n(bytes_.get() + i / word * word, word, whole);
        whole = {stamp::of_bytes(), {}, {}};
      }
      for (const std::size_t next = std::min(end, (i / word + 1) * word); i < next; ++i)
        if (const char* const wrong = f(bytes_.get()[i])) return wrong;
    }
    return nullptr;
  }
  void set(std::size_t from, std::size_t bytes, const mark& to) {
    for (std::size_t i = from, end = from + bytes; i < end;) {
      if (i % word == 0 && i + word <= end) {
        words_.get()[i / word] = to;
        i += word;
      } else {
        each(i++, 1, [&](mark& m) -> const char* { return m = to, nullptr; });
      }
    }
  }
};

/// What is allocated on the device.
class global_memory {
 public:
  void add(void* at, std::size_t size) {
    all_.emplace(reinterpret_cast<std::uint64_t>(at), watched(static_cast<std::byte*>(at), size));
  }
  void remove(void* at) {
    all_.erase(reinterpret_cast<std::uint64_t>(at));
    last_ = nullptr;
  }
  /// The allocation that holds these bytes, or null.
  watched* find(std::uint64_t at, std::size_t bytes) {
    if (last_ == nullptr || !holds(*last_, at, bytes)) {
      auto next = all_.upper_bound(at);
      if (next == all_.begin()) return nullptr;
      watched& w = std::prev(next)->second;
      if (!holds(w, at, bytes)) return nullptr;
      last_ = &w;
    }
    return last_;
  }
  void set_written(const void* at, std::size_t bytes) {
    const auto from = reinterpret_cast<std::uint64_t>(at);
    if (watched* w = find(from, bytes))
      w->set_written(static_cast<std::size_t>(from - reinterpret_cast<std::uint64_t>(w->data())), bytes);
  }
  /// All that there is may be read, whatever lies there.
  void set_all_written() {
    for (auto& [at, w] : all_) w.set_written(0, w.size());
  }
  /// Nothing has written these bytes, as far as what reads them may know.
  void forget(const void* at, std::size_t bytes) {
    const auto from = reinterpret_cast<std::uint64_t>(at);
    if (watched* w = find(from, bytes))
      w->forget(static_cast<std::size_t>(from - reinterpret_cast<std::uint64_t>(w->data())), bytes);
  }
  /// The number of another launch.
  std::uint64_t next_launch() {
    if (++launch_ == stamp::launches) {
      for (auto& [at, w] : all_) w.forget_launches();
      launch_ = 1;
    }
    return launch_;
  }

 private:
  std::map<std::uint64_t, watched> all_;
  watched* last_ = nullptr;
  std::uint64_t launch_ = 0;

  static bool holds(const watched& w, std::uint64_t at, std::size_t bytes) {
    const auto first = reinterpret_cast<std::uint64_t>(w.data());
    return at >= first && at + bytes <= first + w.size();
  }
};

}  // namespace napkin::testing::ptx
