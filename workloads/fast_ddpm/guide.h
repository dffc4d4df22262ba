// What the scripts and files of the Fast-DDPM guide say, in larmor's words.
#pragma once

#include "larmor/task/workload.h"

namespace larmor::fast_ddpm {

ForeignFlags guide_flags();
GuideFiles guide_files();

}  // namespace larmor::fast_ddpm
