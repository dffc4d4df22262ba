#include "larmor/judge/case_tables.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/files/removal.h"
#include "larmor/base/files/whole_file.h"
#include "larmor/base/text.h"
#include "larmor/formats/csv.h"

namespace larmor {

namespace {

namespace fs = std::filesystem;

constexpr const char *cases_file = "cases.csv", *patients_file = "patients.csv",
                     *columns_file = "columns.csv", *groups_file = "groups.csv";
/// All that such a folder may hold.
constexpr const char* known_files[] = {cases_file,  patients_file, columns_file,
                                       groups_file, "roc.csv",     "thresholds.csv"};

std::string line_of(const std::vector<std::string>& cells) { return join(cells, ",") + "\n"; }

/// A column with what is declared of it.
struct Told {
  CaseColumn column;
  Better better = Better::neither;
};

void add(std::vector<Told>& all, CaseColumn column, Better better) {
  const auto is_there = [&](const Told& one) { return one.column.name == column.name; };
  if (std::ranges::none_of(all, is_there)) all.push_back({std::move(column), better});
}

void add_figure(std::vector<Told>& all, const std::string& name, const MetricResult& metric,
                const DeclaredFigure* figure) {
  if (metric.per_case.empty()) return;
  CaseColumn column{.name = name, .numbers = {metric.per_case.begin(), metric.per_case.end()}};
  if (figure != nullptr) {
    column.meaning = figure->meaning;
    column.unit = figure->unit;
  }
  add(all, std::move(column), figure == nullptr ? Better::neither : figure->better);
}

Better direction_of(const std::string& column, const DeclaredFigures& declared) {
  const DeclaredFigure* const figure = find_figure(declared, column);
  return figure == nullptr ? Better::neither : figure->better;
}

/// Facts and columns first, then figures as they are declared, then the others by name.
std::vector<Told> columns_of_result(const ValidationResult& result, const CaseColumns& facts,
                                    const DeclaredFigures& declared) {
  std::vector<Told> all;
  for (const auto* const group : {&facts, &result.columns}) {
    for (const CaseColumn& column : *group) {
      if (!result.metrics.contains(column.name) || result.metrics.at(column.name).per_case.empty())
        add(all, column, direction_of(column.name, declared));
    }
  }
  for (const DeclaredFigure& figure : declared) {
    const auto metric = result.metrics.find(figure.name);
    if (metric != result.metrics.end()) add_figure(all, figure.name, metric->second, &figure);
  }
  for (const auto& [name, metric] : result.metrics) {
    if (find_figure(declared, name) == nullptr) add_figure(all, name, metric, nullptr);
  }
  return all;
}

/// The cases that have anything, in their order.
std::set<int64_t> examples_of(const ValidationResult& result) {
  std::set<int64_t> examples;
  for (const auto& [name, metric] : result.metrics) {
    for (const auto& [example, value] : metric.per_case) examples.insert(example);
  }
  for (const CaseColumn& column : result.columns) {
    for (const auto& [example, word] : column.words) examples.insert(example);
    for (const auto& [example, number] : column.numbers) examples.insert(example);
  }
  return examples;
}

std::string cell_of(const CaseColumn& column, int64_t example) {
  if (const auto number = column.numbers.find(example); number != column.numbers.end())
    return text(number->second);
  const auto word = column.words.find(example);
  return word == column.words.end() ? std::string() : csv_words(word->second);
}

std::string cases_table(const std::vector<Told>& columns, const std::set<int64_t>& examples,
                        const Dataset& dataset, Split split) {
  std::vector<std::string> names{"case", "patient", "split"};
  for (const Told& one : columns) names.push_back(csv_words(one.column.name));
  std::string table = line_of(names);
  for (const int64_t example : examples) {
    std::vector<std::string> cells{csv_words(dataset.name(example)), csv_words(dataset.patient(example)),
                                   to_text(split)};
    for (const Told& one : columns) cells.push_back(cell_of(one.column, example));
    table += line_of(cells);
  }
  return table;
}

using CasesOfPatients = std::map<std::string, std::vector<int64_t>>;

/// The cell of a patient; nothing where two cases say two things in words.
std::optional<std::string> cell_of(const CaseColumn& column, const std::vector<int64_t>& cases) {
  std::set<std::string> words;
  std::vector<double> numbers;
  for (const int64_t example : cases) {
    if (const auto word = column.words.find(example); word != column.words.end()) words.insert(word->second);
    if (const auto number = column.numbers.find(example); number != column.numbers.end())
      numbers.push_back(number->second);
  }
  if (words.size() > 1) return std::nullopt;
  if (!words.empty()) return csv_words(*words.begin());
  if (numbers.empty()) return "";
  // A mean of equal numbers is that number, whatever its rounding.
  if (std::ranges::adjacent_find(numbers, std::ranges::not_equal_to()) == numbers.end())
    return text(numbers.front());
  double sum = 0;
  for (const double number : numbers) sum += number;
  return text(sum / static_cast<double>(numbers.size()));
}

/// Takes the columns out that it has no cells for.
std::string patients_table(std::vector<Told>& columns, const CasesOfPatients& patients, Split split) {
  std::erase_if(columns, [&](const Told& one) {
    return std::ranges::any_of(
        patients, [&](const auto& patient) { return !cell_of(one.column, patient.second).has_value(); });
  });
  std::vector<std::string> names{"patient", "split", "cases"};
  for (const Told& one : columns) names.push_back(csv_words(one.column.name));
  std::string table = line_of(names);
  for (const auto& [patient, cases] : patients) {
    std::vector<std::string> cells{csv_words(patient), to_text(split), text(cases.size())};
    for (const Told& one : columns) cells.push_back(*cell_of(one.column, cases));
    table += line_of(cells);
  }
  return table;
}

std::string columns_table(const std::vector<std::pair<const char*, const std::vector<Told>*>>& of_files) {
  std::string table = "file,column,unit,better,meaning\n";
  const auto add_line = [&](const char* file, const std::string& column, const std::string& unit,
                            Better better, const std::string& meaning) {
    table += line_of({file, csv_words(column), csv_words(unit), to_text(better), csv_words(meaning)});
  };
  for (const auto& [file, columns] : of_files) {
    const bool is_of_patients = file == std::string_view(patients_file);
    if (!is_of_patients) add_line(file, "case", "", Better::neither, "name of the case");
    add_line(file, "patient", "", Better::neither, "whose it is");
    add_line(file, "split", "", Better::neither, "train, val or test");
    if (is_of_patients) add_line(file, "cases", "", Better::neither, "how many of the patient");
    for (const Told& one : *columns) {
      const bool is_mean = is_of_patients && one.column.words.empty();
      add_line(file, one.column.name, one.column.unit, one.better,
               is_mean ? text("mean over the cases: ", one.column.meaning) : one.column.meaning);
    }
  }
  return table;
}

bool is_of_such_a_folder(const std::string& name) {
  return std::ranges::find(known_files, name) != std::end(known_files);
}

}  // namespace

std::vector<NamedTable> case_tables(const ValidationResult& result, const CaseColumns& facts,
                                    const DeclaredFigures& declared, const Dataset& dataset, Split split) {
  const auto columns = columns_of_result(result, facts, declared);
  const auto examples = examples_of(result);
  CasesOfPatients patients;
  for (const int64_t example : examples) patients[dataset.patient(example)].push_back(example);
  auto of_patients = columns;
  auto cases = cases_table(columns, examples, dataset, split);
  auto by_patient = patients_table(of_patients, patients, split);
  auto meanings = columns_table({{cases_file, &columns}, {patients_file, &of_patients}});
  return {{cases_file, std::move(cases)},
          {patients_file, std::move(by_patient)},
          {columns_file, std::move(meanings)}};
}

NamedTable groups_table(const ValidationResult& result, const DeclaredFigures& declared) {
  std::string table = "by,group,cases,patients,figure,value,low,high,unit,reason\n";
  for (const ValidationResult& part : result.groups) {
    for (const auto& [name, metric] : part.metrics) {
      const DeclaredFigure* const figure = find_figure(declared, name);
      const bool has_interval = metric.interval.has_value();
      table += line_of({csv_words(part.of.by), csv_words(part.of.name), text(part.of.examples.size()),
                        text(part.patients), csv_words(name), text(metric.mean),
                        has_interval ? text(metric.interval->first) : "",
                        has_interval ? text(metric.interval->second) : "",
                        figure == nullptr ? "" : csv_words(figure->unit),
                        csv_words(metric.undefined.empty() ? metric.no_interval : metric.undefined)});
    }
  }
  return {groups_file, std::move(table)};
}

void check_table_folder(const fs::path& folder) {
  std::error_code unknown;  // is said where it is written
  if (!fs::exists(folder, unknown)) return;
  if (!fs::is_directory(folder, unknown))
    fail(Exit::usage, text(folder.string(), " is a file"), "name a folder for the tables with --output");
  for (const auto& entry : fs::directory_iterator(folder, unknown)) {
    const auto name = entry.path().filename().string();
    if (is_of_such_a_folder(name)) continue;
    fail(Exit::usage, text(folder.string(), " holds other files, ", name, " for one"),
         "name a new folder, or an empty one, with --output: tables of an earlier call alone are replaced");
  }
}

std::vector<std::string> write_tables(Storage& storage, const fs::path& folder,
                                      const std::vector<NamedTable>& tables) {
  storage.create_folders(folder);
  std::vector<std::string> files;
  for (const auto& [file, content] : tables) {
    write_output(storage, folder / file, content);
    files.push_back((folder / file).string());
  }
  // What an earlier call has written and this one does not would be taken for this one's.
  for (const char* const file : known_files) {
    if (std::ranges::find(tables, file, &NamedTable::file) == tables.end())
      remove_file(storage, folder / file);
  }
  return files;
}

}  // namespace larmor
