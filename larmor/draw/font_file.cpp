#include "larmor/draw/font_file.h"

// The assembler copies the file into the read-only data of this object.
asm(".pushsection .rodata\n"
    ".balign 16\n"
    "larmor_font_begin:\n"
    ".incbin \"" LARMOR_FONT
    "\"\n"
    "larmor_font_end:\n"
    ".popsection\n");

namespace larmor::drawing {

extern "C" {
extern const unsigned char larmor_font_begin[];
extern const unsigned char larmor_font_end[];
}

std::span<const unsigned char> font_file() { return {larmor_font_begin, larmor_font_end}; }

}  // namespace larmor::drawing
