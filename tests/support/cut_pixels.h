// DICOM files whose compressed pixels end early, though nothing else of the file does.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace larmor::testing {

/// What is read of a file: its voxels as bytes; nothing when it is refused. Anything but an Error (data)
/// fails the test.
std::optional<std::string> voxels_of(const std::string& file);

/// One compressed file, and what its pieces of pixels can be cut to.
class CompressedFile {
 public:
  /// Requires: `file` is a DICOM file with encapsulated pixels.
  explicit CompressedFile(std::string file);

  const std::string& whole() const { return file_; }
  const std::string& transfer_syntax() const { return syntax_; }
  /// Bytes of the last piece.
  std::size_t last_piece() const { return pieces_.back().size(); }
  /// The last piece is its first `kept` bytes and `ending`, and the file fits together again.
  std::string with_last_piece(std::size_t kept, const std::string& ending) const;
  std::size_t pixels_begin() const { return head_.size(); }
  bool is_jpeg() const;

 private:
  std::string file_, syntax_, head_;  // head_: all before the first item
  std::vector<std::string> pieces_;
};

}  // namespace larmor::testing
