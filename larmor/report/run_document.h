// All that a report shows of one run, as the JSON that the page reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "larmor/base/json.h"
#include "larmor/run/run_folder.h"

namespace larmor {

/// What is known of a run without its log: {name, folder, workload, stage, state, reason, program, build,
/// host, keys{key: value}, metric, machine[[what, value]]}. What the run folder lacks is left out or "".
Json short_document_of(const RunFolder& folder);

/// The members of the document, besides the version: {began, ended, starts, steps, facts, plan[sentence],
/// data, time{part: seconds}, curves{name: [[step, value]]}, happenings[{t, generation, step, kind, words}],
/// figures[…], pictures[{name, shots[{step, png}]}], config}. What the run folder lacks is left out; names of
/// files and patients are not in it, but in pictures and in what was logged. `picture_bytes`: of all PNG
/// files together. Throws Error (environment) where the log cannot be read.
Json document_of(const RunFolder& folder, uint64_t picture_bytes);

}  // namespace larmor
