#include "workloads/xray_vqa/data/grades.h"

#include <array>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"
#include "larmor/data/columns.h"
#include "larmor/formats/csv.h"

namespace larmor::xray_vqa {
namespace {

constexpr std::array<const char*, 7> grade_names = {"A++", "A+", "A", "B", "C", "D", "unrated"};

const WantedColumn code_column = {
    "code", "the codes", {"code", "encoded", "id", "index", "value", "key", "number"}};
const WantedColumn grade_column = {
    "grade", "the grades", {"grade", "rating", "label", "name", "decoded", "quality", "letter", "meaning"}};
const WantedColumn field_column = {
    "field", "the names of fields", {"field", "column", "attribute", "type", "feature"}};

}  // namespace

std::optional<Grade> grade_called(std::string_view name) {
  const std::string wanted = lower(trim(name));
  for (std::size_t i = 0; i < grade_names.size(); ++i) {
    if (wanted == lower(grade_names[i])) return static_cast<Grade>(i);
  }
  return std::nullopt;
}

const char* name_of(Grade grade) { return grade_names.at(static_cast<std::size_t>(grade)); }

GradeCodes::GradeCodes(const std::filesystem::path& path) {
  const CsvTable table = parse_csv(read_text(path), path.string());
  const auto code = static_cast<std::size_t>(find_column(table, code_column, "auto", true, path.string()));
  const auto grade = static_cast<std::size_t>(find_column(table, grade_column, "auto", true, path.string()));
  const int64_t field = find_column(table, field_column, "auto", false, path.string());
  for (const auto& row : table.rows) {
    if (field != no_column && row.cells[static_cast<std::size_t>(field)] != "question_quality") continue;
    const auto meant = grade_called(row.cells[grade]);
    if (meant) codes_.emplace(row.cells[code], *meant);
  }
  if (codes_.empty()) {
    fail(Exit::data, text(path.string(), ": decodes no grade of questions; its columns are ", table.listed()),
         "give the file of the data set's release, or data.quality=all for an export that is filtered "
         "already");
  }
}

std::optional<Grade> GradeCodes::find(std::string_view code) const {
  const auto found = codes_.find(code);
  return found != codes_.end() ? std::optional(found->second) : grade_called(code);
}

}  // namespace larmor::xray_vqa
