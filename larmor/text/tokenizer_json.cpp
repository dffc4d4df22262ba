// tokenizer.json: every component is either one that BERT has, or refused by its name.
#include <algorithm>
#include <initializer_list>
#include <unordered_map>

#include <simdjson.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/text/vocabulary.h"

namespace larmor {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

constexpr int64_t most_tokens = 4'000'000;

[[noreturn]] void unlike_bert(std::string_view what) {
  fail(Exit::data, text("the tokenizer is no BERT's: ", what),
       "give the vocab.txt or the tokenizer.json of a WordPiece model");
}

[[noreturn]] void lacks(std::string_view what) {
  fail(Exit::data, text("the tokenizer file lacks ", what), "fetch the file again");
}

bool find(const object& place, std::string_view key, element& value) {
  return place.at_key(key).get(value) == simdjson::SUCCESS && !value.is_null();
}

object object_of(const object& place, std::string_view key, std::string_view component) {
  element value;
  object found;
  if (!find(place, key, value) || value.get(found) != simdjson::SUCCESS) lacks(component);
  return found;
}

std::string_view word_of(const object& place, std::string_view key, std::string_view component) {
  element value;
  std::string_view word;
  if (!find(place, key, value) || value.get(word) != simdjson::SUCCESS) lacks(text(component, ".", key));
  return word;
}

bool flag_of(const object& place, std::string_view key, bool otherwise, std::string_view component) {
  element value;
  bool flag = otherwise;
  if (find(place, key, value) && value.get(flag) != simdjson::SUCCESS) lacks(text(component, ".", key));
  return flag;
}

void check_keys(const object& place, std::initializer_list<std::string_view> known,
                std::string_view component) {
  for (const auto& field : place) {
    if (std::find(known.begin(), known.end(), field.key) == known.end())
      unlike_bert(text(component, ".", field.key, " is not known"));
  }
}

void check_type(const object& place, std::string_view component, std::string_view expected) {
  const std::string_view type = word_of(place, "type", component);
  if (type != expected) unlike_bert(text("its ", component, " is ", type, ", not ", expected));
}

TokenizerOptions read_normalizer(const object& root) {
  const object place = object_of(root, "normalizer", "a normalizer");
  check_type(place, "normalizer", "BertNormalizer");
  check_keys(place, {"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"},
             "normalizer");
  TokenizerOptions options;
  options.lowercase = flag_of(place, "lowercase", true, "normalizer");
  options.strip_accents = flag_of(place, "strip_accents", options.lowercase, "normalizer");
  options.clean_text = flag_of(place, "clean_text", true, "normalizer");
  options.separate_cjk = flag_of(place, "handle_chinese_chars", true, "normalizer");
  return options;
}

void set_token(Vocabulary& vocabulary, std::string_view token, int64_t id) {
  if (id < 0 || id >= most_tokens) unlike_bert(text("token \"", token, "\" has the number ", id));
  if (token.empty()) return;
  const auto place = static_cast<std::size_t>(id);
  if (place >= vocabulary.tokens.size()) vocabulary.tokens.resize(place + 1);
  std::string& held = vocabulary.tokens[place];
  if (!held.empty() && held != token)
    unlike_bert(text("tokens \"", held, "\" and \"", token, "\" have the number ", id));
  held = token;
}

void read_model(const object& root, Vocabulary& vocabulary) {
  const object model = object_of(root, "model", "a model");
  element type;
  if (find(model, "type", type)) check_type(model, "model", "WordPiece");  // old files do not say it
  check_keys(model, {"type", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"},
             "model");
  vocabulary.options.prefix = word_of(model, "continuing_subword_prefix", "model");
  vocabulary.options.unknown = word_of(model, "unk_token", "model");
  if (element longest; find(model, "max_input_chars_per_word", longest)) {
    uint64_t characters = 0;
    if (longest.get(characters) != simdjson::SUCCESS || characters > 1'000'000)
      unlike_bert("model.max_input_chars_per_word is no length of a word");
    vocabulary.options.longest_word = characters;
  }
  std::unordered_map<std::string_view, int64_t> ids;
  for (const auto& field : object_of(model, "vocab", "model.vocab")) {
    int64_t id = -1;
    if (field.value.get(id) != simdjson::SUCCESS)
      unlike_bert(text("token \"", field.key, "\" has no number"));
    if (!ids.emplace(field.key, id).second) unlike_bert(text("token \"", field.key, "\" stands in it twice"));
    set_token(vocabulary, field.key, id);
  }
}

void read_added(const object& root, Vocabulary& vocabulary) {
  array added;
  if (element value; !find(root, "added_tokens", value) || value.get(added) != simdjson::SUCCESS) return;
  for (const element entry : added) {
    object token;
    if (entry.get(token) != simdjson::SUCCESS) lacks("tokens in added_tokens");
    const std::string_view content = word_of(token, "content", "added_tokens");
    for (const char* const flag : {"single_word", "lstrip", "rstrip", "normalized"}) {
      if (flag_of(token, flag, false, "added_tokens"))
        unlike_bert(text("its added token ", content, " is ", flag, ", which is not known"));
    }
    element number;
    int64_t id = -1;
    if (!find(token, "id", number) || number.get(id) != simdjson::SUCCESS) lacks("added_tokens.id");
    if (content.empty()) unlike_bert("an added token is empty");
    set_token(vocabulary, content, id);
    vocabulary.special.push_back({std::string(content), static_cast<int32_t>(id)});
  }
}

int32_t number_of(const Vocabulary& vocabulary, std::string_view token) {
  const auto found = std::find(vocabulary.tokens.begin(), vocabulary.tokens.end(), token);
  return found == vocabulary.tokens.end() ? -1 : static_cast<int32_t>(found - vocabulary.tokens.begin());
}

std::string_view second_word(const object& place, std::string_view key) {
  element value;
  array pair;
  std::string_view word;
  if (!find(place, key, value) || value.get(pair) != simdjson::SUCCESS || pair.size() != 2 ||
      pair.at(0).get(word) != simdjson::SUCCESS) {
    lacks(text("post_processor.", key));
  }
  return word;
}

// The tokens before and behind a text: a template of three parts, the middle one the text.
void read_template(const object& place, std::string_view& begin, std::string_view& end) {
  element value;
  array parts;
  if (!find(place, "single", value) || value.get(parts) != simdjson::SUCCESS || parts.size() != 3)
    unlike_bert("post_processor.single is not [CLS] text [SEP]");
  const auto special = [&](std::size_t i) {
    element part;
    object outer;
    if (parts.at(i).get(part) != simdjson::SUCCESS || part.get(outer) != simdjson::SUCCESS)
      lacks("post_processor.single");
    return word_of(object_of(outer, "SpecialToken", "post_processor.single.SpecialToken"), "id",
                   "post_processor.single");
  };
  object middle;
  element sequence;
  if (parts.at(1).get(middle) != simdjson::SUCCESS || !find(middle, "Sequence", sequence))
    unlike_bert("post_processor.single is not [CLS] text [SEP]");
  begin = special(0);
  end = special(2);
}

void read_post_processor(const object& root, Vocabulary& vocabulary) {
  const object place = object_of(root, "post_processor", "a post_processor");
  const std::string_view type = word_of(place, "type", "post_processor");
  std::string_view begin, end;
  if (type == "TemplateProcessing") {
    read_template(place, begin, end);
  } else if (type == "BertProcessing") {
    begin = second_word(place, "cls");
    end = second_word(place, "sep");
  } else {
    unlike_bert(text("its post_processor is ", type, ", not TemplateProcessing or BertProcessing"));
  }
  vocabulary.begin = number_of(vocabulary, begin);
  vocabulary.end = number_of(vocabulary, end);
  if (vocabulary.begin < 0) unlike_bert(text("the vocabulary has no ", begin));
  if (vocabulary.end < 0) unlike_bert(text("the vocabulary has no ", end));
}

}  // namespace

Vocabulary parse_tokenizer_json(std::string_view source) {
  simdjson::dom::parser parser;
  object root;
  element whole;
  const auto error = parser.parse(source.data(), source.size()).get(whole);
  if (error != simdjson::SUCCESS || whole.get(root) != simdjson::SUCCESS) {
    fail(Exit::data, text("the tokenizer file is no JSON object: ", simdjson::error_message(error)),
         "fetch the file again");
  }
  check_keys(root,
             {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
              "post_processor", "decoder", "model"},
             "tokenizer");
  Vocabulary vocabulary;
  vocabulary.options = read_normalizer(root);
  const object words = object_of(root, "pre_tokenizer", "a pre_tokenizer");
  check_type(words, "pre_tokenizer", "BertPreTokenizer");
  check_keys(words, {"type"}, "pre_tokenizer");
  if (element decoder; find(root, "decoder", decoder))
    check_type(object_of(root, "decoder", "a decoder"), "decoder", "WordPiece");
  read_model(root, vocabulary);
  read_added(root, vocabulary);
  read_post_processor(root, vocabulary);
  vocabulary.unknown = number_of(vocabulary, vocabulary.options.unknown);
  vocabulary.padding = number_of(vocabulary, "[PAD]");
  if (vocabulary.unknown < 0) unlike_bert(text("the vocabulary has no ", vocabulary.options.unknown));
  if (vocabulary.padding < 0) unlike_bert("the vocabulary has no [PAD]");
  return vocabulary;
}

}  // namespace larmor
