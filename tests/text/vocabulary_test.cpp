#include "larmor/text/vocabulary.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/json.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;

template <class Work>
std::string refusal_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::data);
    return error.message();
  }
  return "not refused";
}

Json small_file() {
  return parse_json(R"({"version": "1.0", "truncation": null, "padding": null,
    "added_tokens": [{"id": 0, "content": "[PAD]", "special": true}, {"id": 4, "content": "[MASK]"}],
    "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                   "strip_accents": null, "lowercase": true},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
    "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
              "max_input_chars_per_word": 50,
              "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "lung": 5}}})",
                    "test");
}

std::string refusal_with(const std::string& pointer, const Json& value) {
  Json file = small_file();
  file[Json::json_pointer(pointer)] = value;
  return refusal_of([&] { parse_tokenizer_json(file.dump()); });
}

TEST(Vocabulary, IsCasedWhenATokenHasACapital) {
  const std::string lines = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[unused1]\nlung\n";
  EXPECT_TRUE(parse_vocabulary(lines).options.lowercase);
  EXPECT_FALSE(parse_vocabulary(lines + "Lung\n").options.lowercase);
  EXPECT_FALSE(parse_vocabulary(lines, false).options.lowercase);
}

TEST(Vocabulary, LinesMayEndAsOnWindows) {
  const auto vocabulary = parse_vocabulary("[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\nlung\r\n");
  EXPECT_EQ(vocabulary.tokens.size(), 5u);
  EXPECT_EQ(vocabulary.tokens.back(), "lung");
}

TEST(Vocabulary, RefusesATokenThatStandsTwiceWithBothLines) {
  EXPECT_THAT(refusal_of([] { parse_vocabulary("[PAD]\n[UNK]\n[CLS]\n[SEP]\nlung\nlung\n"); }),
              HasSubstr("lines 5 and 6"));
}

TEST(Vocabulary, RefusesToWorkWithoutTheTokensThatItNeeds) {
  EXPECT_THAT(refusal_of([] { parse_vocabulary("[PAD]\n[UNK]\n[CLS]\nlung\n"); }), HasSubstr("[SEP]"));
  EXPECT_THAT(refusal_of([] { parse_vocabulary("\xff\xfe"); }), HasSubstr("UTF-8"));
  EXPECT_THAT(refusal_of([] { parse_vocabulary(""); }), HasSubstr("[UNK]"));
}

TEST(Vocabulary, ReadsWhatATokenizerFileSays) {
  const auto vocabulary = parse_tokenizer_json(small_file().dump());
  EXPECT_EQ(vocabulary.tokens.size(), 6u);
  EXPECT_EQ(vocabulary.begin, 2);
  EXPECT_EQ(vocabulary.end, 3);
  EXPECT_TRUE(vocabulary.options.lowercase);
  EXPECT_TRUE(vocabulary.options.strip_accents);
  EXPECT_EQ(vocabulary.options.longest_word, 50u);
  EXPECT_EQ(vocabulary.special.size(), 2u);
}

TEST(Vocabulary, RefusesComponentsThatItDoesNotKnowByName) {
  EXPECT_THAT(refusal_with("/model/type", "BPE"), HasSubstr("BPE"));
  EXPECT_THAT(refusal_with("/normalizer/type", "NFKC"), HasSubstr("NFKC"));
  EXPECT_THAT(refusal_with("/pre_tokenizer/type", "ByteLevel"), HasSubstr("ByteLevel"));
  EXPECT_THAT(refusal_with("/post_processor/type", "RobertaProcessing"), HasSubstr("RobertaProcessing"));
  EXPECT_THAT(refusal_with("/decoder/type", "Metaspace"), HasSubstr("Metaspace"));
  EXPECT_THAT(refusal_with("/model/dropout", 0.1), HasSubstr("model.dropout"));
  EXPECT_THAT(refusal_with("/surprise", 1), HasSubstr("tokenizer.surprise"));
  EXPECT_THAT(refusal_with("/added_tokens/1/lstrip", true), HasSubstr("lstrip"));
  EXPECT_THAT(refusal_with("/normalizer", nullptr), HasSubstr("normalizer"));
}

TEST(Vocabulary, RefusesNumbersThatTwoTokensHave) {
  EXPECT_THAT(refusal_with("/model/vocab/heart", 5), HasSubstr("\"heart\" have the number 5"));
  EXPECT_THAT(refusal_with("/model/vocab/heart", -1), HasSubstr("-1"));
  EXPECT_THAT(refusal_with("/model/vocab/heart", 5'000'000'000), HasSubstr("5000000000"));
}

TEST(Vocabulary, RefusesAFileThatIsCutShort) {
  const std::string whole = small_file().dump();
  EXPECT_THAT(refusal_of([&] { parse_tokenizer_json(whole.substr(0, whole.size() / 2)); }),
              HasSubstr("JSON"));
}

TEST(Vocabulary, AFolderGivesItsTokenizerFile) {
  const ScratchFolder scratch;
  EXPECT_THAT(refusal_of([&] { read_vocabulary(scratch.path()); }), HasSubstr("neither"));
  std::ofstream(scratch.path() / "vocab.txt") << "[PAD]\n[UNK]\n[CLS]\n[SEP]\nheart\n";
  EXPECT_EQ(read_vocabulary(scratch.path()).tokens.back(), "heart");
  std::ofstream(scratch.path() / "tokenizer.json") << small_file().dump();
  EXPECT_EQ(read_vocabulary(scratch.path()).tokens.back(), "lung");
  EXPECT_THROW(read_vocabulary(scratch.path(), false), Error);
}

}  // namespace
}  // namespace larmor
