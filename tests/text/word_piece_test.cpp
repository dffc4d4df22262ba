#include "larmor/text/word_piece.h"

#include <array>
#include <cstring>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libdeflate.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"

#include "tests/support/shared_data.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const char* const small_words =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nple\n##ural\neff\n##us\n##ion\n?\n\xe8\x82\xba\ncafe\nis\n##n\n";

std::vector<int64_t> numbers(const WordPiece& tokenizer, std::string_view line, std::size_t longest = 0) {
  std::vector<int64_t> ids;
  for (const Token& token : tokenizer.encode(line, longest)) ids.push_back(token.id);
  return ids;
}

WordPiece small() { return WordPiece(parse_vocabulary(small_words)); }

std::string unpacked(const std::filesystem::path& path) {
  const std::string packed = read_text(path);
  uint32_t size = 0;
  std::memcpy(&size, packed.data() + packed.size() - 4, 4);
  std::string plain(size, '\0');
  auto* const unpacker = libdeflate_alloc_decompressor();
  const auto result =
      libdeflate_gzip_decompress(unpacker, packed.data(), packed.size(), plain.data(), plain.size(), nullptr);
  libdeflate_free_decompressor(unpacker);
  EXPECT_EQ(result, LIBDEFLATE_SUCCESS);
  return plain;
}

// Every recorded line, whole and cut to 128, through one file of the vocabulary.
void expect_recorded_ids(const std::string& file, const std::string& kind) {
  const auto folder = larmor::testing::shared_golden() / "wordpiece";
  if (!std::filesystem::exists(folder / file))
    GTEST_SKIP() << "no shared golden/wordpiece beside the project";
  const WordPiece tokenizer = read_tokenizer(folder / file);
  EXPECT_EQ(tokenizer.size(), 8000);
  int lines = 0, cut = 0, wrong = 0;
  for (const std::string& line : split(unpacked(folder / "wordpiece_lines.jsonl.gz"), '\n')) {
    if (line.empty()) continue;
    const Json recorded = parse_json(line, "wordpiece_lines");
    const auto sentence = recorded.at("text").get<std::string>();
    const auto expected = recorded.at("ids_" + kind).get<std::vector<int64_t>>();
    ++lines;
    if (numbers(tokenizer, sentence) != expected && ++wrong < 10) {
      ADD_FAILURE() << kind << ": " << recorded.at("text").dump() << "\n"
                    << ::testing::PrintToString(numbers(tokenizer, sentence)) << "\n"
                    << ::testing::PrintToString(expected);
    }
    if (!recorded.contains("truncated128_" + kind)) continue;
    ++cut;
    EXPECT_EQ(numbers(tokenizer, sentence, 128),
              recorded.at("truncated128_" + kind).get<std::vector<int64_t>>());
  }
  EXPECT_EQ(lines, 10000);
  EXPECT_EQ(cut, 180);
  EXPECT_EQ(wrong, 0);
}

TEST(WordPiece, GivesTheIdsOfTheReferenceForACasedVocabulary) {
  expect_recorded_ids("vocab_cased.txt", "cased");
}

TEST(WordPiece, GivesTheIdsOfTheReferenceForAnUncasedVocabulary) {
  expect_recorded_ids("vocab_uncased.txt", "uncased");
}

TEST(WordPiece, GivesTheIdsOfTheReferenceForACasedTokenizerFile) {
  expect_recorded_ids("tokenizer_cased.json", "cased");
}

TEST(WordPiece, GivesTheIdsOfTheReferenceForAnUncasedTokenizerFile) {
  expect_recorded_ids("tokenizer_uncased.json", "uncased");
}

TEST(WordPiece, BothFilesOfAVocabularyAreTheSameTokenizer) {
  const auto folder = larmor::testing::shared_golden() / "wordpiece";
  if (folder.empty() || !std::filesystem::exists(folder)) GTEST_SKIP() << "no shared golden/wordpiece";
  const auto from_lines = read_tokenizer(folder / "vocab_cased.txt");
  EXPECT_EQ(from_lines.sha256(), read_tokenizer(folder / "tokenizer_cased.json").sha256());
  EXPECT_NE(from_lines.sha256(), read_tokenizer(folder / "vocab_uncased.txt").sha256());
}

TEST(WordPiece, CutsWordsIntoTheLongestPieces) {
  EXPECT_THAT(numbers(small(), "Pleural effusion?"), ElementsAre(2, 5, 6, 7, 8, 9, 10, 3));
}

TEST(WordPiece, AWordThatIsNotToBeCutIsUnknownAsAWhole) {
  EXPECT_THAT(numbers(small(), "effusive"), ElementsAre(2, 1, 3));
}

TEST(WordPiece, AWordOfMoreThanAHundredCharactersIsUnknown) {
  const std::string hundred = "is" + std::string(98, 'n');
  EXPECT_EQ(numbers(small(), hundred).size(), 2u + 99u);
  EXPECT_THAT(numbers(small(), hundred + "n"), ElementsAre(2, 1, 3));
}

TEST(WordPiece, TakesAccentsAndCapitalsAwayWhereTheVocabularyHasNone) {
  EXPECT_THAT(numbers(small(), "CAF\xc3\x89 cafe\xcc\x81"), ElementsAre(2, 12, 12, 3));
}

TEST(WordPiece, EachCjkCharacterIsAWord) {
  EXPECT_THAT(numbers(small(), "is\xe8\x82\xbais"), ElementsAre(2, 13, 11, 13, 3));
}

TEST(WordPiece, ControlCharactersAreDroppedWhereverTheyStand) {
  EXPECT_THAT(numbers(small(), std::string_view("i\x01s \0is i\xe2\x80\x8bs", 13)),
              ElementsAre(2, 13, 13, 13, 3));
}

TEST(WordPiece, TakesSpecialTokensLiterallyAlsoInsideAWord) {
  EXPECT_THAT(numbers(small(), "is[MASK]is"), ElementsAre(2, 13, 4, 13, 3));
  EXPECT_THAT(numbers(small(), "[mask]"), ElementsAre(2, 1, 1, 1, 3));
}

TEST(WordPiece, NothingIsLeftOfAnEmptyText) {
  EXPECT_THAT(numbers(small(), ""), ElementsAre(2, 3));
  EXPECT_THAT(numbers(small(), " \t\n"), ElementsAre(2, 3));
}

TEST(WordPiece, EachTokenKnowsTheBytesItCameFrom) {
  const std::string line = " Pleural CAF\xc3\x89? [MASK]\xe8\x82\xba";
  const auto tokens = small().encode(line);
  std::vector<std::string> parts;
  for (const Token& token : tokens) parts.push_back(line.substr(token.begin, token.end - token.begin));
  EXPECT_THAT(parts, ElementsAre("", "Ple", "ural", "CAF\xc3\x89", "?", "[MASK]", "\xe8\x82\xba", ""));
}

TEST(WordPiece, CutTextsEndWithTheSeparator) {
  EXPECT_THAT(numbers(small(), "Pleural effusion?", 5), ElementsAre(2, 5, 6, 7, 3));
  EXPECT_THAT(numbers(small(), "Pleural effusion?", 2), ElementsAre(2, 3));
}

TEST(WordPiece, PadsToTheLengthThatIsAskedFor) {
  std::array<int64_t, 7> ids{};
  EXPECT_EQ(small().encode("is is", std::span<int64_t>(ids)), 4u);
  EXPECT_THAT(ids, ElementsAre(2, 13, 13, 3, 0, 0, 0));
  EXPECT_EQ(small().encode("Pleural effusion?", std::span<int64_t>(ids)), 7u);
  EXPECT_THAT(ids, ElementsAre(2, 5, 6, 7, 8, 9, 3));
}

TEST(WordPiece, BytesThatAreNoTextDoNotEndTheWork) {
  EXPECT_THAT(numbers(small(), "i\xff\xfes \xe8\x82"), ElementsAre(2, 13, 3));
}

}  // namespace
}  // namespace larmor
