#include "larmor/config/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

// Whole numbers up to here are exact in a double.
constexpr double most_exact = 9007199254740992;

struct TimeUnit {
  std::string_view word;
  double seconds;
};
constexpr std::array<TimeUnit, 3> time_units{{{"h", 3600}, {"min", 60}, {"s", 1}}};

struct ByteUnit {
  std::string_view word;
  uint64_t bytes;
};
constexpr std::array<ByteUnit, 9> byte_units{{{"TiB", uint64_t{1} << 40},
                                              {"GiB", uint64_t{1} << 30},
                                              {"MiB", uint64_t{1} << 20},
                                              {"KiB", uint64_t{1} << 10},
                                              {"TB", 1'000'000'000'000},
                                              {"GB", 1'000'000'000},
                                              {"MB", 1'000'000},
                                              {"kB", 1'000},
                                              {"KB", 1'000}}};
constexpr size_t binary_units = 4;

struct Measure {
  double amount = 0;
  std::string_view unit;
};

// "1.5GiB" in two; nothing when it does not begin with a plain decimal number.
std::optional<Measure> split_unit(std::string_view written) {
  const size_t length = std::min(written.find_first_not_of("0123456789."), written.size());
  const std::string_view digits = written.substr(0, length);
  if (digits.empty() || digits.front() == '.' || digits.back() == '.') return std::nullopt;
  if (digits.size() > 1 && digits[0] == '0' && digits[1] != '.') return std::nullopt;
  Measure measure;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), measure.amount);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  measure.unit = trim(written.substr(length));
  return measure;
}

[[noreturn]] void refuse_length(std::string_view written) {
  fail(Exit::usage, text("\"", written, "\" is no length"),
       "say 10ep (epochs), 500st (steps), 90s, 30min or 12h, or 0 for never");
}

[[noreturn]] void refuse_bytes(std::string_view written) {
  fail(Exit::usage, text("\"", written, "\" is no size"), "say 48GiB, 512MiB, 2GB, or a number of bytes");
}

}  // namespace

Length parse_length(std::string_view written) {
  const std::optional<Measure> measure = split_unit(trim(written));
  if (!measure || measure->amount > most_exact) refuse_length(written);
  // One zero is as good as another: it has to compare equal whatever its unit.
  if (measure->amount == 0 && measure->unit.empty()) return {};
  Length length;
  if (measure->unit == "ep") {
    length = {measure->amount, Length::Unit::epochs};
  } else if (measure->unit == "st") {
    if (measure->amount != std::floor(measure->amount)) refuse_length(written);
    length = {measure->amount, Length::Unit::steps};
  } else {
    for (const TimeUnit& unit : time_units) {
      if (unit.word == measure->unit) length = {measure->amount * unit.seconds, Length::Unit::seconds};
    }
    if (length.unit != Length::Unit::seconds) refuse_length(written);
  }
  return length.amount == 0 ? Length{} : length;
}

std::string to_text(const Length& length) {
  if (length.amount == 0) return "0";
  // Fixed notation, because 1e+06ep would not read back.
  const auto number = [](double amount) {
    std::array<char, 400> digits;
    const auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), amount, std::chars_format::fixed);
    return std::string(digits.data(), end.ptr);
  };
  if (length.unit == Length::Unit::epochs) return number(length.amount) + "ep";
  if (length.unit == Length::Unit::steps) return number(length.amount) + "st";
  for (const TimeUnit& unit : time_units) {
    const double amount = length.amount / unit.seconds;
    if (amount == std::floor(amount) && amount * unit.seconds == length.amount)
      return text(number(amount), unit.word);
  }
  return number(length.amount) + "s";
}

uint64_t parse_bytes(std::string_view written) {
  const std::optional<Measure> measure = split_unit(trim(written));
  if (!measure) refuse_bytes(written);
  uint64_t unit_bytes = measure->unit.empty() || measure->unit == "B" ? 1 : 0;
  for (const ByteUnit& unit : byte_units) {
    if (unit.word == measure->unit) unit_bytes = unit.bytes;
  }
  const double bytes = measure->amount * static_cast<double>(unit_bytes);
  if (unit_bytes == 0 || bytes > most_exact || bytes != std::floor(bytes)) refuse_bytes(written);
  return static_cast<uint64_t>(bytes);
}

std::string bytes_text(uint64_t bytes) {
  for (const ByteUnit& unit : std::span(byte_units).first(binary_units)) {
    if (bytes >= unit.bytes && bytes % unit.bytes == 0) return text(bytes / unit.bytes, unit.word);
  }
  return text(bytes);
}

}  // namespace larmor
