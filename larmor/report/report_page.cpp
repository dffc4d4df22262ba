#include "larmor/report/report_page.h"

#include <string_view>

#include "larmor/base/text.h"

// The assembler copies each file into the read-only data of this object.
#define LARMOR_PAGE_PART(name, file)                                                                 \
  asm(".pushsection .rodata\nlarmor_page_" #name "_begin:\n.incbin \"" file "\"\nlarmor_page_" #name \
      "_end:\n.popsection\n");                                                                       \
  extern "C" {                                                                                       \
  extern const char larmor_page_##name##_begin[];                                                    \
  extern const char larmor_page_##name##_end[];                                                      \
  }                                                                                                  \
  namespace {                                                                                        \
  std::string_view name() { return {larmor_page_##name##_begin, larmor_page_##name##_end}; }         \
  }

LARMOR_PAGE_PART(dygraphs_code, LARMOR_DYGRAPHS "/dygraph.min.js")
LARMOR_PAGE_PART(dygraphs_style, LARMOR_DYGRAPHS "/dygraph.min.css")
LARMOR_PAGE_PART(page_code, LARMOR_REPORT_PAGE "/report.js")
LARMOR_PAGE_PART(page_style, LARMOR_REPORT_PAGE "/report.css")

#undef LARMOR_PAGE_PART

namespace larmor {

namespace {

/// JSON that may stand in a script element: nothing in it ends the element or begins a comment.
std::string safe_in_script(const Json& value) {
  const auto plain = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(plain.size());
  for (const char letter : plain) {
    if (letter == '<')
      safe += "\\u003c";
    else
      safe += letter;
  }
  return safe;
}

}  // namespace

std::string report_page(const Json& runs) {
  return text(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src "
      "'unsafe-inline'; script-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>larmor report</title>\n<style>\n",
      dygraphs_style(), "\n", page_style(), "</style>\n</head>\n<body>\n<main id=\"report\"></main>\n",
      "<noscript>This page draws itself: it needs JavaScript, and no network.</noscript>\n",
      "<script id=\"runs\" type=\"application/json\">", safe_in_script(runs), "</script>\n<script>\n",
      dygraphs_code(), "\n</script>\n<script>\n", page_code(), "</script>\n</body>\n</html>\n");
}

}  // namespace larmor
