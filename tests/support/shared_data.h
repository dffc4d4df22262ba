// Real images, which lie beside the project and never in it.
#pragma once

#include <filesystem>

namespace larmor::testing {

/// The folder data/ of LARMOR_SHARED, or of shared/ beside the source tree; empty when this machine does not
/// have it.
std::filesystem::path shared_data();

}  // namespace larmor::testing
