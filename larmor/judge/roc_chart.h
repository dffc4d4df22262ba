// ROC curves as pictures.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "larmor/base/image.h"
#include "larmor/task/case_columns.h"

namespace larmor {

/// "roc", and "roc_2" … where there are more curves than one chart's colours: sensitivity beside the rate of
/// false positives, each with its area and with how many rows have it. Scores whose rows are all alike have
/// no curve; without any there is no chart.
std::vector<std::pair<std::string, Image>> roc_charts(const std::vector<ScoredTruths>& scores);

}  // namespace larmor
