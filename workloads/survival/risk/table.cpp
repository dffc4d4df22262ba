#include "workloads/survival/risk/table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/printable.h"
#include "larmor/base/text.h"
#include "larmor/data/columns.h"
#include "larmor/formats/csv.h"

namespace larmor::survival {
namespace {

const WantedColumn image_column{
    "image",
    "the path of the image",
    {"image", "imagepath", "niftipath", "nifti", "path", "filepath", "filename", "file", "scan", "volume"}};
const WantedColumn time_column{"time",
                               "the time of the event or of the last visit",
                               {"time", "survivaltime", "timetoevent", "eventtime", "followuptime",
                                "followup", "duration", "os", "ostime"}};
const WantedColumn event_column{
    "event",
    "1 where the event happened, 0 where the patient was censored",
    {"event", "eventobserved", "eventindicator", "status", "mace", "death", "dead", "osevent"}};
const WantedColumn fold_column{"fold", "the fold", {"fold", "fold1", "split", "set", "partition", "fold*"}};
const WantedColumn patient_column{
    "patient",
    "whose the image is",
    {"patient", "patientid", "casenum", "subject", "subjectid", "mrn", "pid", "caseid", "case", "id"}};

struct Columns {
  int64_t image, time, event, fold, patient;
  std::vector<std::pair<std::string, int64_t>> covariates;
};

/// Throws Error (data) where there is no such column, and where it is another of the table's: a network that
/// is told the time has nothing to predict.
std::vector<std::pair<std::string, int64_t>> find_covariates(const CsvTable& table, const Columns& columns,
                                                             const CovariateColumns& covariates,
                                                             const std::string& place) {
  std::vector<std::pair<std::string, int64_t>> found;
  for (const std::string& name : covariates.all()) {
    const int64_t at = table.find(name);
    const auto near = nearest(name, table.columns);
    if (at == no_column)
      fail(
          Exit::data, text(place, " has no column ", name, ", only ", table.listed()),
          text("correct data.covariates", near.empty() ? std::string() : text(": did you mean ", near, '?')));
    for (const auto& [meaning, column] : {std::pair{"image", columns.image},
                                          {"time", columns.time},
                                          {"event", columns.event},
                                          {"fold", columns.fold},
                                          {"patient", columns.patient}}) {
      if (at == column)
        fail(Exit::data, text(place, ": the column ", name, " is the ", meaning, ", and no covariate"),
             text("take it out of data.covariates, or name another column in data.columns.", meaning));
    }
    found.emplace_back(name, at);
  }
  return found;
}

std::optional<double> number_in(const std::string& cell) {
  double number = 0;
  const auto* const end = cell.data() + cell.size();
  const auto [rest, error] = std::from_chars(cell.data(), end, number);
  if (cell.empty() || error != std::errc() || rest != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::optional<double> event_in(const std::string& cell) {
  const auto word = lower(cell);
  if (word == "true" || word == "yes") return 1;
  if (word == "false" || word == "no") return 0;
  const auto number = number_in(cell);
  return number && (*number == 0 || *number == 1) ? number : std::nullopt;
}

/// Reads rows, and remembers what is wrong with any of them.
class Rows {
 public:
  Rows(const CsvTable& table, const Columns& columns, const TableFolds& folds,
       const CovariateColumns& covariates, std::string place)
      : table_(table), columns_(columns), covariates_(covariates), place_(std::move(place)) {
    for (const auto& [split, words] :
         {std::pair{Split::train, &folds.train}, {Split::val, &folds.val}, {Split::test, &folds.test}}) {
      for (const auto& word : *words) split_of_[lower(word)] = split;
    }
  }

  void read(const CsvTable::Row& row) {
    ListedCase entry;
    entry.place = text(place_, ':', row.line);
    if (columns_.fold != no_column) {
      const auto split = split_of_.find(lower(cell(row, columns_.fold)));
      if (split == split_of_.end()) {
        ++left_out_[cell(row, columns_.fold)];
        return;
      }
      entry.split = split->second;
    }
    const auto& image = cell(row, columns_.image);
    const auto time = number_in(cell(row, columns_.time));
    const auto event = event_in(cell(row, columns_.event));
    if (image.empty()) complain(row, columns_.image, "there is no path");
    if (!time || *time < 0)
      complain(row, columns_.time, text("\"", cell(row, columns_.time), "\" is no time"));
    if (!event) complain(row, columns_.event, text("\"", cell(row, columns_.event), "\" is neither 0 nor 1"));
    entry.files["image"] = image;
    entry.patient = columns_.patient != no_column ? cell(row, columns_.patient)
                    : columns_.fold != no_column  ? text("row ", row.line)
                                                  : std::string();
    entry.values = {{"time", time.value_or(0)}, {"event", event.value_or(0)}};
    for (const auto& [name, column] : columns_.covariates) {
      const auto value = covariate_value(covariates_, name, cell(row, column));
      if (value)
        entry.values.insert(*value);
      else
        complain(row, column, text("\"", cell(row, column), "\" is no number"));
    }
    cases.push_back(std::move(entry));
  }

  void refuse_faults() const {
    if (faults_.empty()) return;
    constexpr std::size_t shown = 10;
    fail(Exit::data,
         text(place_, ": ", faults_.size(), faults_.size() == 1 ? " cell" : " cells",
              " cannot be used:", items(faults_, shown)),
         "correct the table, or name other columns with data.columns and data.covariates; the cell of a "
         "covariate that is not known is empty");
  }

  std::string left_out_words() const {
    std::string words;
    for (const auto& [word, count] : left_out_)
      words += text("; ", count, count == 1 ? " row" : " rows", " of fold \"", word, "\" left out");
    return words;
  }

  std::vector<ListedCase> cases;

 private:
  static const std::string& cell(const CsvTable::Row& row, int64_t column) {
    return row.cells[static_cast<std::size_t>(column)];
  }
  void complain(const CsvTable::Row& row, int64_t column, const std::string& what) {
    faults_.push_back(
        text("line ", row.line, ", ", table_.columns[static_cast<std::size_t>(column)], ": ", what));
  }

  const CsvTable& table_;
  const Columns columns_;
  const CovariateColumns covariates_;
  const std::string place_;
  std::map<std::string, Split> split_of_;
  std::map<std::string, int64_t> left_out_;
  std::vector<std::string> faults_;
};

std::string columns_sentence(const CsvTable& table, const Columns& columns) {
  std::vector<std::string> words;
  for (const auto& [key, column] : {std::pair{"image", columns.image},
                                    {"time", columns.time},
                                    {"event", columns.event},
                                    {"fold", columns.fold},
                                    {"patient", columns.patient}}) {
    words.push_back(text(
        key, " ", column == no_column ? "(no column)" : table.columns[static_cast<std::size_t>(column)]));
  }
  return text("columns: ", join(words, ", "));
}

}  // namespace

SurvivalTable read_survival_table(const std::filesystem::path& path, const TableColumns& columns,
                                  const TableFolds& folds, const CovariateColumns& covariates) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    fail(Exit::data, text("data.list ", path.string(), " is not there"),
         text("relative paths start from ", std::filesystem::current_path(error).string()));
  }
  const auto place = path.filename().string();
  const CsvTable table = parse_csv(read_text(path), place);
  Columns found{.image = find_column(table, image_column, columns.image, true, place),
                .time = find_column(table, time_column, columns.time, true, place),
                .event = find_column(table, event_column, columns.event, true, place),
                .fold = find_column(table, fold_column, columns.fold, false, place),
                .patient = find_column(table, patient_column, columns.patient, false, place),
                .covariates = {}};
  found.covariates = find_covariates(table, found, covariates, place);
  Rows rows(table, found, folds, covariates, place);
  for (const auto& row : table.rows) rows.read(row);
  rows.refuse_faults();
  if (rows.cases.empty()) {
    fail(Exit::data, text(place, " names no cases", rows.left_out_words()),
         "name the words of its fold column in data.folds.train, data.folds.val and data.folds.test");
  }
  complete_covariates(rows.cases);
  return {std::move(rows.cases), columns_sentence(table, found) + rows.left_out_words()};
}

std::map<std::string, std::string> columns_to_predict(const CsvTable& table, const std::string& place,
                                                      const TableColumns& columns) {
  std::map<std::string, std::string> meanings;
  for (const std::string& column : table.columns) {
    for (const auto& [wanted, asked] : {std::pair{&time_column, &columns.time},
                                        {&event_column, &columns.event},
                                        {&fold_column, &columns.fold},
                                        {&patient_column, &columns.patient}}) {
      if (may_be(column, *wanted, *asked)) meanings[column] = "";
    }
  }
  // A table for a prediction may call it as the input is called, whatever the column of training was.
  const bool is_asked = columns.image != "auto" && table.find(columns.image) != no_column;
  const auto image = find_column(table, image_column, is_asked ? columns.image : "auto", false, place);
  if (image != no_column) meanings[table.columns[static_cast<std::size_t>(image)]] = "image";
  return meanings;
}

}  // namespace larmor::survival
