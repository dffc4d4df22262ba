// WordPiece: from a text to the numbers that a BERT has learnt.
// Source: Wu et al., arXiv 1609.08144; Devlin et al., NAACL 2019. Equal to Hugging Face's BertTokenizerFast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/text/vocabulary.h"

namespace larmor {

struct BertWord;

struct Token {
  int32_t id = 0;
  uint32_t begin = 0, end = 0;  // bytes of the text that it came from; 0 and 0 for [CLS] and [SEP]
  bool operator==(const Token&) const = default;
};

/// Thread-safe; a value.
class WordPiece {
 public:
  /// Throws Error (data): a vocabulary that lacks a token that the work needs.
  explicit WordPiece(Vocabulary vocabulary);

  /// [CLS], the text, [SEP]; of at most `longest` tokens, the last one [SEP]. 0: however many there are.
  /// Throws Error (data): a text of 4 GiB. Requires: `longest` 0 or at least 2.
  std::vector<Token> encode(std::string_view text, std::size_t longest = 0) const;
  /// The same as numbers, cut to `ids` and padded up to its end; gives how many are no padding. Requires: at
  /// least 2 of them.
  std::size_t encode(std::string_view text, std::span<int64_t> ids) const;

  /// One more than the greatest id: the rows that a table of embeddings needs.
  int64_t size() const { return static_cast<int64_t>(vocabulary_.tokens.size()); }
  const std::string& token(int64_t id) const { return vocabulary_.tokens[static_cast<std::size_t>(id)]; }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  /// A hash over all that the ids of a text depend on: equal for equal ids.
  std::string sha256() const;

 private:
  struct Pieces;
  struct Special {
    std::size_t place = 0;
    const SpecialToken* token = nullptr;  // null: there is none from here on
  };
  template <class Take>
  void each_token(std::string_view text, const Take& take) const;
  template <class Take>
  bool cut_word(const BertWord& word, std::vector<Token>& pieces, const Take& take) const;
  Special next_special(std::string_view text, std::size_t from) const;

  Vocabulary vocabulary_;
  std::shared_ptr<const Pieces> pieces_;
  std::vector<bool> begins_special_ = std::vector<bool>(256);  // by the first byte
};

/// read_vocabulary() and all that follows from it.
WordPiece read_tokenizer(const std::filesystem::path& path, std::optional<bool> lowercase = {});

}  // namespace larmor
