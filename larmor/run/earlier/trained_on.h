// By whom weights were trained: of them nobody comes to judge a run that has these weights, itself, through
// `from.run`, or through an earlier stage.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "larmor/base/files/storage.h"
#include "larmor/base/json.h"
#include "larmor/data/index/index.h"
#include "larmor/run/run_folder.h"

namespace larmor {

struct TrainedOn {
  std::set<std::string> people;
  std::set<std::pair<uint64_t, uint64_t>> contents;  // of their images: sizes and samples

  void add(const TrainedOn& more);
  bool empty() const { return people.empty() && contents.empty(); }
  bool operator==(const TrainedOn&) const = default;
};
/// The training cases of an index, and what it remembers of their images.
TrainedOn trained_on(const Index& start);
/// Whether a case of `index` is of one of them: by name, or by what `states` says of its images.
bool has_trained_on(const TrainedOn& trained, const Index& index, const Case& entry,
                    const std::map<std::string, FileState>& states);
/// The patients in val and test of `index` who are among them.
std::set<std::string> patients_among(const TrainedOn& trained, const Index& index,
                                     const std::map<std::string, FileState>& states);
/// Takes the patients out of val and test of `index`. Gives their cases.
std::vector<Case> take_out(Index& index, const std::set<std::string>& patients);

/// The first names, and how many more there are.
std::string first_few(const std::vector<std::string>& names);

/// Leaves those out of val and test of a new run's `index` who are among them: Index::left_out; its account
/// of files says so. Reads parts of the files of val and test where the index does not know what they look
/// like. Throws Error (data) where nobody would be left in val.
void leave_out_trained(Index& index, const TrainedOn& trained);

/// Writes them beside what a run keeps of another one, in RUN/from/…; blocks.
void keep_trained_on(const TrainedOn& trained, const std::filesystem::path& place, Storage& storage);
/// The file's name there.
inline constexpr const char* trained_on_name = "trained_on.json";
/// What was kept there; of nobody where a run of an earlier version has kept nothing.
TrainedOn kept_trained_on(const std::filesystem::path& place);
/// Who trained the weights that a run has begun with and those of the stages that it builds on.
TrainedOn trained_before(const RunFolder& folder);
/// Who trained a run's own weights, by the cases: its training cases, and those before it.
TrainedOn trained_on_by(const RunFolder& folder);

}  // namespace larmor
