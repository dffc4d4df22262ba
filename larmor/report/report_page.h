// The report of runs as one HTML file, which needs no network (docs/decisions/0109).
#pragma once

#include <string>

#include "larmor/base/json.h"

namespace larmor {

/// `runs`: documents of run_document.h. Foreign text in them is shown as text, whatever it holds.
std::string report_page(const Json& runs);

}  // namespace larmor
