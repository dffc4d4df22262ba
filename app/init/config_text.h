// A config for a person to read and to change: the text of a shipped one, with the data that it is for.
#pragma once

#include <string>
#include <vector>

namespace larmor::app {

/// A value of a section, and why it is that.
struct Entry {
  std::string key;         // "kind"; "split.by" is one of the values in the braces of split
  std::string value, why;  // why: "" where it needs no word
};

class ConfigText {
 public:
  /// The text of a config in YAML; the comment that it begins with says what ships, and is left out.
  explicit ConfigText(const std::string& shipped);

  /// Puts the entry first into the section, in place of the one that it has of this key. The section is made
  /// where there is none.
  void put(const std::string& section, const Entry& entry);
  /// Takes entries out whose key begins so.
  void take_out(const std::string& section, const std::string& beginning);
  /// Replaces the text of everything that it says, where it is there.
  void replace(const std::string& words, const std::string& others);
  /// Comments to stand in front, a line each.
  void begin_with(const std::vector<std::string>& comments);
  std::string str() const;

 private:
  /// The line behind the name of the section; end() where there is none.
  std::vector<std::string>::iterator inside(const std::string& section);
  std::vector<std::string> lines_;
};

}  // namespace larmor::app
