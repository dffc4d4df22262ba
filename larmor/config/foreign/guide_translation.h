// The configuration file of a guide as a config of ours: what it says in our keys, and what of it means
// nothing here.
#pragma once

#include "larmor/config/foreign/deepspeed.h"
#include "larmor/config/guide_file.h"

namespace larmor {

/// One line, as it is written: [64, 64, 64].
std::string flow_text(const Node& node);

/// The kind of file that a config is; null for none. It then has what that kind is known by, and no section
/// that only we have.
const GuideFile* guide_file_of(const Node& root, const GuideFiles& files);

/// `stages`: of the workload. Values that cannot be, keys that the table does not have and two values for one
/// key of ours are problems; every other key gets a line. `@name` of MONAI's bundles is the value of that
/// key, of the same file.
Translation translate_guide_file(const Node& root, const GuideFile& file,
                                 const std::vector<std::string>& stages, Problems& problems);

}  // namespace larmor
