// How the end of a training is told: in the run folder, to the person, and as an exit status.
#pragma once

#include <string>

#include "larmor/base/error.h"
#include "larmor/base/files/storage.h"
#include "larmor/run/run_folder.h"

#include "app/program.h"

namespace larmor::app {

/// What `train` leaves on stdout: the run's folder, or with --json what it came to.
void show_run(const Program& program, const RunFolder& folder, const std::string& metric,
              const std::string& status);

/// Called after ranks that ended well (`exit` is done) or as a signal had asked (stopped): marks a run that
/// is over, shows what it came to and gives the exit status.
int conclude_training(const Program& program, const RunFolder& folder, const std::string& metric, Exit exit,
                      Storage& storage);

}  // namespace larmor::app
