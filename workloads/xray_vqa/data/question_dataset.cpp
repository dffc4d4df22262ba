#include "workloads/xray_vqa/data/question_dataset.h"

#include <algorithm>
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

  std::string question(int64_t example) const override {
    const StudyRows& rows = studies_[place_of(example)];
    return std::string(tables_.question(rows.first_question + example - rows.first_example).question);
  }

  Sample get(const ExampleKey& key) const override {
    const std::size_t place = place_of(key.example);
    const StudyRows& rows = studies_[place];
    const Study study = tables_.study(rows.row);
    const KeptQuestion question = tables_.question(rows.first_question + key.example - rows.first_example);
    QuestionFacts facts{.question = std::string(question.question),
                        .type = question.type,
                        .answer = question.answer,
                        .study = static_cast<int64_t>(place),
                        .objects = tables_.objects(rows.row),
                        .labels = study.labels};
    Sample made = sample_of(facts, tokenizer_, sizes_);
    made.emplace(sample::image, read_image(folder_ / study.image, sizes_));
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

  const std::filesystem::path folder_;
  const QuestionTables tables_;
  const WordPiece tokenizer_;
  const SampleSizes sizes_;
  std::vector<StudyRows> studies_;
  std::vector<std::string> patients_;
  int64_t size_ = 0;
};

}  // namespace

std::unique_ptr<Dataset> table_dataset(const Index& index, Split split, const WordPiece& tokenizer,
                                       const SampleSizes& sizes) {
  return std::make_unique<TableDataset>(index, split, tokenizer, sizes);
}

}  // namespace larmor::xray_vqa
