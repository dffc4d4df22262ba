// The values of a header in text: words and numbers, taken as a whole or not at all.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/formats/text_header/text_header.h"

namespace larmor {

/// A field of the header, and what stands behind it. Borrows the file's text.
struct HeaderValue {
  std::string_view field, value;

  /// Throws Error (data) where a letter of it is none that is written in a line.
  const HeaderValue& checked() const;
  /// Throws Error (data), which names the field and never what stands there: "sizes has to be 3 numbers".
  [[noreturn]] void fault(std::string_view sentence) const;
  std::vector<std::string_view> words() const;
  /// Exactly so many; 0 for any number of them. Throws Error (data).
  std::vector<double> numbers(std::size_t count) const;
  std::vector<int64_t> whole_numbers(std::size_t count) const;
  int64_t whole_number() const { return whole_numbers(1).front(); }
};

/// As strtod takes it, to the end of the word; NaN and infinity are numbers. False where it is none.
bool read_number(std::string_view word, double& number);

/// A plain name of a file beside the header. Throws Error (data): a path, a list of names, a pattern.
std::string name_beside(const HeaderValue& value);

/// Sets affine and spacing from where the first voxel is and from the steps along the image's axes (two, then
/// the third is 1 mm thick, or three), both in a world whose axes are `signs` times those of RAS. Throws
/// Error (data) where the numbers are not finite, or the steps span no volume.
void set_place(TextHeader& header, const std::vector<std::array<double, 3>>& steps,
               const std::array<double, 3>& first, const std::array<double, 3>& signs);

/// The sizes of space with those of the channels put where StoredVolume wants them.
void set_shape(TextHeader& header, std::vector<int64_t> space, int64_t channels);

/// A line of a header without its end; moves `rest` behind it. Nothing where no line ends any more within
/// longest_text_header bytes.
std::optional<std::string_view> next_line(std::string_view& rest);

}  // namespace larmor
