// Assigns patients (never single files) to the train, val and test splits.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "larmor/config/fold.h"
#include "larmor/config/run_config.h"

namespace larmor {

enum class Split { train, val, test };
std::string to_text(Split split);
/// Also "training", "valid", "validation", "testing", in any case. Throws Error (data).
Split split_from_text(const std::string& word);

struct PatientSplits {
  std::map<std::string, Split> of;  // patients that no split takes are absent
  std::vector<std::string> notes;   // what a person should know about it
};

/// Deals out `patients` (distinct, sorted). In this order:
/// 1. `given`, a list file's own split of a patient, holds whatever the config says.
/// 2. A patient named under `train`, `val` or `test` belongs there.
/// 3. The rest is shuffled by the seed and dealt out by those fractions that are left: a split that was given
///    names, by the config or the list file, takes nobody else, and the fractions of the others are scaled
///    to 1. Without any names they hold as they stand: what they leave of 1 stays unused, and above 1 they
///    are scaled down. Counts are rounded by largest remainder, but a fraction above 0 gets one patient at
///    least as long as there are enough.
/// Whom the shuffle puts first depends on the seed and the patients' names alone, not on their number.
/// With a `fold`, the shuffled patients who are not in test by these rules go round the folds one by one;
/// those of that fold are val, the others train. Splits that are given may then be tests alone. Throws Error:
/// usage for a value that is neither fraction nor list, data for an unknown name (with the nearest), one in
/// two lists, more folds than patients, or a fold of patients who have splits.
PatientSplits split_patients(const std::vector<std::string>& patients,
                             const std::map<std::string, Split>& given, const SplitSection& section,
                             uint64_t seed, std::optional<Fold> fold = std::nullopt);

}  // namespace larmor
