// Which build of larmor this is.
#pragma once

#include <string>

#include "larmor/base/json.h"
#include "larmor/hardware/hardware.h"

namespace larmor::app {

/// "1ffdb20a7c3e"; it ends in "+changes" where the checkout had some, and is "unknown" outside of one.
const char* commit();

/// "larmor 0.1.0 commit=1ffdb20a7c3e libtorch=2.11.0 cuda=13.0", in this order; cuda is "none" in a build
/// without.
std::string build_line();

/// What a report of a fault needs: libraries by their versions as they are loaded, and the GPUs that there is
/// code for.
Json versions_of(const Hardware& hardware);

}  // namespace larmor::app
