// Evaluations of two runs, or of two checkpoints, over the same cases: whether their figures can be told
// apart.
#pragma once

#include <string>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/data/dataset.h"
#include "larmor/judge/validation.h"
#include "larmor/judge/verdict.h"

namespace larmor {

/// What a comparison needs beside the figures: {cases, figures{name: {cases, patients, values[…]}}}. `cases`
/// is a hash of the dataset's cases and their patients, in order; that of a figure is of those whose values
/// it is made of. `values` are what it comes to for each draw of patients (bootstrap.h), null where it is not
/// defined. Figures without an interval have none.
Json draws_json(const ValidationResult& result, const Dataset& dataset);

/// An evaluation as `evaluate` keeps it.
struct KeptEvaluation {
  Json figures = Json::object();  // what `evaluate --json` shows
  Json draws = Json::object();
};

/// Each figure that both have as a number: `second`'s value beside `first`'s, which stands for the baseline
/// and is called `name_of_first`, with the interval of the difference over patients who are drawn for both
/// alike, or why there is none. In the order of `second`. Throws Json::exception where they are not of that
/// form.
std::vector<Verdict> paired_figures(const KeptEvaluation& first, const KeptEvaluation& second,
                                    const std::string& name_of_first);

}  // namespace larmor
