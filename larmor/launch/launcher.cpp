#include "larmor/launch/launcher.h"

#include "larmor/launch/fleet.h"

namespace larmor {

GroupEnding run_ranks(const Plan& plan, const LaunchOptions& options) { return Fleet().run(plan, options); }

}  // namespace larmor
