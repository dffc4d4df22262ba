#include "larmor/base/version.h"

namespace larmor {

const char* version() { return LARMOR_VERSION; }

}  // namespace larmor
