#include "workloads/xray_vqa/data/phantom_questions.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

#include "larmor/base/ensure.h"
#include "larmor/base/error.h"
#include "larmor/base/seed.h"
#include "larmor/base/text.h"

#include "workloads/xray_vqa/data/question_dataset.h"
#include "workloads/xray_vqa/data/xray_phantom.h"

namespace larmor::xray_vqa {
namespace {

constexpr int64_t heart_label = 1, device_label = 12, healthy_label = 13;
constexpr std::string_view study_prefix = "xray-";

// {} stands for the finding or the region that is asked for.
using Phrases = std::vector<std::string_view>;
const Phrases has_finding = {"Is there {}?", "Does this radiograph show {}?", "Can you see {}?",
                             "Is {} present?"};
const Phrases is_abnormal = {"Is the {} abnormal?", "Is there anything abnormal in the {}?"};
const Phrases is_normal = {"Is the {} normal?", "Does the {} look normal?"};
const Phrases where_is = {"Where is the {}?", "On which side is the {}?"};
const Phrases how_severe = {"How severe is the {}?", "What is the degree of the {}?"};
const Phrases describe = {"What is seen in the {}?", "Describe the finding in the {}."};

std::string_view word_of_label(int64_t label) {
  switch (label) {
    case 1:
      return "cardiomegaly";
    case 6:
      return "lung lesion";
    case 8:
      return "pleural effusion";
    case 10:
      return "pneumothorax";
    default:
      return "support device";
  }
}

template <class List>
const auto& one_of(Draws& draws, const List& list) {
  return list[draws.below(list.size())];
}

std::string filled(std::string_view phrase, std::string_view word) {
  const std::size_t gap = phrase.find("{}");
  return text(phrase.substr(0, gap), word, phrase.substr(gap + 2));
}

// Asks about a study. Each function gives false where the study has nothing to ask for.
class Asker {
 public:
  Asker(const PhantomTruth& truth, Draws& draws, QuestionFacts& facts)
      : truth_(truth), draws_(draws), facts_(facts) {}

  void ask() {
    const double kind = draws_.uniform();
    if (kind < 0.1 && ask_where(device_label, "D07_where_is_device")) return;
    if (kind < 0.2) return ask_for_label(device_label, "D06_has_device");
    if (kind < 0.35 && ask_where(lung_finding_seen_once(), "D03_where_is_finding")) return;
    if (kind < 0.5 && ask_how_severe()) return;
    if (kind < 0.65) return ask_to_describe();
    if (kind < 0.75) return ask_for_region("C03_is_abnormal_region", is_abnormal, true);
    if (kind < 0.85) return ask_for_region("C04_is_normal_region", is_normal, false);
    ask_for_label(label_to_ask_for(), "D02_has_finding");
  }

 private:
  void put(const char* type, const Phrases& phrases, std::string_view word, int64_t answer) {
    facts_.type = find_question_type(type);
    facts_.question = filled(one_of(draws_, phrases), word);
    facts_.answer = answer;
  }

  std::vector<int64_t> labels_where(bool present, bool devices) const {
    std::vector<int64_t> labels;
    for (const int64_t label : phantom_labels()) {
      if ((truth_.count(label) > 0) == present && (devices || label != device_label)) labels.push_back(label);
    }
    return labels;
  }

  // As often one that is there as one that is not.
  int64_t label_to_ask_for() {
    const bool present = draws_.below(2) == 0;
    auto labels = labels_where(present, false);
    if (labels.empty()) labels = labels_where(!present, false);
    return one_of(draws_, labels);
  }

  int64_t lung_finding_seen_once() {
    std::vector<int64_t> labels;
    for (const int64_t label : labels_where(true, false)) {
      if (label != heart_label && truth_.count(label) == 1) labels.push_back(label);
    }
    return labels.empty() ? -1 : one_of(draws_, labels);
  }

  void ask_for_label(int64_t label, const char* type) {
    put(type, has_finding, word_of_label(label), truth_.count(label) > 0 ? 1 : 0);
  }

  bool ask_where(int64_t label, const char* type) {
    for (const PhantomFinding& finding : truth_.findings) {
      if (finding.label != label) continue;
      put(type, where_is, word_of_label(label), static_cast<int64_t>(finding.region));
      return true;
    }
    return false;
  }

  bool ask_how_severe() {
    std::vector<const PhantomFinding*> present;
    for (const PhantomFinding& finding : truth_.findings) {
      if (finding.label != device_label && truth_.count(finding.label) == 1) present.push_back(&finding);
    }
    const auto absent = labels_where(false, false);
    const bool ask_for_absent = draws_.below(4) == 0;
    const char* const type = "D04_how_severe_is_finding";
    if (ask_for_absent && !absent.empty()) {
      put(type, how_severe, word_of_label(one_of(draws_, absent)), 0);
      return true;
    }
    if (present.empty()) return false;
    const PhantomFinding& finding = *one_of(draws_, present);
    put(type, how_severe, word_of_label(finding.label), finding.severity);
    return true;
  }

  const PhantomFinding* finding_in(PhantomRegion region) const {
    for (const PhantomFinding& finding : truth_.findings) {
      if (finding.region == region && finding.label != device_label) return &finding;
    }
    return nullptr;
  }

  PhantomRegion a_lung() {
    return draws_.below(2) == 0 ? PhantomRegion::right_lung : PhantomRegion::left_lung;
  }

  std::string_view name_of(PhantomRegion region) const {
    return phantom_vocabularies().regions.name(static_cast<int64_t>(region));
  }

  void ask_to_describe() {
    const PhantomRegion region = a_lung();
    const PhantomFinding* const finding = finding_in(region);
    put("D01_describe_finding", describe, name_of(region),
        finding == nullptr ? healthy_label : finding->label);
  }

  void ask_for_region(const char* type, const Phrases& phrases, bool yes_where_found) {
    const PhantomRegion region = draws_.below(3) == 0 ? PhantomRegion::heart : a_lung();
    put(type, phrases, name_of(region), (finding_in(region) != nullptr) == yes_where_found ? 1 : 0);
  }

  const PhantomTruth& truth_;
  Draws& draws_;
  QuestionFacts& facts_;
};

std::string study_name(int64_t number, int64_t studies) {
  const std::size_t digits = std::max<std::size_t>(4, text(studies - 1).size());
  std::string word = text(number);
  if (word.size() < digits) word.insert(0, digits - word.size(), '0');
  return text(study_prefix, word);
}

class PhantomDataset final : public QuestionSource {
 public:
  PhantomDataset(const PhantomQuestions& phantoms, const Index& index, Split split,
                 const WordPiece& tokenizer)
      : phantoms_(phantoms), tokenizer_(tokenizer) {
    for (const int64_t place : index.of(split)) {
      names_.push_back(index.cases[static_cast<std::size_t>(place)].name());
      patients_.push_back(index.cases[static_cast<std::size_t>(place)].patient);
    }
  }

  int64_t size() const override { return static_cast<int64_t>(names_.size()) * phantoms_.questions; }

  std::string name(int64_t example) const override { return study_of(example); }

  std::string patient(int64_t example) const override {
    ensure(example >= 0 && example < size());
    return patients_[static_cast<std::size_t>(example / phantoms_.questions)];
  }

  std::string study(int64_t example) const override { return study_of(example); }

  std::string question(int64_t example) const override { return facts_of(example).question; }

  Caption caption(int64_t example) const override {
    return {.title = patient(example), .words = question(example)};
  }

  std::vector<int64_t> shown(int64_t stride) const override {
    return shown_questions(
        size(), stride, [this](int64_t example) { return example / phantoms_.questions; },
        [](int64_t) { return true; });
  }

  Sample get(const ExampleKey& key) const override {
    const int64_t number = phantom_number(study_of(key.example));
    auto facts = facts_of(key.example);
    facts.study = key.example / phantoms_.questions;
    Sample made = sample_of(facts, tokenizer_, phantoms_.sizes);
    made.emplace(sample::image, image_of_grey(make_xray(phantoms_.seed, number, phantoms_.sizes.image)));
    return made;
  }

 private:
  QuestionFacts facts_of(int64_t example) const {
    return phantom_question(phantoms_.seed, phantom_number(study_of(example)), example % phantoms_.questions);
  }

  const std::string& study_of(int64_t example) const {
    ensure(example >= 0 && example < size());
    return names_[static_cast<std::size_t>(example / phantoms_.questions)];
  }

  const PhantomQuestions phantoms_;
  const WordPiece tokenizer_;
  std::vector<std::string> names_, patients_;
};

}  // namespace

Vocabulary phantom_words() {
  std::set<std::string> words = {"?",    ".",     ",",     "-",      "in",    "a",     "an",
                                 "of",   "and",   "or",    "no",     "yes",   "right", "left",
                                 "lung", "heart", "spine", "lesion", "device"};
  const auto add_words = [&](std::string_view phrase) {
    std::string word;
    for (const char letter : lower(phrase) + " ") {
      if (letter >= 'a' && letter <= 'z') {
        word.push_back(letter);
      } else if (!word.empty()) {
        words.insert(std::exchange(word, {}));
      }
    }
  };
  for (const Phrases* const phrases :
       {&has_finding, &is_abnormal, &is_normal, &where_is, &how_severe, &describe}) {
    for (const std::string_view phrase : *phrases) add_words(phrase);
  }
  for (const int64_t label : phantom_labels()) add_words(word_of_label(label));
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    words.insert(std::string(1, letter));
    words.insert(text("##", letter));
  }
  for (char digit = '0'; digit <= '9'; ++digit) {
    words.insert(std::string(1, digit));
    words.insert(text("##", digit));
  }
  std::string lines = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
  for (const std::string& word : words) lines += word + "\n";
  return parse_vocabulary(lines, /*lowercase=*/true);
}

QuestionFacts phantom_question(uint64_t seed, int64_t number, int64_t which) {
  const PhantomTruth truth = phantom_truth(seed, number);
  QuestionFacts facts;
  facts.study = number;
  facts.objects = truth.anatomy;
  facts.labels = truth.labels;
  Draws draws(make_key(seed, static_cast<uint64_t>(which), static_cast<uint64_t>(number), "xray question"));
  Asker(truth, draws, facts).ask();
  return facts;
}

Index phantom_index(const DataConfig& data, uint64_t run_seed, const PhantomQuestions& phantoms) {
  std::vector<ListedCase> studies;
  for (int64_t i = 0; i < phantoms.studies; ++i) {
    const std::string name = study_name(i, phantoms.studies);
    studies.push_back(
        {.place = name,
         .files = {{"image", text(name, " seed ", phantoms.seed, " questions ", phantoms.questions)}},
         .patient = name,
         .label = {},
         .split = {}});
  }
  const auto pixels = static_cast<uint64_t>(phantoms.sizes.image * phantoms.sizes.image);
  return make_invented_index(data, run_seed, studies, pixels * sizeof(float));
}

int64_t phantom_number(std::string_view name) {
  int64_t number = -1;
  if (name.starts_with(study_prefix)) {
    const auto digits = name.substr(study_prefix.size());
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
  }
  if (number < 0) fail(Exit::data, text(name, " is no study of the phantoms"), "start a new run");
  return number;
}

std::unique_ptr<Dataset> phantom_dataset(const PhantomQuestions& phantoms, const Index& index, Split split,
                                         const WordPiece& tokenizer) {
  return std::make_unique<PhantomDataset>(phantoms, index, split, tokenizer);
}

}  // namespace larmor::xray_vqa
