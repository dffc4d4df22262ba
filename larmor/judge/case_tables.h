// Tables of whom the figures of a split concern: a row a case, a row a patient, and what their columns are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "larmor/base/declared_figure.h"
#include "larmor/base/files/storage.h"
#include "larmor/data/dataset.h"
#include "larmor/data/index/split.h"
#include "larmor/judge/validation.h"

namespace larmor {

/// A file of a folder of tables.
struct NamedTable {
  std::string file, content;  // "cases.csv"
};

/// cases.csv: case, patient, split, `facts`, the columns of the result, and the values of its figures, in the
/// order of the cases; those that cannot be used are not there. patients.csv: a row a patient, with how many
/// cases and the mean of each column of numbers over them; words stand there where no patient has two.
/// columns.csv: file, column, unit, better, meaning. A number is the shortest text that reads back to it, a
/// cell is empty where the case has none, and foreign words stand as csv_words() has them.
std::vector<NamedTable> case_tables(const ValidationResult& result, const CaseColumns& facts,
                                    const DeclaredFigures& declared, const Dataset& dataset, Split split);

/// groups.csv: by, group, cases, patients, figure, value, low, high, unit, reason: a row a figure of each
/// part of the split, with its interval, or why it has no value or no interval.
NamedTable groups_table(const ValidationResult& result, const DeclaredFigures& declared);

/// Refuses (Error, usage) what cannot become such a folder: a file, or a folder that holds anything but
/// tables of those names, which are replaced.
void check_table_folder(const std::filesystem::path& folder);
/// Each file whole; tables of an earlier call that are not among these are removed. Throws Error
/// (environment). The paths, in the order of the tables.
std::vector<std::string> write_tables(Storage& storage, const std::filesystem::path& folder,
                                      const std::vector<NamedTable>& tables);

}  // namespace larmor
