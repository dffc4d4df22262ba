#include "larmor/config/source.h"

#include <sstream>
#include <unordered_map>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "larmor/base/text.h"

namespace larmor {
namespace {

constexpr size_t depth_limit = 64;

// Ends the reading of a source; what it says has a line, and no key.
struct Refusal {
  int line = 0;
  std::string what;
};

int line_of(const YAML::Mark& mark) { return mark.is_null() ? 0 : mark.line + 1; }

// Builds the tree from the parser's events: there repeated keys, anchors and tags can still be seen, and a
// small text cannot grow into a large tree.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(const Source& source, Problems& problems) : source_(source), problems_(problems) {}

  Node take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1)
      throw Refusal{line_of(mark), "a second document begins here, and one is all there can be"};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    check(mark, "?", anchor);
    if (expects_key()) refuse_key(mark);
    add({.kind = Node::Kind::nothing, .text = {}, .items = {}, .entries = {}, .line = line_of(mark)});
    drop_repeated();
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    throw Refusal{
        line_of(mark),
        "aliases are not supported: write the value out, and put a text that begins with * in quotes"};
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check(mark, tag, anchor);
    if (expects_key()) {
      open_entry(mark, value);
      return;
    }
    const auto kind = tag == "!" ? Node::Kind::quoted : Node::Kind::plain;
    add({.kind = kind, .text = value, .items = {}, .entries = {}, .line = line_of(mark)});
    drop_repeated();
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(mark, tag, anchor, Node::Kind::list);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(mark, tag, anchor, Node::Kind::mapping);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Level {
    Node* node;
    std::string key;                             // dotted, of the node itself
    std::unordered_map<std::string, int> lines;  // of the keys so far
    bool has_open_entry = false;
    bool discards = false;  // the value of a repeated key
  };

  bool expects_key() const {
    return !levels_.empty() && levels_.back().node->kind == Node::Kind::mapping &&
           !levels_.back().has_open_entry;
  }

  static void check(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor)
      throw Refusal{line_of(mark), "anchors (&name) are not supported: write the value out"};
    // "!" is how the parser says that a text was in quotes, "?" that it was not.
    if (!tag.empty() && tag != "?" && tag != "!")
      throw Refusal{line_of(mark), text("tags (", tag, ") are not supported")};
  }

  [[noreturn]] static void refuse_key(const YAML::Mark& mark) {
    throw Refusal{line_of(mark), "a key has to be a word"};
  }

  std::string key_below(const Level& level, std::string_view word) const {
    return level.key.empty() ? std::string(word) : text(level.key, '.', word);
  }

  void open_entry(const YAML::Mark& mark, const std::string& word) {
    Level& level = levels_.back();
    const SourcePlace place{&source_, line_of(mark)};
    const auto [earlier, is_new] = level.lines.emplace(word, place.line);
    if (!is_new) {
      const std::string where =
          earlier->second == place.line ? "" : text("; first on line ", earlier->second);
      problems_.push_back({key_below(level, word), place_text(place), text("is given twice", where)});
    }
    level.discards = !is_new;
    level.has_open_entry = true;
    level.node->entries.push_back({.key = word, .place = place, .value = {}});
  }

  // Containers are filled in place: none of them moves while a level points at it.
  Node* add(Node node) {
    if (levels_.empty()) {
      root_ = std::move(node);
      return &root_;
    }
    Level& level = levels_.back();
    if (level.node->kind == Node::Kind::list) return &level.node->items.emplace_back(std::move(node));
    level.has_open_entry = false;
    Node& value = level.node->entries.back().value;
    value = std::move(node);
    return &value;
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Node::Kind kind) {
    check(mark, tag, anchor);
    if (expects_key()) refuse_key(mark);
    if (levels_.size() == depth_limit)
      throw Refusal{line_of(mark), text("nested more than ", depth_limit, " levels deep")};
    std::string key;
    if (!levels_.empty()) {
      const Level& level = levels_.back();
      key = level.node->kind == Node::Kind::list ? text(level.key, '[', level.node->items.size(), ']')
                                                 : key_below(level, level.node->entries.back().key);
    }
    Node* node = add({.kind = kind, .text = {}, .items = {}, .entries = {}, .line = line_of(mark)});
    levels_.push_back({.node = node, .key = std::move(key), .lines = {}});
  }

  void close() {
    levels_.pop_back();
    drop_repeated();
  }

  // The first of two equal keys stays: the second is a problem already.
  void drop_repeated() {
    if (levels_.empty() || !levels_.back().discards) return;
    levels_.back().discards = false;
    levels_.back().node->entries.pop_back();
  }

  const Source& source_;
  Problems& problems_;
  Node root_;
  std::vector<Level> levels_;
  int documents_ = 0;
};

// Length of the UTF-8 sequence at `at`, or 0 when there is none.
size_t sequence_length(std::string_view content, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(content[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 && first <= 0xF4 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + length > content.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  }
  // Longer than needed, a surrogate, or past the last code point.
  const unsigned char second = byte(at + 1);
  const bool is_bad = (first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0) ||
                      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90);
  return is_bad ? 0 : length;
}

// The parser guesses encodings, and takes one control character for the end of the file.
void check_letters(std::string_view content) {
  int line = 1;
  for (size_t at = 0; at < content.size();) {
    const size_t length = sequence_length(content, at);
    if (length == 0) throw Refusal{line, "this is not UTF-8 text"};
    const auto letter = static_cast<unsigned char>(content[at]);
    const bool is_control = (letter < 0x20 && letter != '\n' && letter != '\r' && letter != '\t');
    if (is_control)
      throw Refusal{line, text("there is a control character here (", static_cast<int>(letter), ")")};
    if (letter == '\n') ++line;
    at += length;
  }
}

std::string syntax_message(const YAML::Exception& error) {
  if (error.msg.find("anchor") != std::string::npos || error.msg.find("alias") != std::string::npos) {
    return "a text that begins with * or & needs quotes";
  }
  return error.msg;
}

Node parse_yaml(const std::string& content, const Source& source, Problems& problems) {
  check_letters(content);
  std::istringstream stream(content);
  TreeBuilder builder(source, problems);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    throw Refusal{line_of(error.mark), text("this is not YAML: ", syntax_message(error))};
  }
  return builder.take();
}

// A text of words and signs alone is the value itself; if less came back, a comment or a second value hid
// in it, and silence would cut a path short.
bool is_cut_short(const Node& node, std::string_view value) {
  const std::string_view written = trim(value);
  if (node.kind == Node::Kind::nothing) return written != "~" && lower(written) != "null";
  return node.kind == Node::Kind::plain && node.text != written;
}

}  // namespace

std::string place_text(const SourcePlace& place) {
  return place.source->is_file && place.line > 0 ? text(place.source->name, ':', place.line)
                                                 : place.source->name;
}

std::string origin_text(const SourcePlace& place) {
  const auto saved = place.source->saved_origins.find(place.line);
  if (saved != place.source->saved_origins.end()) return saved->second;
  return place.source->is_file ? text(place.source->short_name, ':', place.line) : place.source->short_name;
}

const Entry* find_entry(const Node& mapping, std::string_view key) {
  for (const Entry& entry : mapping.entries) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

std::string shown(const Node& node) {
  constexpr size_t most_letters = 60;
  const bool is_long = node.text.size() > most_letters;
  // Cut between letters, not inside one.
  size_t end = is_long ? most_letters : node.text.size();
  while (is_long && end > 0 && (static_cast<unsigned char>(node.text[end]) & 0xC0) == 0x80) --end;
  const std::string letters = text(node.text.substr(0, end), is_long ? "…" : "");
  switch (node.kind) {
    case Node::Kind::nothing:
      return "nothing";
    case Node::Kind::plain:
      return letters;
    case Node::Kind::quoted:
      return text('"', letters, '"');
    case Node::Kind::list:
      return "a list";
    case Node::Kind::mapping:
      return "a mapping";
  }
  return {};
}

Node parse_config(std::string_view content, const Source& source, Problems& problems) {
  try {
    Node root = parse_yaml(looks_like_json(content) ? without_comments(content) : std::string(content),
                           source, problems);
    if (root.kind == Node::Kind::mapping || root.kind == Node::Kind::nothing) return root;
    problems.push_back({"", place_text({&source, root.line}),
                        text("sections with keys were expected, and this is ", shown(root))});
  } catch (const Refusal& refusal) {
    problems.push_back({"", place_text({&source, refusal.line}), refusal.what});
  }
  return {};
}

std::optional<Node> parse_value(std::string_view value, std::string_view key, const Source& source,
                                Problems& problems) {
  // Nothing after the sign is the empty text: that is how a value of a file is cleared.
  if (trim(value).empty()) return Node{.kind = Node::Kind::quoted, .text = {}, .items = {}, .entries = {}};
  try {
    Node node = parse_yaml(std::string(value), source, problems);
    if (!is_cut_short(node, value)) return node;
    const std::string hint = text("'", key, "=\"", trim(value), "\"'");
    problems.push_back(
        {std::string(key), place_text({&source, 0}), text("has a value that needs quotes, as in ", hint)});
  } catch (const Refusal& refusal) {
    problems.push_back({std::string(key), place_text({&source, 0}),
                        text("has a value that cannot be read: ", refusal.what)});
  }
  return std::nullopt;
}

}  // namespace larmor
