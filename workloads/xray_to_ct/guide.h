// What the scripts and files of the X-ray to CT guide say, in larmor's words.
#pragma once

#include "larmor/task/workload.h"

namespace larmor::xray_to_ct {

ForeignFlags guide_flags();
GuideFiles guide_files();

}  // namespace larmor::xray_to_ct
