#include "larmor/text/bert_words.h"

#include <algorithm>
#include <array>

#include <utf8proc.h>

#include "larmor/text/character_kind.h"

namespace larmor {
namespace {

constexpr int32_t replacement = 0xfffd;

// What a byte is to the words.
enum class Kind : uint8_t { dropped, blank, punctuation, letter, beyond_ascii };

constexpr std::array<Kind, 256> make_kinds() {
  const auto punctuation = [](int i) {
    return (i >= 33 && i <= 47) || (i >= 58 && i <= 64) || (i >= 91 && i <= 96) || (i >= 123 && i <= 126);
  };
  std::array<Kind, 256> kinds{};
  for (int i = 0; i < 256; ++i) {
    const bool blank = i == ' ' || i == '\t' || i == '\n' || i == '\r';
    kinds[static_cast<std::size_t>(i)] = i >= 0x80            ? Kind::beyond_ascii
                                         : blank              ? Kind::blank
                                         : i < 32 || i == 127 ? Kind::dropped
                                         : punctuation(i)     ? Kind::punctuation
                                                              : Kind::letter;
  }
  return kinds;
}

constexpr std::array<Kind, 256> kinds = make_kinds();

char lower_ascii(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

void append(BertWord& word, int32_t code, uint32_t begin, uint32_t end) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const auto count = static_cast<std::size_t>(utf8proc_encode_char(code, bytes.data()));
  for (std::size_t i = 0; i < count; ++i) {
    word.letters.push_back(static_cast<char>(bytes[i]));
    word.begins.push_back(begin);
    word.ends.push_back(end);
  }
  ++word.characters;
}

}  // namespace

void BertWord::clear() {
  letters.clear();
  begins.clear();
  ends.clear();
  characters = 0;
}

BertWords::BertWords(std::string_view piece, uint32_t begin, const TokenizerOptions& options)
    : piece_(piece), begin_(begin), options_(options) {}

void BertWords::emit_lower(Character character) {
  constexpr int32_t dotted_capital_i = 0x130, combining_dot = 0x307;
  // The one letter that becomes two characters whatever stands beside it.
  if (character.code == dotted_capital_i) {
    character.code = 'i';
    ready_.push_back(character);
    character.code = combining_dot;
  } else {
    character.code = small_letter(character.code);
  }
  ready_.push_back(character);
}

void BertWords::emit(const Character& character) {
  if (options_.strip_accents && is_accent(character.code)) return;
  if (options_.lowercase) {
    emit_lower(character);
  } else {
    ready_.push_back(character);
  }
}

void BertWords::order_marks() {
  std::stable_sort(marks_.begin(), marks_.end(), [](const Character& a, const Character& b) {
    return a.combining_class < b.combining_class;
  });
  for (const Character& mark : marks_) emit(mark);
  marks_.clear();
}

void BertWords::decompose(const Character& character) {
  std::array<int32_t, 4> parts{};
  for (const int32_t code : decomposition(character.code, parts)) {
    Character part = character;
    part.code = code;
    part.combining_class = combining_class(code);
    if (part.combining_class == 0) {
      order_marks();
      emit(part);
    } else {
      marks_.push_back(part);
    }
  }
}

void BertWords::normalise(int32_t code, uint32_t begin, uint32_t end) {
  if (options_.clean_text) {
    if (is_dropped(code)) return;
    if (is_blank(code)) code = ' ';
  }
  const bool apart = options_.separate_cjk && is_cjk(code);
  const auto pass = [&](int32_t part) {
    if (options_.strip_accents) {
      decompose({part, begin, end, 0});
    } else {
      emit({part, begin, end, 0});
    }
  };
  if (apart) pass(' ');
  pass(code);
  if (apart) pass(' ');
}

bool BertWords::refill() {
  ready_.clear();
  first_ready_ = 0;
  while (ready_.empty() && place_ < piece_.size()) {
    utf8proc_int32_t code = replacement;
    const auto* const at = reinterpret_cast<const utf8proc_uint8_t*>(piece_.data()) + place_;
    const auto left = static_cast<utf8proc_ssize_t>(piece_.size() - place_);
    auto count = utf8proc_iterate(at, left, &code);
    if (count <= 0) {
      code = replacement;
      count = 1;
    }
    const auto begin = begin_ + static_cast<uint32_t>(place_);
    place_ += static_cast<std::size_t>(count);
    normalise(code, begin, begin + static_cast<uint32_t>(count));
  }
  if (place_ == piece_.size()) order_marks();
  return !ready_.empty();
}

// Most words: ASCII letters between blanks and punctuation, which nothing has to be asked of. False, with
// nothing taken, where it is none of these.
bool BertWords::next_ascii_word(BertWord& word) {
  const auto kind_at = [&](std::size_t place) {
    return place < piece_.size() ? kinds[static_cast<unsigned char>(piece_[place])] : Kind::blank;
  };
  while (place_ < piece_.size() && kind_at(place_) == Kind::blank) ++place_;
  std::size_t end = place_;
  if (kind_at(place_) == Kind::punctuation) {
    end = place_ + 1;
    // A mark behind the punctuation might change it: the slow way knows.
    if (kind_at(end) == Kind::beyond_ascii) return false;
  } else {
    while (end < piece_.size() && kind_at(end) == Kind::letter) ++end;
    if (kind_at(end) == Kind::beyond_ascii || kind_at(end) == Kind::dropped) return false;
  }
  if (end == place_) return false;
  for (std::size_t i = place_; i < end; ++i) {
    word.letters.push_back(options_.lowercase ? lower_ascii(piece_[i]) : piece_[i]);
    word.begins.push_back(begin_ + static_cast<uint32_t>(i));
    word.ends.push_back(begin_ + static_cast<uint32_t>(i) + 1);
  }
  word.characters = end - place_;
  place_ = end;
  return true;
}

bool BertWords::next(BertWord& word) {
  word.clear();
  const bool nothing_held = first_ready_ == ready_.size() && marks_.empty();
  if (nothing_held && options_.clean_text && next_ascii_word(word)) return true;
  while (first_ready_ < ready_.size() || refill()) {
    const Character character = ready_[first_ready_];
    const bool blank = is_blank(character.code), mark = is_punctuation(character.code);
    if ((blank || mark) && word.characters > 0) return true;  // the word ends before it
    ++first_ready_;
    if (blank) continue;
    append(word, character.code, character.begin, character.end);
    if (mark) return true;
  }
  return word.characters > 0;
}

}  // namespace larmor
