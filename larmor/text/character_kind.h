// Which characters BERT's words treat alike, and what a character is taken apart into.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace larmor {

/// Unicode's property White_Space.
bool is_blank(int32_t code);
/// ASCII's thirty-two, and the categories P*.
bool is_punctuation(int32_t code);
/// Cc, Cf and Co, but for tab and the ends of lines; and U+FFFD.
bool is_dropped(int32_t code);
/// Category Mn: accents that stand above or below a letter.
bool is_accent(int32_t code);
/// CJK characters that are words each.
bool is_cjk(int32_t code);

/// The small letter of a capital, else the character itself. U+0130 is not asked: it becomes two.
int32_t small_letter(int32_t code);
/// Unicode's canonical combining class: 0 of all that is no mark.
int combining_class(int32_t code);
/// Unicode's canonical decomposition, or the character itself, written to `parts`.
std::span<const int32_t> decomposition(int32_t code, std::array<int32_t, 4>& parts);

}  // namespace larmor
