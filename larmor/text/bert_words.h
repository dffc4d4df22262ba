// From a text to the words that WordPiece cuts: control characters dropped, blanks and CJK characters apart,
// accents and capitals taken away where the vocabulary has none, punctuation a word of its own.
// Source: Devlin et al., "BERT", NAACL 2019; the order of the steps is that of Hugging Face's BertNormalizer
// and BertPreTokenizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/text/vocabulary.h"

namespace larmor {

/// A word as the vocabulary spells it. Each of its bytes knows the bytes [begin, end) of the text from which
/// the character came that it belongs to.
struct BertWord {
  std::string letters;
  std::vector<uint32_t> begins, ends;  // one a byte of `letters`
  std::size_t characters = 0;

  void clear();
};

/// Goes through a text word by word. Borrows the text and the options. Bytes that are no UTF-8 are read as
/// U+FFFD.
class BertWords {
 public:
  /// Requires: text shorter than 4 GiB. `begin`: where `piece` lies in the text that offsets count from.
  BertWords(std::string_view piece, uint32_t begin, const TokenizerOptions& options);

  /// Fills `word` with the next one; false where there is none.
  bool next(BertWord& word);

 private:
  struct Character {
    int32_t code = 0;
    uint32_t begin = 0, end = 0;
    int combining_class = 0;
  };
  bool refill();
  void normalise(int32_t code, uint32_t begin, uint32_t end);
  void decompose(const Character& character);
  void emit(const Character& character);
  void emit_lower(Character character);
  void order_marks();
  bool next_ascii_word(BertWord& word);

  std::string_view piece_;
  uint32_t begin_;
  const TokenizerOptions& options_;
  std::size_t place_ = 0;
  std::vector<Character> ready_;  // normalised, from `first_ready_` on
  std::size_t first_ready_ = 0;
  std::vector<Character> marks_;  // decomposed, not yet in canonical order
};

}  // namespace larmor
