// The letters of pictures, from the font in the program: no font of the machine is looked for.
#pragma once

#include <memory>

using cairo_font_face_t = struct _cairo_font_face;

namespace larmor::drawing {

struct TypefaceRelease {
  void operator()(cairo_font_face_t* face) const;
};

using Typeface = std::unique_ptr<cairo_font_face_t, TypefaceRelease>;

/// Cairo keeps what it needs of the font for as long as it needs it. Throws Error (unexpected, memory).
Typeface make_typeface();

}  // namespace larmor::drawing
