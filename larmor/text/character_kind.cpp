#include "larmor/text/character_kind.h"

#include <algorithm>

#include <utf8proc.h>

#include "larmor/text/character_tables.h"

namespace larmor {
namespace {

using namespace character_tables;

/// The last range that begins at or before `code`, null where none does.
template <class Range>
const Range* range_before(std::span<const Range> ranges, int32_t code) {
  const auto behind = std::ranges::upper_bound(ranges, code, {}, &Range::first);
  return behind == ranges.begin() ? nullptr : &*std::prev(behind);
}

bool is_in(std::span<const CodeRange> ranges, int32_t code) {
  const CodeRange* const range = range_before(ranges, code);
  return range != nullptr && code <= range->last;
}

}  // namespace

bool is_blank(int32_t code) {
  if (code < 0x80) return code == 0x20 || (code >= 9 && code <= 13);
  return code == 0x85 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
         code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

bool is_punctuation(int32_t code) { return is_in(punctuation, code); }

bool is_dropped(int32_t code) { return is_in(dropped, code); }

bool is_accent(int32_t code) { return is_in(accents, code); }

// One of the bounds is 0x2b920, where Unicode's block begins at 0x2b820: so has the reference.
bool is_cjk(int32_t code) {
  if (code < 0x3400) return false;
  return (code >= 0x4e00 && code <= 0x9fff) || code <= 0x4dbf || (code >= 0x20000 && code <= 0x2a6df) ||
         (code >= 0x2a700 && code <= 0x2b73f) || (code >= 0x2b740 && code <= 0x2b81f) ||
         (code >= 0x2b920 && code <= 0x2ceaf) || (code >= 0xf900 && code <= 0xfaff) ||
         (code >= 0x2f800 && code <= 0x2fa1f);
}

int32_t small_letter(int32_t code) {
  const CapitalRun* const run = range_before(capitals, code);
  if (run == nullptr || code > run->last || (code - run->first) % run->step != 0) return code;
  return code + run->shift;
}

// The classes of marks never change once they are assigned, nor do decompositions (Unicode's stability
// policy): the tables say which ones the reference knows, and utf8proc what they are.
int combining_class(int32_t code) {
  if (!is_accent(code) && !is_in(other_marks, code)) return 0;
  return utf8proc_get_property(code)->combining_class;
}

std::span<const int32_t> decomposition(int32_t code, std::array<int32_t, 4>& parts) {
  int boundary = 0;
  const auto most = static_cast<utf8proc_ssize_t>(parts.size());
  utf8proc_ssize_t count = 0;
  if (is_accent(code) || is_in(composed, code))
    count = utf8proc_decompose_char(code, parts.data(), most, UTF8PROC_DECOMPOSE, &boundary);
  if (count > 0 && count <= most) return std::span(parts).first(static_cast<std::size_t>(count));
  parts[0] = code;
  return std::span(parts).first(1);
}

}  // namespace larmor
