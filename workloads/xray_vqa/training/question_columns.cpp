#include "workloads/xray_vqa/training/question_columns.h"

#include <string>

#include "larmor/base/text.h"

namespace larmor::xray_vqa {
namespace {

/// "Pleural Effusion" as a name of a column: Pleural_Effusion.
std::string column_of_label(std::size_t label) {
  std::string name(chexpert_names[label]);
  for (char& letter : name) {
    if (letter == ' ') letter = '_';
  }
  return name;
}

void add_answers(const SplitAnswers& answers, const std::string& inputs, const std::string& of_what,
                 const Vocabularies& vocabularies, CaseColumns& columns) {
  CaseColumn answer{.name = "answer" + inputs, .meaning = "the answer that was given" + of_what},
      probability{.name = "probability" + inputs, .meaning = "that the network gives this answer" + of_what},
      right{.name = "right" + inputs, .meaning = "1 where the answer is the truth" + of_what};
  for (const Answered& one : answers.questions) {
    answer.words[one.example] = answer_name(static_cast<Head>(one.head), one.given, vocabularies);
    probability.numbers[one.example] = one.confidence;
    right.numbers[one.example] = one.given == one.answer ? 1 : 0;
  }
  for (CaseColumn* const column : {&answer, &probability, &right}) columns.push_back(std::move(*column));
}

void add_scores(const SplitAnswers& answers, const std::string& inputs, std::vector<ScoredTruths>& scores) {
  ScoredTruths binary{.name = "binary" + inputs};
  for (const Answered& one : answers.questions) {
    if (one.head != static_cast<int64_t>(Head::binary)) continue;
    binary.rows.push_back({.example = one.example,
                           .truth = one.answer == 1,
                           .score = one.given == 1 ? one.confidence : 1 - one.confidence});
  }
  if (!binary.rows.empty()) scores.push_back(std::move(binary));
  for (std::size_t label = 0; label < chexpert_names.size(); ++label) {
    ScoredTruths seen{.name = column_of_label(label) + inputs};
    for (const LabelSeen& one : answers.labels) {
      if (one.label == static_cast<int64_t>(label))
        seen.rows.push_back({.example = one.example, .truth = one.truth == 1, .score = one.probability});
    }
    if (!seen.rows.empty()) scores.push_back(std::move(seen));
  }
}

}  // namespace

std::vector<ScoredTruths> scores_of(const SplitAnswers& answers, const SplitAnswers& alone) {
  std::vector<ScoredTruths> scores;
  add_scores(answers, "", scores);
  add_scores(alone, note::without_scene, scores);
  return scores;
}

CaseColumns columns_of_questions(const SplitAnswers& answers, const SplitAnswers& alone,
                                 const Vocabularies& vocabularies) {
  CaseColumn type{.name = "type", .meaning = "of the question"},
      head{.name = "head", .meaning = "that answers it"},
      truth{.name = "truth", .meaning = "the answer that is right"};
  for (const Answered& one : answers.questions) {
    type.words[one.example] = question_types()[static_cast<std::size_t>(one.type)].short_name();
    head.words[one.example] = head_names[static_cast<std::size_t>(one.head)];
    truth.words[one.example] = answer_name(static_cast<Head>(one.head), one.answer, vocabularies);
  }
  CaseColumns columns{type, head, truth};
  add_answers(answers, "", "", vocabularies, columns);
  add_answers(alone, note::without_scene, ", of the picture alone", vocabularies, columns);
  for (std::size_t label = 0; label < chexpert_names.size(); ++label) {
    CaseColumn seen{.name = column_of_label(label), .meaning = "probability of the label"},
        is_there{.name = column_of_label(label) + "_truth", .meaning = "1 where the study has the label"};
    for (const LabelSeen& one : answers.labels) {
      if (one.label != static_cast<int64_t>(label)) continue;
      seen.numbers[one.example] = one.probability;
      is_there.numbers[one.example] = one.truth;
    }
    if (seen.numbers.empty()) continue;
    columns.push_back(std::move(seen));
    columns.push_back(std::move(is_there));
  }
  return columns;
}

}  // namespace larmor::xray_vqa
