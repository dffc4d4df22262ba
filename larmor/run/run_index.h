// A run's cases and splits are those that it was started with: what is there now is held against them, so
// that nobody whom the run has trained on comes to judge it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/data/index/index.h"
#include "larmor/run/earlier/trained_on.h"

namespace larmor {

/// What of a run's data is not as it was when the run was started. Cases by name.
struct DataChanges {
  std::vector<std::string> removed, added;
  std::vector<std::string> edited;   // other contents, sizes, labels or values
  std::vector<std::string> touched;  // another time of change, and no other sign
  std::vector<std::string> new_patients, gone_patients;

  /// Whether there is anything but touched files.
  bool any() const { return !removed.empty() || !added.empty() || !edited.empty(); }
};

/// `now`: Stage::found(). Reads parts of the files where the run remembers what they looked like. Blocks.
DataChanges changes_since(const Index& start, const Index& now);
/// A line for each kind of change, with some of the names, as items() of an Error or of the log.
std::string listing(const DataChanges& changes);
/// {removed, added, edited, new_patients, gone_patients}
Json to_json(const DataChanges& changes);

/// The cases of the run as `now` has them: patients and splits of the run, files, labels and values of now,
/// what is not there left out.
Index found_of_run(const Index& start, const Index& now);
/// The same for a host that holds its data against the run's: cases that the run knows to be bad are as in
/// `start`, whatever the host has of them.
Index seen_of_run(const Index& start, const Index& now);

/// The cases that a run is to be judged by.
struct JudgedCases {
  Index index;
  Split split = Split::val;
  bool is_other = false;                // another data set than the run's: all of it is in `split`
  DataChanges changes;                  // of the run's data
  std::vector<std::string> trained_on;  // patients who are left out, because the run has trained on them
};

/// `now`: Stage::found(). Its cases are the run's where at least one of them is the same case with the same
/// contents, or unless the person has named other data (`names_data`). Then the splits are the run's, and new
/// cases are in none. Cases of another data set are all in the split that is asked for (without a word:
/// test), or in those that their list says. Nobody gets into val or test whom the run has trained on, by name
/// or by what is in the files, nor who is among `before`, by whom the weights were trained that the run has
/// begun with. Throws Error: usage for the split train of another data set; data when nobody is left.
JudgedCases cases_to_judge(const Index& start, const Index& now, std::optional<Split> asked, bool names_data,
                           const TrainedOn& before = {});

/// Leaves so many cases of train, evenly spread, as many but at most four of val, and none of test.
void keep_few(Index& index, int64_t cases);

/// What a resumed run goes by: the cases, order and splits of its start, with what was touched or repaired
/// since under `touched`. Throws Error (data), with all changes, where cases were edited that were not
/// `known_bad`. `notes` gets what a person should know.
Index index_of_resumed_run(const Index& start, const Index& now, const std::vector<BadFile>& known_bad,
                           std::vector<std::string>& notes);

}  // namespace larmor
