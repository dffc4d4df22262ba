#include "larmor/data/index/dicom_filters.h"

#include <algorithm>
#include <regex>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

void check_classes(const std::vector<std::string>& classes) {
  const auto known = dicom_class_words();
  for (const std::string& word : classes) {
    if (std::ranges::find(known, word) != known.end()) continue;
    const std::string near = nearest(word, known);
    fail(Exit::usage, text("data.dicom.class has ", word, ", which is no class of DICOM objects"),
         near.empty() ? "the classes are " + join(known, ", ") : text("did you mean ", near, "?"));
  }
}

std::regex expression_of(const std::string& pattern) {
  try {
    return std::regex(pattern, std::regex::ECMAScript | std::regex::icase | std::regex::optimize);
  } catch (const std::regex_error& error) {
    fail(Exit::usage,
         text("data.dicom.description has ", pattern, ", which is no regular expression: ", error.what()),
         "for instance data.dicom.description='[t1.*mprage]'");
  }
}

std::string or_none(const std::string& word) { return word.empty() ? "none" : word; }

bool is_a_number(const std::string& word) {
  return !word.empty() && word.find_first_not_of("0123456789") == word.npos;
}

std::vector<std::string> number_tags(const std::vector<int64_t>& numbers) {
  std::vector<std::string> words;
  for (const int64_t number : numbers) words.push_back(text(number));
  return words;
}

/// "CT (12), MR (3)": the commonest first.
std::string listed(const std::map<std::string, int64_t>& found) {
  constexpr std::size_t most = 20;
  std::vector<std::pair<int64_t, std::string>> sorted;
  for (const auto& [name, count] : found) sorted.emplace_back(-count, name);
  std::ranges::sort(sorted);
  std::vector<std::string> words;
  for (const auto& [count, name] : sorted) {
    if (words.size() == most) {
      words.push_back(text("and ", sorted.size() - most, " more"));
      break;
    }
    words.push_back(text(name, " (", -count, ')'));
  }
  return join(words, ", ");
}

}  // namespace

DicomFilters::DicomFilters(const DicomSection& wanted) : wanted_(wanted) {
  check_classes(wanted_.classes);
  add({.key = "class",
       .values = wanted_.classes,
       .fits = [this](const DicomSeries& one,
                      std::size_t i) { return wanted_.classes[i] == word_of(one.kind); },
       .name = [](const DicomSeries& one) { return word_of(one.kind); }});
  add({.key = "modality",
       .values = wanted_.modality,
       .fits = [this](const DicomSeries& one,
                      std::size_t i) { return lower(wanted_.modality[i]) == lower(one.modality); },
       .name = [](const DicomSeries& one) { return or_none(one.modality); }});
  add({.key = "series",
       .values = wanted_.series,
       .fits =
           [this](const DicomSeries& one, std::size_t i) {
             const std::string& value = wanted_.series[i];
             return value == (is_a_number(value) ? one.number : one.uid);
           },
       .name =
           [](const DicomSeries& one) {
             return one.number.empty() ? or_none(one.uid) : text(one.number, " = ", one.uid);
           }});
  add({.key = "echo",
       .values = number_tags(wanted_.echo),
       .fits = [echoes = number_tags(wanted_.echo)](const DicomSeries& one,
                                                    std::size_t i) { return echoes[i] == one.echo; },
       .name = [](const DicomSeries& one) { return or_none(one.echo); }});
  std::vector<std::regex> expressions;
  for (const std::string& pattern : wanted_.description) expressions.push_back(expression_of(pattern));
  add({.key = "description",
       .values = wanted_.description,
       .fits = [expressions](const DicomSeries& one,
                             std::size_t i) { return std::regex_search(one.description, expressions[i]); },
       .name = [](const DicomSeries& one) { return or_none(one.description); }});
  add({.key = "min_slices",
       .values = number_tags({wanted_.min_slices}),
       .fits = [this](const DicomSeries& one, std::size_t) { return one.slices >= wanted_.min_slices; },
       .name =
           [](const DicomSeries& one) { return text(one.slices, one.slices == 1 ? " slice" : " slices"); }});
}

void DicomFilters::add(Filter filter) {
  filter.matched.resize(filter.values.size());
  if (!filter.values.empty()) filters_.push_back(std::move(filter));
}

DicomText DicomFilters::texts() const {
  return wanted_.description.empty() ? DicomText::none : DicomText::description;
}

std::string DicomFilters::refusal(const DicomSeries& object) {
  for (Filter& filter : filters_) {
    ++filter.found[filter.name(object)];
    bool fits = false;
    for (std::size_t i = 0; i < filter.values.size(); ++i) {
      if (!filter.fits(object, i)) continue;
      fits = filter.matched[i] = true;
    }
    if (fits) continue;
    const std::string key = text("left out by data.dicom.", filter.key);
    return object.kind == DicomClass::image ? key : text(to_text(object.kind), ": ", key);
  }
  return "";
}

std::string DicomFilters::word_without_pixels(const DicomSeries& object) {
  return text(object.kind == DicomClass::image ? "a DICOM object" : to_text(object.kind), " without pixels");
}

void DicomFilters::check_values(const std::string& folder) const {
  for (const Filter& filter : filters_) {
    if (filter.found.empty()) return;
    const auto unmatched = std::ranges::find(filter.matched, false);
    if (unmatched == filter.matched.end()) continue;
    const std::string& value = filter.values[static_cast<std::size_t>(unmatched - filter.matched.begin())];
    const bool is_first = &filter == &filters_.front();
    fail(Exit::data,
         text("data.dicom.", filter.key, ": no DICOM object below ", folder,
              is_first ? "" : " that other keys of data.dicom take", " fits ", value, "; there are ",
              listed(filter.found)),
         text("correct or leave out that value: data.dicom.", filter.key, "=[…]"));
  }
}

}  // namespace larmor
