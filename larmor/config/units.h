// Values with units, as people write them: 48GiB, 10ep, 500st, 30min.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace larmor {

/// A length of training: "10ep" epochs, "500st" steps, "90s" "30min" "12h" time. "0" is never/none.
struct Length {
  enum class Unit { steps, epochs, seconds };
  double amount = 0;
  Unit unit = Unit::steps;
  bool operator==(const Length&) const = default;
};

/// Throw Error (usage) on anything else.
Length parse_length(std::string_view text);
std::string to_text(const Length& length);

/// "48GiB", "512MiB", "1000" (bytes), "2GB" (powers of ten).
uint64_t parse_bytes(std::string_view text);
std::string bytes_text(uint64_t bytes);

}  // namespace larmor
