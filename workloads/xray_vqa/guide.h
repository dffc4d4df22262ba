// What the scripts and files of the VQA guide say, in larmor's words.
#pragma once

#include "larmor/task/workload.h"

namespace larmor::xray_vqa {

ForeignFlags guide_flags();
GuideFiles guide_files();

}  // namespace larmor::xray_vqa
