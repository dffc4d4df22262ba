// The test binary starts itself as launcher and as ranks; this is what the copies do.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "larmor/launch/launcher.h"
#include "larmor/plan/plan.h"

namespace larmor {

/// A plan of so many CPU ranks without binding.
Plan plan_for(int ranks);

/// The test binary as every rank; argument i is the act of rank i:
///   "echo=8", "cause=3"   two neighbours: the first ends before the second
///   "end=3"       ends with that status           "late=3"   the same, a little later
///   "kill=9"      computes step 120 and dies      "saving"   sets the phase, then waits like "wait"
///   "wait"        says ready, ends with 75 when asked to stop
///   "stubborn"    says ready, never ends          "unready"  the same with the signals' own meaning
///   "hang"        sleeps in step 33                "freeze"   stops itself there
///   "working"     shows there that it is alive
///   "parent"      starts a child that would outlive it, then like "kill=9"
///   "say"         speaks to all its outputs       "facts"    logs what it was given
LaunchOptions acting(const std::filesystem::path& log_folder, const std::vector<std::string>& acts);

/// Reads `file` again and again until it holds `words`, for at most ten seconds. The content, or "".
std::string wait_for_words(const std::filesystem::path& file, const std::string& words);

/// Whether that process has ended, within at most `seconds`.
bool ends_within(int process, double seconds);

}  // namespace larmor
