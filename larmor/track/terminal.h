// A person's screen, or the file or pipe in its place: lines, and on a screen one line that is rewritten.
#pragma once

#include <string_view>

namespace larmor {

enum class Tone { plain, good, warning, error };

/// Text that is not taken at once (a stopped terminal, a full pipe, a closed one) is dropped: writing never
/// waits and never raises SIGPIPE.
class Terminal {
 public:
  Terminal(int descriptor, bool color) : descriptor_(descriptor), color_(color) {}
  /// Leaves the standing line where it is.
  ~Terminal() { end_standing_line(); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// One line: what would break it, or move the cursor, is shown escaped.
  void line(std::string_view words, Tone tone = Tone::plain);
  /// Replaces the standing line. Requires: no more letters than width() - 1.
  void standing_line(std::string_view words);
  /// What comes next begins on a new line.
  void end_standing_line();
  /// The width, in letters; asked anew each time, because people resize windows.
  int width() const;

 private:
  void write(std::string_view bytes);

  int descriptor_;
  bool color_;
  bool stands_ = false;
};

}  // namespace larmor
