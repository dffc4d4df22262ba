#include "larmor/config/foreign/deepspeed_answers.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "larmor/base/text.h"
#include "larmor/config/foreign/deepspeed_keys.h"
#include "larmor/config/tree.h"

namespace larmor::deepspeed {
namespace {

Node plain(std::string value, int line) {
  return {.kind = Node::Kind::plain, .text = std::move(value), .items = {}, .entries = {}, .line = line};
}

}  // namespace

bool is_left_open(const Node& value) {
  const bool is_word = value.kind == Node::Kind::plain || value.kind == Node::Kind::quoted;
  return value.kind == Node::Kind::nothing || (is_word && value.text == "auto");
}

std::optional<bool> flag_in(const Node& value) {
  if (value.kind != Node::Kind::plain || (value.text != "true" && value.text != "false")) return std::nullopt;
  return value.text == "true";
}

std::optional<double> number_in(const Node& value) {
  if (value.kind != Node::Kind::plain) return std::nullopt;
  double number = 0;
  const char* const end = value.text.data() + value.text.size();
  const auto [stop, problem] = std::from_chars(value.text.data(), end, number);
  if (problem != std::errc() || stop != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

bool is_off(const Node& value) {
  if (is_left_open(value) || value.text == "none") return true;
  const auto flag = flag_in(value);
  const auto number = number_in(value);
  if (value.kind == Node::Kind::mapping) {
    return std::all_of(value.entries.begin(), value.entries.end(),
                       [](const Entry& entry) { return is_off(entry.value); });
  }
  return (flag && !*flag) || (number && *number == 0);
}

const Entry* find_below(const Node& root, std::string_view section, std::string_view key) {
  const Entry* const entry = find_entry(root, section);
  return entry == nullptr || entry->value.kind != Node::Kind::mapping ? nullptr
                                                                      : find_entry(entry->value, key);
}

const Entry* find_parameter(const Node& root, std::string_view section, std::string_view key) {
  const Entry* const parameters = find_below(root, section, "params");
  return parameters == nullptr || parameters->value.kind != Node::Kind::mapping
             ? nullptr
             : find_entry(parameters->value, key);
}

Answers::Answers(Problems& problems) : problems_(problems) { result_.tree = empty_mapping(); }

Translation Answers::take() {
  std::ranges::stable_sort(notes_, {}, &Note::line);
  for (auto& note : notes_) {
    if (!note.has_key) result_.without_key.push_back(note.words);
    result_.notes.push_back(std::move(note.words));
  }
  return std::move(result_);
}

void Answers::pass(const std::string& key, const std::string& our_key, const Entry& entry) {
  if (is_left_open(entry.value)) return open(key, our_key, entry);
  const bool is_word = entry.value.kind == Node::Kind::plain || entry.value.kind == Node::Kind::quoted;
  tell(entry, text(key, ": ", our_key, is_word ? "=" : "", is_word ? entry.value.text : ""));
  come_from(our_key, key);
  put_value(result_.tree, split(our_key, '.'), entry.place, entry.value, problems_);
}

void Answers::give(const std::string& key, const char* our_key, const char* value, const Entry& entry) {
  const bool is_word = entry.value.kind == Node::Kind::plain || entry.value.kind == Node::Kind::quoted;
  tell(entry, text(key, is_word ? text(' ', entry.value.text) : "", ": ", our_key, '=', value));
  put(our_key, value, entry);
  come_from(our_key, key);
}

void Answers::come_from(const std::string& our_key, const std::string& key) {
  result_.came_from[our_key] = key;
}

void Answers::say(const std::string& key, const std::string& flag, const Entry& entry) {
  tell(entry, text(key, " is said on the command line: ", flag));
  result_.flags.push_back(flag);
}

void Answers::put(const char* our_key, const std::string& value, const Entry& entry) {
  result_.came_from.try_emplace(our_key, entry.key);
  put(split(our_key, '.'), plain(value, entry.value.line), entry);
}

void Answers::put(std::span<const std::string> our_key, Node value, const Entry& entry) {
  put_value(result_.tree, our_key, entry.place, std::move(value), problems_);
}

void Answers::open(const std::string& key, const std::string& our_key, const Entry& entry) {
  note(entry, text(key, " is ", entry.value.kind == Node::Kind::nothing ? "empty" : "auto", ": ", our_key,
                   " stays as it is"));
}

void Answers::unused(const std::string& key, const Entry& entry) {
  if (const UnusedKey* const found = find_unused_key(key)) {
    const bool is_missed = found->is_missed && !is_off(entry.value);
    return note(entry, text(key, is_missed ? " is not supported: " : " has no meaning here: ", found->why));
  }
  const auto known = deepspeed_keys();
  if (std::find(known.begin(), known.end(), key) != known.end())
    return note(entry, text(key, " has no meaning here: it goes with another type than this one"));
  const std::string near = nearest(key, known);
  note(entry, text(key, " has no meaning here: DeepSpeed has no such key that is known here",
                   near.empty() ? "" : text("; did you mean ", near, "?")));
}

void Answers::fault(const std::string& key, const Entry& entry, std::string what) {
  const bool says_value = what.starts_with("has to be");
  problems_.push_back({key, place_text(entry.place),
                       says_value ? text(what, "; got ", shown(entry.value)) : std::move(what)});
}

void Answers::note(const Entry& entry, const std::string& what) {
  notes_.push_back({entry.place.line, text(place_text(entry.place), ": ", what), /*has_key=*/false});
}

void Answers::tell(const Entry& entry, const std::string& what) {
  notes_.push_back({entry.place.line, text(place_text(entry.place), ": ", what), /*has_key=*/true});
}

}  // namespace larmor::deepspeed
