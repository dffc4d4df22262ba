// Text from files, names and the network, as a terminal may show it; docs/decisions/0025 says where it is
// made so.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace larmor {

/// The text without a character that moves a cursor, breaks a line or turns the direction of writing, and
/// without bytes that are no UTF-8. Line break, return and tab become \n, \r, \t; the other control
/// characters (C0, DEL, C1), the marks of direction and the separators of lines and paragraphs \u001b; other
/// bytes \xff. All else stays as it is: what is printable once is printable unchanged, and a line of JSON
/// means what it meant.
std::string printable(std::string_view foreign);

/// The longest line of a message, in bytes; a result on stdout may be longer.
constexpr size_t longest_line = 4000;
/// The most lines of a list in a message.
constexpr size_t most_items = 1000;

/// printable(), and of more than `most` bytes the beginning, how many are left out, and the end. What item()
/// has begun stands on lines of its own, indented.
std::string bounded(std::string_view foreign, size_t most = longest_line);

/// One more line below a message: text("two files are damaged:", item(first), item(second)). The lines become
/// lines in bounded(), and so in an Error and in the log: by a mark that nothing foreign holds, because this
/// process has drawn it.
std::string item(std::string_view foreign);
/// A whole list so; of more than `most` items how many are left out.
std::string items(std::span<const std::string> all, size_t most = most_items);
/// What bounded() gave, as its items were: to be put behind other words.
std::string with_items_again(std::string_view shown);

/// What is shown in several lines. Breaks come from here alone, so that no name can begin a line of its own.
class Lines {
 public:
  Lines() = default;
  explicit Lines(std::string_view line) { add(line); }

  /// One line: a break within it is shown as \n.
  Lines& add(std::string_view line);
  Lines& add(const Lines& others);
  /// Text whose breaks are larmor's own: a table, a script, JSON. One at its end adds no empty line. Lines of
  /// others, such as the end of a log, stand behind `before`, so that none of them looks like one of
  /// larmor's.
  Lines& add_text(std::string_view text, std::string_view before = {});

  bool empty() const { return shown_.empty(); }
  /// Each line with a break behind it.
  const std::string& shown() const { return shown_; }

 private:
  std::string shown_;
};

}  // namespace larmor
