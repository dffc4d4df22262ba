#include "larmor/text/word_piece.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/hash.h"
#include "larmor/base/text.h"
#include "larmor/text/bert_words.h"
#include "larmor/text/piece_trie.h"

namespace larmor {

struct WordPiece::Pieces {
  PieceTrie beginnings, continuations;
};

WordPiece::WordPiece(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {
  const std::pair<int32_t, const char*> needed[] = {{vocabulary_.begin, "[CLS]"},
                                                    {vocabulary_.end, "[SEP]"},
                                                    {vocabulary_.padding, "[PAD]"},
                                                    {vocabulary_.unknown, "[UNK]"}};
  for (const auto& [id, name] : needed) {
    if (id < 0 || id >= size())
      fail(Exit::data, text("the vocabulary has no ", name), "give the vocabulary of a BERT");
  }
  const auto pieces = std::make_shared<Pieces>();
  const std::string& prefix = vocabulary_.options.prefix;
  for (std::size_t i = 0; i < vocabulary_.tokens.size(); ++i) {
    const std::string_view token = vocabulary_.tokens[i];
    if (token.empty()) continue;
    pieces->beginnings.add(token, static_cast<int32_t>(i));
    if (token.size() > prefix.size() && token.starts_with(prefix))
      pieces->continuations.add(token.substr(prefix.size()), static_cast<int32_t>(i));
  }
  pieces_ = pieces;
  // Of two that begin alike the longer one is taken.
  std::sort(vocabulary_.special.begin(), vocabulary_.special.end(),
            [](const SpecialToken& a, const SpecialToken& b) {
              return std::pair(b.content.size(), a.content) < std::pair(a.content.size(), b.content);
            });
  for (const SpecialToken& token : vocabulary_.special)
    begins_special_[static_cast<unsigned char>(token.content.front())] = true;
}

WordPiece::Special WordPiece::next_special(std::string_view text, std::size_t from) const {
  for (std::size_t place = from; place < text.size(); ++place) {
    if (!begins_special_[static_cast<unsigned char>(text[place])]) continue;
    for (const SpecialToken& token : vocabulary_.special) {
      if (text.substr(place).starts_with(token.content)) return {place, &token};
    }
  }
  return {text.size(), nullptr};
}

// Gives false when `take` wants no more.
template <class Take>
bool WordPiece::cut_word(const BertWord& word, std::vector<Token>& pieces, const Take& take) const {
  const std::string_view letters = word.letters;
  pieces.clear();
  if (word.characters <= vocabulary_.options.longest_word) {
    for (std::size_t place = 0; place < letters.size();) {
      const PieceTrie& trie = place == 0 ? pieces_->beginnings : pieces_->continuations;
      const PieceTrie::Match match = trie.longest(letters.substr(place));
      if (match.id == PieceTrie::none) {
        pieces.clear();
        break;
      }
      pieces.push_back({match.id, word.begins[place], word.ends[place + match.bytes - 1]});
      place += match.bytes;
    }
  }
  if (pieces.empty()) pieces.push_back({vocabulary_.unknown, word.begins.front(), word.ends.back()});
  return std::all_of(pieces.begin(), pieces.end(), take);
}

template <class Take>
void WordPiece::each_token(std::string_view text, const Take& take) const {
  if (text.size() >= std::numeric_limits<uint32_t>::max())
    fail(Exit::data, "a text of 4 GiB or more is not read", "cut it into parts");
  BertWord word;
  std::vector<Token> pieces;
  for (std::size_t place = 0; place < text.size();) {
    const Special special = next_special(text, place);
    BertWords words(text.substr(place, special.place - place), static_cast<uint32_t>(place),
                    vocabulary_.options);
    while (words.next(word)) {
      if (!cut_word(word, pieces, take)) return;
    }
    if (special.token == nullptr) return;
    place = special.place + special.token->content.size();
    const Token token{special.token->id, static_cast<uint32_t>(special.place), static_cast<uint32_t>(place)};
    if (!take(token)) return;
  }
}

std::vector<Token> WordPiece::encode(std::string_view text, std::size_t longest) const {
  std::vector<Token> tokens = {{vocabulary_.begin, 0, 0}};
  const std::size_t room = longest == 0 ? std::numeric_limits<std::size_t>::max() : longest - 1;
  if (tokens.size() < room) {
    each_token(text, [&](const Token& token) {
      tokens.push_back(token);
      return tokens.size() < room;
    });
  }
  tokens.push_back({vocabulary_.end, 0, 0});
  return tokens;
}

std::size_t WordPiece::encode(std::string_view text, std::span<int64_t> ids) const {
  std::size_t count = 0;
  const std::size_t room = ids.size() - 1;
  ids[count++] = vocabulary_.begin;
  if (count < room) {
    each_token(text, [&](const Token& token) {
      ids[count++] = token.id;
      return count < room;
    });
  }
  ids[count++] = vocabulary_.end;
  std::fill(ids.begin() + static_cast<std::ptrdiff_t>(count), ids.end(), vocabulary_.padding);
  return count;
}

std::string WordPiece::sha256() const {
  Sha256 hash;
  const TokenizerOptions& options = vocabulary_.options;
  hash.update(larmor::text("larmor wordpiece 1 ", options.lowercase, options.strip_accents,
                           options.clean_text, options.separate_cjk, options.longest_word, ' ',
                           options.prefix.size(), ' ', options.prefix, vocabulary_.begin, ' ',
                           vocabulary_.end, ' ', vocabulary_.padding, ' ', vocabulary_.unknown, '\n'));
  for (const std::string& token : vocabulary_.tokens)
    hash.update(larmor::text(token.size(), ' ', token, '\n'));
  for (const SpecialToken& token : vocabulary_.special)
    hash.update(larmor::text(token.id, ' ', token.content.size(), ' ', token.content, '\n'));
  return hash.hex();
}

WordPiece read_tokenizer(const std::filesystem::path& path, std::optional<bool> lowercase) {
  return WordPiece(read_vocabulary(path, lowercase));
}

}  // namespace larmor
