// What the figures of questions and labels are.
#pragma once

#include "larmor/base/declared_figure.h"

namespace larmor::xray_vqa {

/// All that record_vqa_figures() may give.
DeclaredFigures declared_vqa_figures();

}  // namespace larmor::xray_vqa
