#include "larmor/draw/typeface.h"

#include <cairo-ft.h>
#include <cairo.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/draw/font_file.h"

namespace larmor::drawing {
namespace {

/// A face and the library that it needs, released in the order that FreeType asks for.
struct OpenFont {
  FT_Library library = nullptr;
  FT_Face face = nullptr;

  OpenFont() = default;
  OpenFont(const OpenFont&) = delete;
  OpenFont& operator=(const OpenFont&) = delete;
  ~OpenFont() {
    if (face != nullptr) FT_Done_Face(face);
    if (library != nullptr) FT_Done_FreeType(library);
  }
};

void check(FT_Error error, const char* step) {
  if (error == 0) return;
  fail(error == FT_Err_Out_Of_Memory ? Exit::memory : Exit::unexpected,
       text("the font of pictures, ", step, ": FreeType's error ", error));
}

}  // namespace

void TypefaceRelease::operator()(cairo_font_face_t* face) const { cairo_font_face_destroy(face); }

Typeface make_typeface() {
  static const cairo_user_data_key_t owner{};
  auto font = std::make_unique<OpenFont>();
  check(FT_Init_FreeType(&font->library), "library");
  const auto bytes = font_file();
  check(FT_New_Memory_Face(font->library, bytes.data(), static_cast<FT_Long>(bytes.size()), 0, &font->face),
        "file");
  Typeface typeface(cairo_ft_font_face_create_for_ft_face(font->face, FT_LOAD_NO_HINTING));
  require(cairo_font_face_status(typeface.get()) == CAIRO_STATUS_SUCCESS, Exit::memory,
          "no memory for the font of pictures");
  const auto release = [](void* held) { delete static_cast<OpenFont*>(held); };
  require(cairo_font_face_set_user_data(typeface.get(), &owner, font.get(), release) == CAIRO_STATUS_SUCCESS,
          Exit::memory, "no memory for the font of pictures");
  static_cast<void>(font.release());  // released with the face, which Cairo may keep for longer
  return typeface;
}

}  // namespace larmor::drawing
