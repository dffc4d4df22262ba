// Real images and large files of reference values, which lie beside the project and never in it.
#pragma once

#include <filesystem>

namespace larmor::testing {

/// The folder data/ of LARMOR_SHARED, or of shared/ beside the source tree; empty when this machine does not
/// have it.
std::filesystem::path shared_data();
/// The same of the folder golden/: what other programs computed, in files too large for the project.
std::filesystem::path shared_golden();

}  // namespace larmor::testing
