// The program with CUDA, run on emulated cards.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/processes/support/program_run.h"

namespace larmor::testing {

struct EmulatedMachine {
  std::string cards = "2*H100";                         // as machine.h says
  std::map<std::string, std::string> environment = {};  // of the emulation and of the program
};

/// The script that runs a command on emulated cards.
std::string on_emulated_gpus();
/// Starts the program in `folder`. The caller waits.
Running start_on_gpus(std::vector<std::string> arguments, const std::filesystem::path& folder,
                      const EmulatedMachine& machine = {});
/// Starts the program in `folder`, and waits.
Finished run_on_gpus(std::vector<std::string> arguments, const std::filesystem::path& folder,
                     const EmulatedMachine& machine = {});

/// What the steps of a run have logged of training: losses, norms and rates by name, of each step.
std::vector<std::map<std::string, double>> training_values(const std::filesystem::path& run);

}  // namespace larmor::testing
