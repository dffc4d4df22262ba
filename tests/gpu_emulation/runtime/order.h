// Who may touch which bytes of device memory when. Each stream counts what is put on it; a clock says, for
// each stream, up to which of its works something comes after. Events and waits of the host carry clocks on.
// Two works of which one writes bytes that the other touches have to be ordered by their clocks: if they are
// not, a card may run them in either order or at once, and it is a mistake however the bytes came out this
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace emulated {

/// By the number of a stream: how many of its works come before.
class Clock {
 public:
  uint64_t of(int stream) const;
  void set(int stream, uint64_t count);
  void merge(const Clock& other);
  /// Whether nothing comes before `other` that does not come before this.
  bool covers(const Clock& other) const;

 private:
  std::vector<uint64_t> counts_;
};

/// One work of a stream.
struct Moment {
  int stream = 0;
  uint64_t count = 0;
  const char* what = "";
};

class OrderCheck {
 public:
  /// Notes that the work of `moment`, which comes after `clock`, touches these bytes. Gives what is wrong
  /// with it.
  std::optional<std::string> note(uintptr_t begin, size_t bytes, bool writes, const Moment& moment,
                                  const Clock& clock);
  /// The bytes were given back to the driver, which waits for the device.
  void forget(uintptr_t begin, size_t bytes);

 private:
  struct Segment {
    uintptr_t end = 0;
    std::optional<Moment> write;
    std::vector<Moment> reads;  // since the write; the last one of each stream
  };
  using Segments = std::map<uintptr_t, Segment>;

  void split_at(uintptr_t address);

  Segments segments_;
};

}  // namespace emulated
