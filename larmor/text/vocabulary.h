// The words of a tokenizer and their numbers, as files hold them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace larmor {

/// How a text is read: BERT's way; the defaults are those of a cased vocabulary.
struct TokenizerOptions {
  bool lowercase = false;
  bool strip_accents = false;  // what goes with lowercase where nobody says otherwise
  bool clean_text = true;      // control characters are dropped
  bool separate_cjk = true;    // each CJK character is a word
  std::string prefix = "##";   // of pieces that continue a word
  std::string unknown = "[UNK]";
  std::size_t longest_word = 100;  // characters; a longer word is unknown
  bool operator==(const TokenizerOptions&) const = default;
};

/// What a text may hold literally, such as [MASK]: it is taken before words are looked for.
struct SpecialToken {
  std::string content;
  int32_t id = 0;
  bool operator==(const SpecialToken&) const = default;
};

struct Vocabulary {
  std::vector<std::string> tokens;  // by id; "" for an id that nothing has
  std::vector<SpecialToken> special;
  int32_t begin = -1, end = -1;  // [CLS] and [SEP], put around a text
  int32_t padding = -1, unknown = -1;
  TokenizerOptions options;
};

/// vocab.txt: a token a line, its number the line's. `lowercase`: whether texts are brought to small letters
/// without accents first; where nobody says, they are when no token has a capital letter. Throws Error (data)
/// naming the line: a token twice, none of [UNK] [CLS] [SEP] [PAD], bytes that are no UTF-8.
Vocabulary parse_vocabulary(std::string_view lines, std::optional<bool> lowercase = {});
/// tokenizer.json of Hugging Face's library, as far as it describes BERT. Throws Error (data): damaged, or a
/// component that is not known, by its name.
Vocabulary parse_tokenizer_json(std::string_view source);
/// The file itself, or that of the two which a folder holds. Throws Error (data) where it holds none.
std::filesystem::path vocabulary_file(const std::filesystem::path& path);
/// Either of them, told by its first letter; or the one that a folder holds. Throws Error (data) with the
/// path. `lowercase` against what a tokenizer.json says is refused (usage).
Vocabulary read_vocabulary(const std::filesystem::path& path, std::optional<bool> lowercase = {});

}  // namespace larmor
