// How the figures of a validation are shown: as JSON, and as lines for a person.
#pragma once

#include <string>

#include "larmor/base/declared_figure.h"
#include "larmor/base/json.h"
#include "larmor/base/printable.h"
#include "larmor/data/dataset.h"
#include "larmor/judge/validation.h"

namespace larmor::app {

/// Adds the figures by their names, with `remarks` and `verdicts` where there are any. `dataset` has the
/// cases' names.
void add_figures(Json& json, const ValidationResult& result, const DeclaredFigures& declared,
                 const Dataset& dataset);
/// The figures of the parts of a split, without their cases: [{by, group, n, patients, …}].
Json groups_json(const ValidationResult& result, const DeclaredFigures& declared, const Dataset& dataset);
/// A block for each of them, below a line for each column that they go by.
Lines group_lines(const ValidationResult& result, const DeclaredFigures& declared);
/// A line a figure, those declared first and in their order, then the sentences.
Lines figure_lines(const ValidationResult& result, const DeclaredFigures& declared);

}  // namespace larmor::app
