// The file of the font whose letters stand in pictures, as a part of the program.
#pragma once

#include <span>

namespace larmor::drawing {

/// DejaVu Sans, a TrueType font. The copyright and the licence stand within the file.
std::span<const unsigned char> font_file();

}  // namespace larmor::drawing
