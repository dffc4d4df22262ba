// All that a report shows of one run, as the JSON that the page reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "larmor/base/json.h"
#include "larmor/run/run_folder.h"

namespace larmor {

/// What `evaluate` leaves beside its pictures, for reports: pictures/evaluate-<split>/figures.json.
std::filesystem::path kept_figures(const RunFolder& folder, const std::string& split);
/// And what comparisons need beside them (judge/paired_figures.h): draws.json.
std::filesystem::path kept_draws(const RunFolder& folder, const std::string& split);

/// {name, folder, workload, stage, state, reason, program, build, host, began, ended, starts, steps, facts,
/// machine[[what, value]], plan[sentence], metric, data, time{part: seconds}, curves{name: [[step, value]]},
/// happenings[{t, generation, step, kind, words}], figures[…], pictures[{name, shots[{step, png}]}], config,
/// keys{key: value}}. What the run folder lacks is left out; names of files and patients are not in it, but
/// in pictures and in what was logged. `picture_bytes`: of all PNG files together. Throws Error (environment)
/// where the log cannot be read.
Json document_of(const RunFolder& folder, uint64_t picture_bytes);

}  // namespace larmor
