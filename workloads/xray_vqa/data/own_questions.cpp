#include "workloads/xray_vqa/data/own_questions.h"

#include <charconv>
#include <map>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/hash.h"
#include "larmor/base/text.h"
#include "larmor/formats/csv.h"

#include "workloads/xray_vqa/data/question_tables.h"

namespace larmor::xray_vqa {
namespace {

constexpr uint64_t largest_list = uint64_t{1} << 30;

struct OwnStudy {
  Study study;
  std::vector<SceneObject> objects;
  std::vector<KeptQuestion> questions;
};

class OwnTable {
 public:
  OwnTable(const std::filesystem::path& path, std::string_view bytes)
      : path_(path), table_(parse_csv(bytes, path.string())) {
    image_ = needed("image");
    question_ = needed("question");
    for (std::size_t i = 0; i < chexpert_names.size(); ++i) labels_[i] = table_.find(chexpert_names[i]);
  }

  void read(Uncertain uncertain, const ShowsProgress& shows, BuiltQuestions& built) {
    WorkProgress progress{.what = "table of questions:", .unit = "rows"};
    progress.all = static_cast<int64_t>(table_.rows.size());
    for (const auto& row : table_.rows) {
      take(row, uncertain, built);
      ++progress.done;
      shows(progress);
    }
  }

  // By image, in the order of its name.
  std::map<std::string, OwnStudy> studies;
  std::map<std::string, int64_t> left_out;

 private:
  std::size_t needed(const char* name) const {
    const int64_t place = table_.find(name);
    if (place >= 0) return static_cast<std::size_t>(place);
    fail(Exit::data, text(path_.string(), " has no column ", name, ", only ", table_.listed()),
         "name its columns image, question, answer, type, patient, split, boxes");
  }

  static std::string cell(const CsvTable::Row& row, int64_t column) {
    return column < 0 ? std::string() : row.cells[static_cast<std::size_t>(column)];
  }

  [[noreturn]] void refuse(const CsvTable::Row& row, const std::string& what) const {
    fail(Exit::data, text(path_.string(), ':', row.line, ": ", what), "correct the row");
  }

  Study study_of(const CsvTable::Row& row, Uncertain uncertain) const {
    Study study{.id = row.cells[image_],
                .patient = cell(row, table_.find("patient")),
                .image = row.cells[image_],
                .image_id = {},
                .width = 0,
                .height = 0,
                .split = {},
                .labels = {}};
    const std::string split = lower(cell(row, table_.find("split")));
    if (split == "train" || split == "training") study.split = Split::train;
    if (split == "val" || split == "validation" || split == "validate") study.split = Split::val;
    if (split == "test" || split == "testing") study.split = Split::test;
    if (!split.empty() && !study.split)
      refuse(row, text("the split ", split, " is none of train, val, test"));
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      const auto label = label_of_cell(cell(row, labels_[i]), uncertain);
      if (!label)
        refuse(row, text(chexpert_names[i], " is ", cell(row, labels_[i]), ", not 1, 0, -1 or blank"));
      study.labels[i] = *label;
    }
    return study;
  }

  std::vector<SceneObject> objects_of(const CsvTable::Row& row) const {
    try {
      return objects_in_words(cell(row, table_.find("boxes")));
    } catch (const Error& error) {
      fail(Exit::data, text(path_.string(), ':', row.line, ": ", error.message()), error.hint());
    }
  }

  // Of a row that does not say its type: what its answer could be an answer to.
  static int64_t type_by_answer(const std::string& answer) {
    for (const char* const type : {"D02_has_finding", "D04_how_severe_is_finding", "D01_describe_finding"}) {
      const int64_t place = find_question_type(type);
      if (class_of_own_answer(question_types()[static_cast<std::size_t>(place)], answer) >= 0) return place;
    }
    return unknown_question_type();
  }

  void take(const CsvTable::Row& row, Uncertain uncertain, BuiltQuestions& built) {
    if (row.cells[image_].empty()) return count("no image");
    OwnStudy& held =
        studies.try_emplace(row.cells[image_], OwnStudy{study_of(row, uncertain), objects_of(row), {}})
            .first->second;
    const std::string answer = cell(row, table_.find("answer")), named = cell(row, table_.find("type"));
    const int64_t place = named.empty() ? type_by_answer(answer) : find_question_type(named);
    const QuestionType& type = question_types()[static_cast<std::size_t>(place)];
    if (row.cells[question_].empty()) return count("empty text");
    if (type.head == Head::none) return count(named.empty() ? "answer of no type" : "unknown type");
    const int64_t number = class_of_own_answer(type, answer);
    if (number < 0) return count("no class fits the answer");
    held.questions.push_back(
        {.type = place, .answer = number, .grade = Grade::unrated, .question = row.cells[question_]});
    ++built.by_type[static_cast<std::size_t>(place)];
  }

  void count(const char* reason) { ++left_out[reason]; }

  const std::filesystem::path path_;
  const CsvTable table_;
  std::size_t image_ = 0, question_ = 0;
  std::array<int64_t, chexpert_labels> labels_{};
};

}  // namespace

int64_t class_of_own_answer(const QuestionType& type, std::string_view answer) {
  const std::string word = lower(trim(answer));
  if (word.empty() || type.head == Head::none) return -1;
  const int64_t classes = head_classes.at(static_cast<std::size_t>(type.head));
  int64_t number = -1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error == std::errc() && end == word.data() + word.size())
    return number >= 0 && number < classes ? number : -1;
  static const Vocabularies no_lists;
  if (type.head == Head::severity) {
    for (const char* const known : {"none", "no", "absent", "mild", "small", "minimal", "moderate", "medium",
                                    "severe", "large", "significant"}) {
      if (word == known) return answer_class(type, {.severity = word}, no_lists);
    }
    return -1;
  }
  return answer_class(type, {.words = word, .entity = word}, no_lists);
}

BuiltQuestions build_own_questions(Storage& storage, const std::filesystem::path& list,
                                   const std::filesystem::path& tables, Uncertain uncertain,
                                   const ShowsProgress& shows) {
  const std::string bytes = read_text(list, largest_list);
  BuiltQuestions built;
  built.by_type.resize(question_types().size());
  OwnTable table(list, bytes);
  table.read(uncertain, shows, built);
  built.left_out = table.left_out;
  QuestionTablesBuild build(storage, tables);
  const std::string stamp =
      sha256(text("xray_vqa own questions 2 ", static_cast<int>(uncertain), '\n', bytes));
  if (build.noted("all", stamp).is_null()) {
    QuestionTablesBuild::Part part(build, "all", stamp);
    for (const auto& [image, held] : table.studies) {
      if (held.questions.empty()) continue;
      for (const KeptQuestion& question : held.questions) part.add_question(question);
      part.end_study(held.study, held.objects);
    }
    part.finish(Json::object());
  }
  built.tables = build.finish({"all"});
  built.sentence = routing_report(built.by_type);
  for (const auto& [reason, rows] : table.left_out) built.sentence += text("; ", reason, ": ", rows);
  if (built.tables.at(1).rows == 0)
    fail(Exit::data, text(list.string(), ": no question is left: ", built.sentence), "correct the table");
  return built;
}

std::map<std::string, std::string> columns_of_training_alone() {
  std::map<std::string, std::string> columns{{"answer", ""}};
  for (const std::string_view label : chexpert_names) columns[std::string(label)] = "";
  return columns;
}

}  // namespace larmor::xray_vqa
