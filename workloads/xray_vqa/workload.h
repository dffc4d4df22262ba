// Questions about chest radiographs, and CheXpert's labels.
#pragma once

#include "larmor/task/workload.h"

namespace larmor::xray_vqa {

Workload make_workload();

}  // namespace larmor::xray_vqa
