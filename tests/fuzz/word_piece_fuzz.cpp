// libFuzzer target: bytes are a vocabulary of either form, or refused; and any bytes are a text, whose tokens
// lie in it in order, and whose numbers are the same cut and padded (tests/fuzz/oracles.h).
#include <array>

#include "larmor/text/word_piece.h"

#include "tests/fuzz/oracles.h"

namespace {

using larmor::fuzz::broken;

const larmor::WordPiece& small_tokenizer() {
  static const larmor::WordPiece tokenizer(larmor::parse_vocabulary(
      "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##a\ncafe\n##b\n?\n\xe8\x82\xba\n[\n]\nm\n##ask\n"));
  return tokenizer;
}

void encode(const larmor::WordPiece& tokenizer, std::string_view text) {
  const auto tokens = tokenizer.encode(text);
  uint32_t before = 0;
  for (std::size_t i = 1; i + 1 < tokens.size(); ++i) {
    const larmor::Token& token = tokens[i];
    if (token.begin < before || token.end <= token.begin || token.end > text.size())
      broken("a token does not lie behind the one before it, in the text");
    if (token.id < 0 || token.id >= tokenizer.size()) broken("a token is not in the vocabulary");
    before = token.begin;
  }
  std::array<int64_t, 16> ids{};
  const std::size_t count = tokenizer.encode(text, std::span<int64_t>(ids));
  if (count != std::min(tokens.size(), ids.size())) broken("a text cut and padded has another length");
  for (std::size_t i = 0; i + 1 < count; ++i) {
    if (ids[i] != tokens[i].id) broken("a text cut and padded has other numbers");
  }
}

larmor::fuzz::Product read(std::string_view bytes) {
  encode(small_tokenizer(), bytes);
  const bool is_json = bytes.starts_with('{');
  const larmor::WordPiece tokenizer(is_json ? larmor::parse_tokenizer_json(bytes)
                                            : larmor::parse_vocabulary(bytes));
  encode(tokenizer, bytes);
  return {};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  return larmor::fuzz::hold(data, size, read, {.whole = false});
}
