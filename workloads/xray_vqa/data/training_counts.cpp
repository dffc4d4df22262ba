#include "workloads/xray_vqa/data/training_counts.h"

#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

#include "workloads/xray_vqa/data/phantom_questions.h"
#include "workloads/xray_vqa/data/question_dataset.h"
#include "workloads/xray_vqa/data/question_tables.h"

namespace larmor::xray_vqa {
namespace {

void count_head(int64_t type, int64_t answer, TrainingCounts& counts) {
  const Head head = question_types()[static_cast<std::size_t>(type)].head;
  if (head != Head::none && answer >= 0) ++counts.of_heads.at(static_cast<std::size_t>(head));
}

void count_labels(const Labels& labels, int64_t questions, TrainingCounts& counts) {
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i].counts) counts.of_labels[i] += questions;
}

TrainingCounts count_invented(const QuestionData& questions, const DataConfig& data, const Index& index) {
  TrainingCounts counts;
  for (const int64_t place : index.of(Split::train)) {
    const int64_t number = phantom_number(index.cases[static_cast<std::size_t>(place)].name());
    for (int64_t which = 0; which < questions.phantom_questions; ++which) {
      const auto facts = phantom_question(static_cast<uint64_t>(data.phantom_seed), number, which);
      count_head(facts.type, facts.answer, counts);
      count_labels(facts.labels, 1, counts);
    }
  }
  return counts;
}

TrainingCounts count_rows(const Index& index) {
  const QuestionTables tables({index.table(studies_table), index.table(questions_table)});
  std::vector<bool> is_training(static_cast<std::size_t>(tables.studies()));
  for (const int64_t place : index.of(Split::train)) {
    const double row = index.cases[static_cast<std::size_t>(place)].values.at(study_row);
    is_training.at(static_cast<std::size_t>(row)) = true;
  }
  TrainingCounts counts;
  int64_t next = 0;
  for (int64_t study = 0; study < tables.studies(); ++study) {
    const int64_t first = next, questions = tables.questions_of(study);
    next += questions;
    if (!is_training[static_cast<std::size_t>(study)]) continue;
    count_labels(tables.study(study).labels, questions, counts);
    for (int64_t row = first; row < next; ++row) {
      const KeptQuestion question = tables.question(row);
      count_head(question.type, question.answer, counts);
    }
  }
  return counts;
}

template <class Names, class Counts>
std::vector<std::string> names_without(const Names& names, const Counts& counts) {
  std::vector<std::string> without;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] == 0) without.emplace_back(names[i]);
  return without;
}

}  // namespace

TrainingCounts& TrainingCounts::operator+=(const TrainingCounts& other) {
  for (std::size_t i = 0; i < of_heads.size(); ++i) of_heads[i] += other.of_heads[i];
  for (std::size_t i = 0; i < of_labels.size(); ++i) of_labels[i] += other.of_labels[i];
  return *this;
}

TrainingCounts count_training(const QuestionData& questions, const DataConfig& data, const Index& index) {
  return index.tables.empty() ? count_invented(questions, data, index) : count_rows(index);
}

Json to_json(const TrainingCounts& counts) {
  Json json{{"heads", Json::object()}, {"labels", Json::object()}};
  for (std::size_t i = 0; i < head_names.size(); ++i) json["heads"][head_names[i]] = counts.of_heads[i];
  for (std::size_t i = 0; i < chexpert_names.size(); ++i)
    json["labels"][std::string(chexpert_names[i])] = counts.of_labels[i];
  return json;
}

TrainingCounts read_training_counts(const std::filesystem::path& file) {
  const Json json = read_json(file);
  TrainingCounts counts;
  const auto take = [&](const char* group, std::string_view name, int64_t& count) {
    const auto found = json.find(group);
    if (found == json.end() || !found->is_object() || !found->contains(std::string(name)))
      fail(Exit::checkpoint, text(file.string(), " has no count of ", name),
           "restore the run folder, or start the run again");
    count = found->at(std::string(name)).get<int64_t>();
  };
  for (std::size_t i = 0; i < head_names.size(); ++i) take("heads", head_names[i], counts.of_heads[i]);
  for (std::size_t i = 0; i < chexpert_names.size(); ++i)
    take("labels", chexpert_names[i], counts.of_labels[i]);
  return counts;
}

std::string what_was_not_learnt(const TrainingCounts& counts) {
  const auto labels = names_without(chexpert_names, counts.of_labels);
  const auto answers = names_without(head_names, counts.of_heads);
  std::vector<std::string> parts;
  if (!labels.empty()) parts.push_back(text("no label ", join(labels, ", ")));
  if (!answers.empty()) parts.push_back(text("no question for the head ", join(answers, ", ")));
  if (parts.empty()) return {};
  return text("left out, because training saw ", join(parts, " and "), "; train with data that have them");
}

}  // namespace larmor::xray_vqa
