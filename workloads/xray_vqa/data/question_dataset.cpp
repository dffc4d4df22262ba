#include "workloads/xray_vqa/data/question_dataset.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "larmor/base/ensure.h"
#include "larmor/base/error.h"
#include "larmor/base/text.h"

#include "workloads/xray_vqa/data/question_data.h"
#include "workloads/xray_vqa/data/question_tables.h"

namespace larmor::xray_vqa {
namespace {

class TableDataset final : public QuestionSource {
 public:
  TableDataset(const Index& index, Split split, const WordPiece& tokenizer, const SampleSizes& sizes)
      : folder_(index.folder),
        tables_({index.table(studies_table), index.table(questions_table)}),
        tokenizer_(tokenizer),
        sizes_(sizes) {
    std::vector<int64_t> first_rows;
    int64_t rows = 0;
    for (int64_t study = 0; study < tables_.studies(); ++study) {
      first_rows.push_back(rows);
      rows += tables_.questions_of(study);
    }
    if (rows != tables_.questions())
      fail(Exit::data, "the tables of studies and of questions do not fit each other",
           "run `larmor prepare` again");
    std::map<std::string, int32_t> number_of;
    for (const int64_t place : index.of(split)) {
      const Case& entry = index.cases[static_cast<std::size_t>(place)];
      const auto row = entry.values.find(study_row);
      if (row == entry.values.end() || row->second < 0 ||
          row->second >= static_cast<double>(tables_.studies()))
        fail(Exit::data, text(entry.name(), " is no study of the table"), "start a new run");
      const auto study = static_cast<int64_t>(row->second);
      const auto [patient, is_new] =
          number_of.try_emplace(entry.patient, static_cast<int32_t>(patients_.size()));
      if (is_new) patients_.push_back(entry.patient);
      studies_.push_back(
          {size_, first_rows[static_cast<std::size_t>(study)], static_cast<int32_t>(study), patient->second});
      size_ += tables_.questions_of(study);
    }
    shapes_ = std::vector<std::atomic<float>>(studies_.size());
  }

  int64_t size() const override { return size_; }

  std::string name(int64_t example) const override {
    return tables_.study(studies_[place_of(example)].row).image;
  }

  std::string patient(int64_t example) const override {
    return patients_[static_cast<std::size_t>(studies_[place_of(example)].patient)];
  }

  std::string study(int64_t example) const override {
    return tables_.study(studies_[place_of(example)].row).id;
  }

  std::string question(int64_t example) const override { return std::string(question_of(example).question); }

  /// The shape is known when get() has read the study's picture.
  Caption caption(int64_t example) const override {
    return {.words = question(example), .shape = shapes_[place_of(example)]};
  }

  std::vector<int64_t> shown(int64_t stride) const override {
    return shown_questions(
        size_, stride, [this](int64_t example) { return static_cast<int64_t>(place_of(example)); },
        [this](int64_t example) {
          const KeptQuestion question = question_of(example);
          return question.answer >= 0 &&
                 question_types()[static_cast<std::size_t>(question.type)].head != Head::none;
        });
  }

  Sample get(const ExampleKey& key) const override {
    const std::size_t place = place_of(key.example);
    const StudyRows& rows = studies_[place];
    const Study study = tables_.study(rows.row);
    const KeptQuestion question = question_of(key.example);
    QuestionFacts facts{.question = std::string(question.question),
                        .type = question.type,
                        .answer = question.answer,
                        .study = static_cast<int64_t>(place),
                        .objects = tables_.objects(rows.row),
                        .labels = study.labels};
    Sample made = sample_of(facts, tokenizer_, sizes_);
    RadiographFile read = read_image(folder_ / study.image, sizes_);
    made.emplace(sample::image, std::move(read.image));
    shapes_[place] = static_cast<float>(read.shape);
    return made;
  }

 private:
  struct StudyRows {
    int64_t first_example = 0, first_question = 0;
    int32_t row = 0, patient = 0;
  };

  std::size_t place_of(int64_t example) const {
    ensure(example >= 0 && example < size_);
    const auto next =
        std::upper_bound(studies_.begin(), studies_.end(), example,
                         [](int64_t wanted, const StudyRows& rows) { return wanted < rows.first_example; });
    return static_cast<std::size_t>(next - studies_.begin()) - 1;
  }

  KeptQuestion question_of(int64_t example) const {
    const StudyRows& rows = studies_[place_of(example)];
    return tables_.question(rows.first_question + example - rows.first_example);
  }

  const std::filesystem::path folder_;
  const QuestionTables tables_;
  const WordPiece tokenizer_;
  const SampleSizes sizes_;
  std::vector<StudyRows> studies_;
  std::vector<std::string> patients_;
  mutable std::vector<std::atomic<float>> shapes_;  // width over height, of each study; 0: not known
  int64_t size_ = 0;
};

}  // namespace

std::vector<int64_t> shown_questions(int64_t examples, int64_t stride,
                                     const std::function<int64_t(int64_t)>& study_of,
                                     const std::function<bool(int64_t)>& is_answered) {
  std::vector<int64_t> shown;
  for (int64_t example = 0; example < examples && shown.size() < most_shown_questions;) {
    const int64_t study = study_of(example);
    std::vector<int64_t> answered;
    for (; example < examples && study_of(example) == study; example += stride) {
      if (is_answered(example)) answered.push_back(example);
    }
    if (!answered.empty()) shown.push_back(answered[shown.size() % answered.size()]);
  }
  return shown;
}

std::unique_ptr<Dataset> table_dataset(const Index& index, Split split, const WordPiece& tokenizer,
                                       const SampleSizes& sizes) {
  return std::make_unique<TableDataset>(index, split, tokenizer, sizes);
}

}  // namespace larmor::xray_vqa
