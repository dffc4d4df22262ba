// Bytes for programs that this process starts: a file in memory, without a name, that only they inherit.
#pragma once

#include <string>
#include <string_view>

#include "larmor/base/process/descriptor.h"

namespace larmor {

/// `what` names it in the message. Throws Error (environment).
Descriptor memory_file(std::string_view bytes, const std::string& what);
/// All of the file, which no program that this process starts inherits from here on. Throws Error (usage)
/// where that descriptor is none; `variable` is the one that named it.
std::string read_memory_file(int descriptor, const std::string& variable);

}  // namespace larmor
