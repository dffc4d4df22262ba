// What accelerate is told, in its YAML and in the variables that `accelerate launch` sets, as a config of
// ours.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "larmor/config/foreign/deepspeed.h"
#include "larmor/config/guide_file.h"

namespace larmor {

/// The kind of file that `accelerate config` writes.
const GuideFile& accelerate_file();

/// Its YAML as a config of ours. Which host a process is on, and how many there are, is said by flags.
Translation translate_accelerate(const Node& root, Problems& problems);

/// The same of the variables of processes that `accelerate launch` starts. Variables that ask for nothing get
/// no line. `sources` gets one for each that asks for something.
Translation translate_accelerate_environment(const std::map<std::string, std::string>& environment,
                                             std::deque<Source>& sources, Problems& problems);

}  // namespace larmor
