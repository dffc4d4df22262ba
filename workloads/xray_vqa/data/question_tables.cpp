#include "workloads/xray_vqa/data/question_tables.h"

#include <array>
#include <cstring>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor::xray_vqa {
namespace {

namespace study_column {
enum : std::size_t { id, patient, image, width, height, split, questions, labels, objects };
}
namespace question_column {
enum : std::size_t { type, answer, grade, words };
}

std::vector<TableColumn> study_columns() {
  return {{"id", ColumnType::text},         {"patient", ColumnType::text}, {"image", ColumnType::text},
          {"width", ColumnType::int32},     {"height", ColumnType::int32}, {"split", ColumnType::int8},
          {"questions", ColumnType::int32}, {"labels", ColumnType::text},  {"objects", ColumnType::text}};
}

std::vector<TableColumn> question_columns() {
  return {{"type", ColumnType::int8},
          {"answer", ColumnType::int8},
          {"grade", ColumnType::int8},
          {"question", ColumnType::text}};
}

// A byte a label: twice its value, or this where it does not count.
constexpr char masked = 'x';

std::string packed(const Labels& labels) {
  std::string bytes;
  for (const Label& label : labels)
    bytes.push_back(label.counts ? static_cast<char>('0' + static_cast<int>(label.value * 2)) : masked);
  return bytes;
}

Labels labels_from(std::string_view bytes) {
  Labels labels;
  for (std::size_t i = 0; i < labels.size() && i < bytes.size(); ++i) {
    if (bytes[i] != masked) labels[i] = {static_cast<float>(bytes[i] - '0') / 2, true};
  }
  return labels;
}

struct PackedObject {
  std::array<float, 4> corners;
  std::array<int16_t, 2> ids;
};
static_assert(sizeof(PackedObject) == 20);

std::string packed(const std::vector<SceneObject>& objects) {
  std::string bytes(objects.size() * sizeof(PackedObject), '\0');
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const SceneObject& object = objects[i];
    const PackedObject made = {{object.box.x1, object.box.y1, object.box.x2, object.box.y2},
                               {static_cast<int16_t>(object.region), static_cast<int16_t>(object.entity)}};
    std::memcpy(bytes.data() + i * sizeof(made), &made, sizeof(made));
  }
  return bytes;
}

}  // namespace

QuestionTablesBuild::QuestionTablesBuild(Storage& storage, const std::filesystem::path& folder)
    : studies_(storage, folder / studies_table, studies_table, study_columns()),
      questions_(storage, folder / questions_table, questions_table, question_columns()) {}

Json QuestionTablesBuild::noted(const std::string& part, const std::string& stamp) const {
  return studies_.noted(part, stamp).is_null() ? Json() : questions_.noted(part, stamp);
}

std::vector<IndexedTable> QuestionTablesBuild::finish(const std::vector<std::string>& parts) {
  return {studies_.finish(parts), questions_.finish(parts)};
}

QuestionTablesBuild::Part::Part(QuestionTablesBuild& build, std::string name, std::string stamp)
    : build_(build),
      name_(std::move(name)),
      stamp_(std::move(stamp)),
      studies_(build.studies_.begin(name_)),
      questions_(build.questions_.begin(name_)) {}

void QuestionTablesBuild::Part::add_question(const KeptQuestion& question) {
  questions_.set(question_column::type, question.type);
  questions_.set(question_column::answer, question.answer);
  questions_.set(question_column::grade, static_cast<int64_t>(question.grade));
  questions_.set(question_column::words, question.question);
  questions_.end_row();
  ++questions_of_study_;
}

void QuestionTablesBuild::Part::end_study(const Study& study, const std::vector<SceneObject>& objects) {
  studies_.set(study_column::id, std::string_view(study.id));
  studies_.set(study_column::patient, std::string_view(study.patient));
  studies_.set(study_column::image, std::string_view(study.image));
  studies_.set(study_column::width, study.width);
  studies_.set(study_column::height, study.height);
  studies_.set(study_column::split, study.split ? static_cast<int64_t>(*study.split) : int64_t{-1});
  studies_.set(study_column::questions, std::exchange(questions_of_study_, 0));
  studies_.set(study_column::labels, std::string_view(packed(study.labels)));
  studies_.set(study_column::objects, std::string_view(packed(objects)));
  studies_.end_row();
}

void QuestionTablesBuild::Part::finish(const Json& notes) {
  build_.studies_.finish(name_, stamp_, studies_, notes);
  build_.questions_.finish(name_, stamp_, questions_, notes);
}

QuestionTables::QuestionTables(const std::vector<IndexedTable>& tables)
    : studies_(tables.at(0).file), questions_(tables.at(1).file) {
  for (const auto& [table, columns] :
       {std::pair(&studies_, study_columns()), {&questions_, question_columns()}}) {
    if (table->columns() != columns)
      fail(Exit::data, "the columns of the tables of questions have moved", "run `larmor prepare` again");
  }
}

Study QuestionTables::study(int64_t row) const {
  const TableRow from = studies_.row(row);
  Study study{.id = std::string(from.text(study_column::id)),
              .patient = std::string(from.text(study_column::patient)),
              .image = std::string(from.text(study_column::image)),
              .image_id = {},
              .width = from.integer(study_column::width),
              .height = from.integer(study_column::height),
              .split = {},
              .labels = labels_from(from.text(study_column::labels))};
  const int64_t split = from.integer(study_column::split);
  if (split >= 0) study.split = static_cast<Split>(split);
  return study;
}

int64_t QuestionTables::questions_of(int64_t study) const {
  return studies_.row(study).integer(study_column::questions);
}

std::vector<SceneObject> QuestionTables::objects(int64_t study) const {
  const std::string_view bytes = studies_.row(study).text(study_column::objects);
  std::vector<SceneObject> objects;
  for (std::size_t place = 0; place + sizeof(PackedObject) <= bytes.size(); place += sizeof(PackedObject)) {
    PackedObject from{};
    std::memcpy(&from, bytes.data() + place, sizeof(from));
    objects.push_back(
        {{from.corners[0], from.corners[1], from.corners[2], from.corners[3]}, from.ids[0], from.ids[1]});
  }
  return objects;
}

KeptQuestion QuestionTables::question(int64_t row) const {
  const TableRow from = questions_.row(row);
  return {.type = from.integer(question_column::type),
          .answer = from.integer(question_column::answer),
          .grade = static_cast<Grade>(from.integer(question_column::grade)),
          .question = from.text(question_column::words)};
}

}  // namespace larmor::xray_vqa
