// Where the weights of an earlier stage lie: in a run of it, or in what a later run has kept of that one.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "larmor/base/files/storage.h"
#include "larmor/base/json.h"
#include "larmor/run/earlier/trained_on.h"
#include "larmor/run/run_folder.h"
#include "larmor/task/workload.h"

namespace larmor {

/// One trained stage, unread.
struct EarlierSource {
  /// A file that is hashed whenever it is read.
  struct File {
    std::filesystem::path path;
    std::string sha256;
  };
  std::string stage;
  std::string run, checkpoint;   // where it was found, for people
  bool averaged = false;         // the weights are the average
  std::filesystem::path config;  // the run's config.yaml
  std::string config_sha256;     // of its values, not of the file
  File weights;                  // of the predicting network; an empty path where no run is there yet
  File task;                     // the tensors of the task itself; an empty path where it has none
  Json task_values;
  TrainedOn trained_on;              // by whom, in runs before it as well; not part of the hash
  std::map<std::string, File> kept;  // files that its run has kept (run/kept_files.h), by name

  /// "sha256:…" of everything that a later run takes from it.
  std::string hash() const;
};
/// The sources, by the name of the stage.
using EarlierSources = std::map<std::string, EarlierSource>;

/// What `words` name, RUN[#best|last|step-…]: the stage `stage` of `workload`, and what its run has kept of
/// stages before it. Reads and verifies the checkpoint. Throws Error: usage where there is no such run, or it
/// is one of another stage; checkpoint where the checkpoint is damaged.
EarlierSources find_earlier(const Workload& workload, const std::string& stage, const std::string& words,
                            const std::filesystem::path& runs);

/// What a run has kept: the folders of RUN/from.
EarlierSources kept_earlier(const RunFolder& folder);
/// Makes RUN/from of a run that is new: a folder a stage, by link or copy.
void keep_earlier(const EarlierSources& sources, const RunFolder& folder, Storage& storage);
/// Removes the weights of stages that a run needed for its start alone; their hashes stay.
void forget_starting_weights(const std::vector<Need>& needs, const RunFolder& folder, Storage& storage);

}  // namespace larmor
