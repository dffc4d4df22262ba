#include "larmor/formats/text_header/header_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {

constexpr std::string_view blanks = " \t";

std::string_view without_plus(std::string_view word) {
  return word.starts_with('+') && !word.starts_with("+-") ? word.substr(1) : word;
}

bool read_whole(std::string_view word, int64_t& number) {
  word = without_plus(word);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size();
}

std::string so_many(std::size_t count, const char* what) {
  return count == 0 ? text("numbers", what) : text(count, count == 1 ? " number" : " numbers", what);
}

}  // namespace

bool read_number(std::string_view word, double& number) {
  word = without_plus(word);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size();
}

const HeaderValue& HeaderValue::checked() const {
  const auto is_odd = [](char letter) { return static_cast<unsigned char>(letter) < ' ' && letter != '\t'; };
  if (std::ranges::any_of(field, is_odd))
    fail(Exit::data, "cannot be understood: its header has an unprintable letter");
  if (std::ranges::any_of(value, is_odd)) fault("has an unprintable letter");
  return *this;
}

void HeaderValue::fault(std::string_view sentence) const {
  fail(Exit::data, text("cannot be understood: in its header, ", field, ' ', sentence));
}

std::vector<std::string_view> HeaderValue::words() const {
  std::vector<std::string_view> words;
  for (std::size_t begin = value.find_first_not_of(blanks); begin < value.size();) {
    const std::size_t end = std::min(value.find_first_of(blanks, begin), value.size());
    words.push_back(value.substr(begin, end - begin));
    begin = value.find_first_not_of(blanks, end);
  }
  return words;
}

std::vector<double> HeaderValue::numbers(std::size_t count) const {
  std::vector<double> all;
  for (const std::string_view word : words()) {
    double number = 0;
    if (!read_number(word, number)) fault("has a word that is no number");
    all.push_back(number);
  }
  if (all.empty() || (count > 0 && all.size() != count)) fault("has to be " + so_many(count, ""));
  return all;
}

std::vector<int64_t> HeaderValue::whole_numbers(std::size_t count) const {
  std::vector<int64_t> all;
  for (const std::string_view word : words()) {
    int64_t number = 0;
    if (!read_whole(word, number)) fault("has a word that is no whole number");
    all.push_back(number);
  }
  if (all.empty() || (count > 0 && all.size() != count)) fault("has to be " + so_many(count, " (whole)"));
  return all;
}

std::string name_beside(const HeaderValue& value) {
  const auto words = value.words();
  if (words.empty()) value.fault("names no file");
  const bool is_list = lower(words.front()) == "list";
  if (is_list || (words.size() > 1 && value.value.find('%') != std::string_view::npos))
    fail(Exit::data, text("has its voxels in several files (", value.field, "), which is not read"),
         "write one file of it: with SimpleITK WriteImage(ReadImage(IN), \"OUT.nrrd\")");
  std::string_view name = trim(value.value);
  if (name.starts_with("./")) name.remove_prefix(2);
  const bool is_plain = name != "." && name != ".." && !name.empty() &&
                        name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
  if (!is_plain)
    fail(
        Exit::data,
        text("has its voxels (", value.field, ") in a file that is named by a path, not by a name beside it"),
        text("put the file beside the header, and its plain name behind ", value.field));
  return std::string(name);
}

void set_place(TextHeader& header, const std::vector<std::array<double, 3>>& steps,
               const std::array<double, 3>& first, const std::array<double, 3>& signs) {
  Affine affine = identity_affine();
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t axis = 0; axis < steps.size(); ++axis) affine[row][axis] = signs[row] * steps[axis][row];
    affine[row][3] = signs[row] * first[row];
  }
  if (!is_finite(affine)) fail(Exit::data, "has a place with numbers that are not finite in its header");
  if (!inverse(affine))
    fail(Exit::data, "has no place: by its header, voxels have no thickness along some direction");
  header.affine = affine;
  header.spacing_mm = spacing_of(affine);
}

void set_shape(TextHeader& header, std::vector<int64_t> space, int64_t channels) {
  header.shape = std::move(space);
  if (channels == 1) {
    header.channel_is_first = false;
    return;
  }
  header.shape.resize(3, 1);
  header.shape.insert(header.channel_is_first ? header.shape.begin() : header.shape.end(), channels);
}

std::optional<std::string_view> next_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view line = rest.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  rest.remove_prefix(end + 1);
  return line;
}

}  // namespace larmor
