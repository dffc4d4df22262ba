// The table of a cohort: which image, how long followed, and with what end.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "larmor/data/index/case_list.h"
#include "larmor/formats/csv.h"

#include "workloads/survival/risk/covariates.h"

namespace larmor::survival {

/// Names of columns; "auto" is guessed.
struct TableColumns {
  std::string image = "auto", time = "auto", event = "auto", fold = "auto", patient = "auto";
};

/// Which words of the fold column mean which split.
struct TableFolds {
  std::vector<std::string> train = {"train", "training"}, val = {"val", "valid", "validation"},
                           test = {"test", "testing"};
};

struct SurvivalTable {
  /// The cases with `values` time and event, and those of covariates (covariates.h). Without a column for
  /// patients each row is a patient of its own when the table has folds, and nobody's otherwise.
  std::vector<ListedCase> cases;
  std::string sentence;  // which column was taken for what, and what is left out, for people
};

/// Columns are found by their whole name first, then by names of the field ("NIFTI path", "time", "event",
/// "Fold_1", "case_num"), without regard to case, blanks, - and _. Rows whose fold is in no list are left
/// out. Throws Error (data): a column that is missing or in doubt, naming those there are; events other than
/// 0 and 1, times that are missing, negative or no numbers, empty paths, covariates that are no numbers: all
/// such rows, with their lines; a covariate that is also another of the columns.
SurvivalTable read_survival_table(const std::filesystem::path& path, const TableColumns& columns,
                                  const TableFolds& folds, const CovariateColumns& covariates = {});

/// The columns of such a table by what they are to a prediction: "image", and "" for those that may be
/// another of the columns above. Throws Error (data) where several could be the image.
std::map<std::string, std::string> columns_to_predict(const CsvTable& table, const std::string& place,
                                                      const TableColumns& columns);

}  // namespace larmor::survival
