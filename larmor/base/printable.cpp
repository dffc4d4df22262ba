#include "larmor/base/printable.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>

#include "larmor/base/text.h"

namespace larmor {
namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

/// The first character of a text. `length` is 0 where its bytes are no UTF-8.
struct Character {
  uint32_t code = 0;
  size_t length = 0;
};

Character character_at_front(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {};
  uint32_t code = lead & (0x7fU >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::array<uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < least[length] || code > 0x10ffff || is_surrogate) return {};
  return {code, length};
}

/// Whether a terminal does something else with it than show it.
bool is_hidden(uint32_t code) {
  const auto within = [code](uint32_t first, uint32_t last) { return code >= first && code <= last; };
  return code < 0x20 || within(0x7f, 0x9f) || code == 0x61c || within(0x200e, 0x200f) ||
         within(0x2028, 0x202e) || within(0x2066, 0x2069) || code == 0xfeff;
}

void append_escape(std::string& out, uint32_t code) {
  if (code == '\n') {
    out += "\\n";
  } else if (code == '\r') {
    out += "\\r";
  } else if (code == '\t') {
    out += "\\t";
  } else {
    out += "\\u";
    for (const int shift : {12, 8, 4, 0}) out += hex_digits[code >> shift & 0xfU];
  }
}

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80; }

/// Between the lines of a message that has several.
constexpr std::string_view item_break = "\n  ";

/// No file, name or peer can know it.
const std::string& item_mark() {
  static const std::string mark = [] {
    std::random_device chance;
    return text("\n\x1e", chance(), '-', chance(), '\x1e');
  }();
  return mark;
}

std::string bounded_line(std::string_view foreign, size_t most) {
  std::string shown = printable(foreign);
  if (shown.size() <= most) return shown;
  // The end names the cause more often than the middle does.
  size_t head = most / 4 * 3, tail = shown.size() - most / 4;
  while (head > 0 && continues_character(shown[head])) --head;
  while (tail < shown.size() && continues_character(shown[tail])) ++tail;
  return text(std::string_view(shown).substr(0, head), " … (", tail - head, " bytes left out) … ",
              std::string_view(shown).substr(tail));
}

}  // namespace

std::string printable(std::string_view foreign) {
  std::string out;
  out.reserve(foreign.size());
  while (!foreign.empty()) {
    const auto [code, length] = character_at_front(foreign);
    if (length == 0) {
      const auto byte = static_cast<unsigned char>(foreign.front());
      out += "\\x";
      out += hex_digits[byte >> 4U];
      out += hex_digits[byte & 0xfU];
      foreign.remove_prefix(1);
      continue;
    }
    if (is_hidden(code))
      append_escape(out, code);
    else
      out.append(foreign.substr(0, length));
    foreign.remove_prefix(length);
  }
  return out;
}

std::string bounded(std::string_view foreign, size_t most) {
  std::string shown;
  size_t lines = 0;
  for (size_t end = foreign.find(item_mark()); end != std::string_view::npos;
       end = foreign.find(item_mark())) {
    shown += bounded_line(foreign.substr(0, end), most);
    shown += item_break;
    foreign.remove_prefix(end + item_mark().size());
    if (++lines > most_items) return shown + "…";
  }
  return shown + bounded_line(foreign, most);
}

std::string item(std::string_view foreign) { return text(item_mark(), foreign); }

std::string items(std::span<const std::string> all, size_t most) {
  std::string lines;
  for (const std::string& one : all.first(std::min(most, all.size()))) lines += item(one);
  if (all.size() > most) lines += item(text("and ", all.size() - most, " more"));
  return lines;
}

std::string with_items_again(std::string_view shown) {
  std::string marked;
  for (size_t end = shown.find(item_break); end != std::string_view::npos; end = shown.find(item_break)) {
    marked += shown.substr(0, end);
    marked += item_mark();
    shown.remove_prefix(end + item_break.size());
  }
  return marked += shown;
}

Lines& Lines::add(std::string_view line) {
  shown_ += printable(line);
  shown_ += '\n';
  return *this;
}
Lines& Lines::add(const Lines& others) {
  shown_ += others.shown_;
  return *this;
}

Lines& Lines::add_text(std::string_view text, std::string_view before) {
  if (text.empty()) return *this;
  if (text.ends_with('\n')) text.remove_suffix(1);
  for (const std::string& line : split(text, '\n')) add(larmor::text(before, line));
  return *this;
}

}  // namespace larmor
