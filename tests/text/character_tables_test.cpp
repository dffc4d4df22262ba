#include "larmor/text/character_tables.h"

#include <string>

#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/base/hash.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/text/bert_words.h"

#include "tests/support/image_files.h"

namespace larmor {
namespace {

void append_utf8(std::string& text, int32_t code) {
  const auto put = [&](int32_t byte) { text.push_back(static_cast<char>(byte)); };
  const auto tail = [&](int shift) { put(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    put(0xe0 | (code >> 12));
    tail(6);
    tail(0);
  } else {
    put(0xf0 | (code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

// The words of x, the character and y, parted by U+001F, a line for each character of the plane.
std::string words_of_plane(int32_t plane, const TokenizerOptions& options) {
  std::string lines;
  BertWord word;
  for (int32_t code = plane << 16; code < (plane + 1) << 16; ++code) {
    if (code >= 0xd800 && code < 0xe000) continue;
    std::string piece = "x";
    append_utf8(piece, code);
    piece += 'y';
    BertWords words(piece, 0, options);
    for (bool first = true; words.next(word); first = false) {
      if (!first) lines += '\x1f';
      lines += word.letters;
    }
    lines += '\n';
  }
  return lines;
}

void expect_words_of_the_reference(const char* kind, bool has_small_letters_alone) {
  const auto file = testing::golden_file("bert_characters.json");
  const Json recorded = parse_json(read_text(file), file.string()).at(kind);
  TokenizerOptions options;
  options.lowercase = options.strip_accents = has_small_letters_alone;
  ASSERT_EQ(recorded.size(), 17u);
  for (int32_t plane = 0; plane < 17; ++plane) {
    EXPECT_EQ(sha256(words_of_plane(plane, options)),
              recorded.at(static_cast<std::size_t>(plane)).get<std::string>())
        << "plane " << plane;
  }
}

TEST(CharacterTables, MakeTheWordsOfTheReferenceOfEveryCharacter) {
  expect_words_of_the_reference("cased", false);
}

TEST(CharacterTables, MakeTheUncasedWordsOfTheReferenceOfEveryCharacter) {
  expect_words_of_the_reference("uncased", true);
}

template <class Range>
void expect_ascending(std::span<const Range> ranges) {
  int32_t last = -1;
  for (const Range& range : ranges) {
    EXPECT_GT(range.first, last) << text("at ", range.first);
    EXPECT_GE(range.last, range.first);
    last = range.last;
  }
}

TEST(CharacterTables, AreInAscendingOrder) {
  using namespace character_tables;
  for (const auto& table : {dropped, punctuation, accents, other_marks, composed}) expect_ascending(table);
  expect_ascending(capitals);
}

}  // namespace
}  // namespace larmor
