// The secret that the processes of one start share: who knows it takes part.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "larmor/base/hmac.h"
#include "larmor/base/process/descriptor.h"

namespace larmor {

/// 256 bits, overwritten in memory at the end of its lifetime. It is never printed and never sent.
class RunKey {
 public:
  /// A key from the kernel's random numbers.
  static RunKey draw();
  /// A key of 64 hexadecimal digits; nothing when these are others.
  static std::optional<RunKey> from_hex(std::string_view digits);
  /// The key of a memory file that to_descriptor() made, which no program that this process starts inherits
  /// from here on. Throws Error (environment) when it holds none.
  static RunKey from_descriptor(int descriptor);
  ~RunKey() { wipe(bytes_); }
  RunKey(const RunKey&) = default;
  RunKey& operator=(const RunKey&) = default;

  /// The digits, for a file that nobody else can read.
  std::string hex() const;
  /// The key, for processes that inherit it: a memory file without a name. Throws Error (environment).
  Descriptor to_descriptor() const;
  /// A key for that purpose, which tells nothing of this one.
  RunKey derived(std::string_view purpose) const;
  /// What proves to another who knows the key that the parts come from one who knows it.
  Digest code(std::initializer_list<std::string_view> parts) const { return hmac_sha256(bytes_, parts); }
  bool operator==(const RunKey& other) const {
    return equal_in_constant_time(as_text(bytes_), as_text(other.bytes_));
  }

 private:
  RunKey() = default;
  Digest bytes_{};
};

}  // namespace larmor
