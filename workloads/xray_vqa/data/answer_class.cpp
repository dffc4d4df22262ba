#include "workloads/xray_vqa/data/answer_class.h"

#include <algorithm>
#include <array>
#include <utility>

#include "larmor/base/text.h"

#include "workloads/xray_vqa/data/chexpert.h"

namespace larmor::xray_vqa {
namespace {

constexpr int64_t unknown_answer = -1;

struct WordClass {
  std::string_view word;
  int64_t number;
};

constexpr std::array<WordClass, 12> binary_words = {{{"yes", 1},
                                                     {"no", 0},
                                                     {"not", 0},
                                                     {"none", 0},
                                                     {"absent", 0},
                                                     {"without", 0},
                                                     {"present", 1},
                                                     {"positive", 1},
                                                     {"negative", 0},
                                                     {"true", 1},
                                                     {"false", 0},
                                                     {"there's", 1}}};
constexpr std::array<WordClass, 12> severity_words = {{{"none", 0},
                                                       {"no", 0},
                                                       {"absent", 0},
                                                       {"mild", 1},
                                                       {"small", 1},
                                                       {"minimal", 1},
                                                       {"moderate", 2},
                                                       {"medium", 2},
                                                       {"severe", 3},
                                                       {"large", 3},
                                                       {"significant", 3},
                                                       {"mildly", 1}}};
constexpr std::array<WordClass, 10> category_words = {{{"opacity", 7},
                                                       {"effusion", 8},
                                                       {"lesion", 6},
                                                       {"mass", 6},
                                                       {"nodule", 6},
                                                       {"device", 12},
                                                       {"tube", 12},
                                                       {"line", 12},
                                                       {"catheter", 12},
                                                       {"pacemaker", 12}}};

bool is_letter(char letter) { return (letter >= 'a' && letter <= 'z') || letter == '\''; }

// The class of the first word of a sentence, in small letters, that has one.
template <std::size_t count>
int64_t class_of_words(std::string_view sentence, const std::array<WordClass, count>& classes) {
  for (std::size_t place = 0; place < sentence.size();) {
    std::size_t end = place;
    while (end < sentence.size() && is_letter(sentence[end])) ++end;
    const auto word = sentence.substr(place, end - place);
    for (const WordClass& entry : classes) {
      if (word == entry.word) return entry.number;
    }
    place = end + 1;
  }
  return unknown_answer;
}

bool begins_a_word(std::string_view sentence, std::string_view word) {
  for (auto at = sentence.find(word); at != std::string_view::npos; at = sentence.find(word, at + 1)) {
    if (at == 0 || !is_letter(sentence[at - 1])) return true;
  }
  return false;
}

int64_t binary_class(const QuestionType& type, const AnswerFacts& answer) {
  if (!answer.positiveness.empty()) {
    const bool positive = lower(answer.positiveness) == "pos" || lower(answer.positiveness) == "positive";
    return positive != type.asks_for_normal ? 1 : 0;
  }
  return class_of_words(lower(answer.words), binary_words);
}

int64_t severity_class(const AnswerFacts& answer) {
  const int64_t number = class_of_words(lower(answer.severity), severity_words);
  return number == unknown_answer ? class_of_words(lower(answer.words), severity_words) : number;
}

int64_t category_class(std::string_view name) {
  if (name.empty()) return unknown_answer;
  const std::string entity = lower(name);
  for (int64_t i = 0; i < chexpert_labels; ++i) {
    if (entity == lower(chexpert_names[static_cast<std::size_t>(i)])) return i;
  }
  for (int64_t i = 0; i < chexpert_labels; ++i) {
    if (entity.find(lower(chexpert_names[static_cast<std::size_t>(i)])) != std::string::npos) return i;
  }
  for (const WordClass& alias : category_words) {
    if (begins_a_word(entity, alias.word)) return alias.number;
  }
  return unknown_answer;
}

}  // namespace

NameList::NameList(std::vector<std::string> names) : names_(std::move(names)) {
  for (std::size_t i = 0; i < names_.size(); ++i) places_.emplace(lower(names_[i]), static_cast<int64_t>(i));
}

int64_t NameList::find(std::string_view name) const {
  const auto is_capital = [](char letter) { return letter >= 'A' && letter <= 'Z'; };
  const bool has_capitals = std::any_of(name.begin(), name.end(), is_capital);
  const auto found = has_capitals ? places_.find(lower(name)) : places_.find(name);
  return found == places_.end() ? -1 : found->second;
}

int64_t answer_class(const QuestionType& type, const AnswerFacts& answer, const Vocabularies& vocabularies) {
  switch (type.head) {
    case Head::binary:
      return binary_class(type, answer);
    case Head::severity:
      return severity_class(answer);
    case Head::category:
      return category_class(answer.entity);
    case Head::region: {
      constexpr int64_t last_region = 25;
      return std::min(vocabularies.regions.find(answer.region), last_region);
    }
    case Head::none:
      break;
  }
  return unknown_answer;
}

std::string answer_name(Head head, int64_t answer, const Vocabularies& vocabularies) {
  constexpr std::array<const char*, 4> severities = {"none", "mild", "moderate", "severe"};
  switch (head) {
    case Head::binary:
      return answer == 1 ? "yes" : "no";
    case Head::severity:
      return severities.at(static_cast<std::size_t>(answer));
    case Head::category:
      return std::string(chexpert_names.at(static_cast<std::size_t>(answer)));
    case Head::region:
      if (answer + 1 == head_classes[2] && vocabularies.regions.size() > answer + 1) return "another region";
      return answer < vocabularies.regions.size() ? vocabularies.regions.name(answer)
                                                  : text("region ", answer);
    case Head::none:
      break;
  }
  return {};
}

}  // namespace larmor::xray_vqa
