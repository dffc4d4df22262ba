// The words of the calls that a trial is made of.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "larmor/base/files/storage.h"
#include "larmor/data/index/index.h"
#include "larmor/run/run_setup.h"
#include "larmor/task/prediction.h"

#include "app/program.h"

namespace larmor::app {

/// Steps before the first validation and save, and those after a start that are too slow to count.
constexpr int64_t first_steps = 2;

/// `train` of the same run in that folder, with so many cases and the batch of the draft.
std::vector<std::string> arguments_of_first_start(const VerbArguments& asked, const RunConfig& config,
                                                  const RunDraft& draft, int64_t cases,
                                                  const std::filesystem::path& folder);
/// `train RUN` that goes on to that step and validates there.
std::vector<std::string> arguments_of_second_start(const std::filesystem::path& run, int64_t steps);
/// `predict RUN` of one case, of validation where there is one. What no file shows is made up and written
/// into the folder.
std::vector<std::string> arguments_of_prediction(const std::filesystem::path& run, const PredictionForm& form,
                                                 const Index& index, Storage& storage,
                                                 const std::filesystem::path& folder);

}  // namespace larmor::app
