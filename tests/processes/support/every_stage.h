// Every stage of the program, as words of the command line that plan it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace larmor::testing {

/// Of each stage its workload, `--stage` and its tiny config, and of one that builds on others
/// `from.<stage>=`: those are trained in `folder` for a step.
std::vector<std::vector<std::string>> words_of_every_stage(const std::filesystem::path& folder);

}  // namespace larmor::testing
