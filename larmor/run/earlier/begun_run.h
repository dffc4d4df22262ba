// `from.run`: another run of the same stage, whose weights a new run begins with.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "larmor/base/files/storage.h"
#include "larmor/base/json.h"
#include "larmor/checkpoint/checkpoint.h"
#include "larmor/run/earlier/trained_on.h"
#include "larmor/run/loaded_stage.h"
#include "larmor/run/run_folder.h"
#include "larmor/task/workload.h"

namespace larmor {

/// What a run begins with, in another run or as it has been kept of it.
struct BegunFrom {
  CheckpointEntry checkpoint;
  std::string run;              // where it was found, for people
  std::string why;              // "best", "last", or "" where its name was given
  bool average = false;         // of the predicting network the averaged weights
  bool with_optimizer = false;  // and, with the last weights, the optimizer's state and the average
  TrainedOn trained_on;         // by whom its weights were trained, in runs before it as well
  RunConfig config = {};        // of that run; unread in what was kept

  /// "sha256:…" of everything that the new run takes over.
  std::string hash() const;
};

/// The run that from.run of a config names, as a person does.
std::optional<std::string> named_beginning(const RunConfig& config);

/// What from.run of `asked` names, of which no byte of a tensor is read; nothing where it names none, or
/// shows what a run has kept. Throws Error (usage) where there is no such run, or it is one of another stage.
std::optional<BegunFrom> find_begun(const Workload& workload, const LoadedStage& asked);
/// The folder of that run, below which it has kept files (run/kept_files.h); empty where there is none.
std::filesystem::path run_of_begun(const RunConfig& config);
/// Refuses weights that the stage's networks cannot take (Error, usage), with names and both shapes, and the
/// state of another optimizer. Nothing of this is looked at while a stage that it needs has no weights yet.
void check_begun(const BegunFrom& begun, const LoadedStage& asked, const Index& index);
/// Both.
void check_begun(const Workload& workload, const LoadedStage& asked, const Index& index);

/// A sentence for the person who begins it.
std::string begun_message(const BegunFrom& begun);
/// The same as freeze_earlier(), for from.run. Of a run that is new (`recorded` is empty) every byte is read,
/// and the record is made. Throws Error as find_begun(), and checkpoint where it is damaged.
std::optional<BegunFrom> settle_begun(const Workload& workload, LoadedStage& asked, bool is_new,
                                      Json& recorded);

/// Makes RUN/from/run of a run that is new, by link or copy.
void keep_begun(const BegunFrom& begun, const RunFolder& folder, Storage& storage);
/// What a run has kept, its checkpoint unread; nothing where it has begun with no other run. Throws Error
/// (checkpoint) where its weights are gone.
std::optional<BegunFrom> kept_begun(const RunFolder& folder);
/// Removes what only the start of the run needs.
void forget_begun(const RunFolder& folder, Storage& storage);

}  // namespace larmor
