#include "larmor/text/vocabulary.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_map>
#include <utility>

#include <simdjson.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

constexpr std::array special_words{"[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"};
constexpr std::size_t needed_words = 4;  // the first so many of them
constexpr uint64_t largest_file = uint64_t{64} << 20;

bool has_capitals(const std::vector<std::string>& tokens) {
  return std::any_of(tokens.begin(), tokens.end(), [](const std::string& token) {
    if (token.starts_with('[') && token.ends_with(']')) return false;  // [UNK], [unused1]
    return std::any_of(token.begin(), token.end(),
                       [](char letter) { return letter >= 'A' && letter <= 'Z'; });
  });
}

void name_special(Vocabulary& vocabulary, const std::unordered_map<std::string_view, int32_t>& ids) {
  std::array<int32_t*, needed_words> named{&vocabulary.unknown, &vocabulary.begin, &vocabulary.end,
                                           &vocabulary.padding};
  for (std::size_t i = 0; i < special_words.size(); ++i) {
    const auto known = ids.find(special_words[i]);
    if (known == ids.end()) {
      if (i >= needed_words) continue;
      fail(Exit::data, text("the vocabulary has no ", special_words[i]), "give the vocabulary of a BERT");
    }
    vocabulary.special.push_back({special_words[i], known->second});
    if (i < needed_words) *named[i] = known->second;
  }
}

}  // namespace

std::filesystem::path vocabulary_file(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return path;
  for (const char* const name : {"tokenizer.json", "vocab.txt"}) {
    if (std::filesystem::exists(path / name)) return path / name;
  }
  fail(Exit::data, "the folder holds neither tokenizer.json nor vocab.txt", "name the file");
}

Vocabulary parse_vocabulary(std::string_view lines, std::optional<bool> lowercase) {
  if (!simdjson::validate_utf8(lines.data(), lines.size()))
    fail(Exit::data, "the vocabulary is no text in UTF-8", "give vocab.txt as it was published");
  Vocabulary vocabulary;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    std::string_view token = lines.substr(0, end);
    if (token.ends_with('\r')) token.remove_suffix(1);
    vocabulary.tokens.emplace_back(token);
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  std::unordered_map<std::string_view, int32_t> ids;
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const std::string& token = vocabulary.tokens[i];
    if (token.empty()) continue;
    const auto [known, is_new] = ids.emplace(token, static_cast<int32_t>(i));
    if (!is_new) {
      fail(Exit::data,
           text("lines ", known->second + 1, " and ", i + 1, " are the same token \"", token, "\""),
           "give vocab.txt as it was published: the number of a token is that of its line");
    }
  }
  name_special(vocabulary, ids);
  vocabulary.options.lowercase = lowercase.value_or(!has_capitals(vocabulary.tokens));
  vocabulary.options.strip_accents = vocabulary.options.lowercase;
  return vocabulary;
}

Vocabulary read_vocabulary(const std::filesystem::path& path, std::optional<bool> lowercase) {
  try {
    const std::string bytes = read_text(vocabulary_file(path), largest_file);
    const std::size_t first = bytes.find_first_not_of(" \t\r\n");
    if (first == std::string::npos || bytes[first] != '{') return parse_vocabulary(bytes, lowercase);
    Vocabulary vocabulary = parse_tokenizer_json(bytes);
    if (lowercase && *lowercase != vocabulary.options.lowercase) {
      fail(Exit::usage,
           text("the file says ", vocabulary.options.lowercase ? "that" : "that no",
                " texts are brought to small letters, the config says otherwise"),
           "leave it to the file");
    }
    return vocabulary;
  } catch (const Error& error) {
    throw error.within(path.string());
  }
}

}  // namespace larmor
