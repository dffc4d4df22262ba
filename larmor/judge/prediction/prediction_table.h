// Cases of `predict` that stand in a table or a list of cases.
#pragma once

#include <filesystem>

#include "larmor/config/run_config.h"
#include "larmor/judge/prediction/prediction_folder.h"
#include "larmor/task/prediction.h"

namespace larmor {

/// One case a row of a CSV file: a column an input, under its own name or as training's tables call it, and
/// "case", which names the outputs. Columns that training reads beside the images are passed over, and in a
/// table that has such ones, which is training's own, all others, with a warning. What ends in .json is
/// MONAI's list. Paths start from the table's folder, and where nothing lies there from data.folder. Throws
/// Error: usage where nobody knows a column, or an input is missing; data as read_case_list(), and where a
/// file is not there or is no image.
GivenImages cases_of_table(const PredictionForm& form, const DataConfig& trained,
                           const std::filesystem::path& path);

}  // namespace larmor
