// Spoilt files, the same ones in every run.
#pragma once

#include <string>

#include "larmor/base/seed.h"

namespace larmor::testing {

/// One to five changes: bits, bytes, lengths, and words that break arithmetic, on the boundaries where fields
/// lie. Requires: not empty.
std::string mutated(std::string bytes, Draws& draws);

}  // namespace larmor::testing
