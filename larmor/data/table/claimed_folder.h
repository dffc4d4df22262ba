// A folder that one process at a time builds tables in.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <vector>

#include "larmor/base/files/file.h"

namespace larmor {

struct ClaimedFolder {
  std::filesystem::path folder;
  FileLock lock;
};

/// `folder`, or folder-2, folder-3, … where others hold those and have written nothing into them for
/// `patience`: they may be stopped, and hold nobody up. Blocks as long as one who holds a folder goes on
/// writing, says so now and then, and calls `each_look` meanwhile. Throws Error (environment) where a lock
/// cannot be made, or all of them are held.
ClaimedFolder claim_folder(const std::filesystem::path& folder, std::chrono::milliseconds patience,
                           const std::function<void()>& each_look);
/// Those names, in this order.
std::vector<std::filesystem::path> folders_to_claim(const std::filesystem::path& folder);

}  // namespace larmor
