// Which characters BERT's words treat alike. The reference's tables are those of Unicode 8; what Unicode has
// given a category since then is a letter to it.
#pragma once

#include <cstdint>

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

}  // namespace larmor
