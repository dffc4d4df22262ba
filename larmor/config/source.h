// A config text as a tree whose every value knows where it was written. Reading is strict: what YAML
// readers disagree about (tags, anchors, repeated keys) is refused here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace larmor {

/// One file, one environment variable, or the whole command line.
struct Source {
  std::string name;        // in messages: a file's path, "command line", "environment LARMOR_TRAIN__LENGTH"
  std::string short_name;  // in origins: the file's name alone, otherwise the same
  bool is_file = false;
  /// The origins that a saved config.yaml gives for its own lines; empty for a file that a person wrote.
  std::map<int, std::string> saved_origins = {};
};

/// Borrows the source. Lines count from 1; 0 where there are none.
struct SourcePlace {
  const Source* source = nullptr;
  int line = 0;
};
/// "folder/default.yaml:12", "command line".
std::string place_text(const SourcePlace& place);
/// What LoadedConfig shows: "default.yaml:12", or what a saved config.yaml says of the line.
std::string origin_text(const SourcePlace& place);

struct Entry;

struct Node {
  enum class Kind { nothing, plain, quoted, list, mapping };
  Kind kind = Kind::nothing;
  std::string text;            // plain, quoted
  std::vector<Node> items;     // list
  std::vector<Entry> entries;  // mapping, in the order of the text
  int line = 0;
};

struct Entry {
  std::string key;
  SourcePlace place;  // of the key: where a person looks for the value
  Node value;
};

const Entry* find_entry(const Node& mapping, std::string_view key);
/// How a message shows a value that is not what was expected: 1.5, "text", a list, a mapping, nothing.
std::string shown(const Node& node);

/// Something wrong with what was written, as a sentence: "place: key what".
struct Problem {
  std::string key;    // "train.length", or "" where there is none
  std::string place;  // "folder/default.yaml:12"
  std::string what;   // "is given twice"
};
using Problems = std::vector<Problem>;
/// More problems than so many are only counted.
inline constexpr size_t most_problems_shown = 50;

/// Larger config texts are refused.
inline constexpr uint64_t most_config_bytes = uint64_t{1} << 20;

/// YAML, or JSON with `//` and `/* */` comments, told apart by content. What cannot be used is added to
/// `problems`; after an error of syntax the tree is empty.
Node parse_config(std::string_view content, const Source& source, Problems& problems);
/// The value of a key=value or of an environment variable: one YAML flow text. `key` is for messages.
/// Nothing when it cannot be used.
std::optional<Node> parse_value(std::string_view value, std::string_view key, const Source& source,
                                Problems& problems);

/// Whether the text is JSON, which has comments that YAML would read as values.
bool looks_like_json(std::string_view content);
/// The same text, lines and columns kept, with comments outside strings replaced by blanks.
std::string without_comments(std::string_view json);

}  // namespace larmor
