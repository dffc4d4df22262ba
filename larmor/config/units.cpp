#include "larmor/config/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {

/// A leading number and the letters behind it.
struct Quantity {
  double amount = 0;
  std::string_view unit;
};

std::optional<Quantity> parse_quantity(std::string_view word) {
  Quantity quantity;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), quantity.amount);
  if (error != std::errc() || !std::isfinite(quantity.amount) || quantity.amount < 0) return std::nullopt;
  quantity.unit = trim(word.substr(static_cast<size_t>(end - word.data())));
  return quantity;
}

constexpr std::array<std::pair<std::string_view, double>, 9> byte_units{{{"GiB", 1024.0 * 1024 * 1024},
                                                                        {"MiB", 1024.0 * 1024},
                                                                        {"KiB", 1024},
                                                                        {"TiB", 1024.0 * 1024 * 1024 * 1024},
                                                                        {"GB", 1e9},
                                                                        {"MB", 1e6},
                                                                        {"KB", 1e3},
                                                                        {"TB", 1e12},
                                                                        {"B", 1}}};

}  // namespace

Length parse_length(std::string_view word) {
  const auto quantity = parse_quantity(trim(word));
  if (quantity) {
    const auto [amount, unit] = *quantity;
    if (unit == "ep") return {amount, Length::Unit::epochs};
    if (unit == "st") return {amount, Length::Unit::steps};
    if (unit == "s") return {amount, Length::Unit::seconds};
    if (unit == "min") return {amount * 60, Length::Unit::seconds};
    if (unit == "h") return {amount * 3600, Length::Unit::seconds};
    if (unit.empty() && amount == 0) return {};
  }
  fail(Exit::usage, text("'", word, "' is not a length"), "write 10ep (epochs), 500st (steps), 90s, 30min, 12h, or 0");
}

std::string to_text(const Length& length) {
  switch (length.unit) {
    case Length::Unit::epochs: return text(length.amount, "ep");
    case Length::Unit::seconds: return text(length.amount, "s");
    case Length::Unit::steps: return length.amount == 0 ? "0" : text(length.amount, "st");
  }
  return "0";
}

uint64_t parse_bytes(std::string_view word) {
  const auto quantity = parse_quantity(trim(word));
  if (quantity) {
    if (quantity->unit.empty()) return static_cast<uint64_t>(quantity->amount);
    for (const auto& [name, factor] : byte_units) {
      if (quantity->unit == name) return static_cast<uint64_t>(quantity->amount * factor);
    }
  }
  fail(Exit::usage, text("'", word, "' is not a size"), "write 48GiB, 512MiB, 2GB or a number of bytes");
}

std::string bytes_text(uint64_t bytes) {
  for (const auto& [name, factor] : {byte_units[3], byte_units[0], byte_units[1], byte_units[2]}) {
    const auto unit = static_cast<uint64_t>(factor);
    if (bytes >= unit && bytes % unit == 0) return text(bytes / unit, name);
  }
  return text(bytes);
}

}  // namespace larmor
