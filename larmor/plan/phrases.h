// Phrases that several reasons and tables share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/hardware/hardware.h"

namespace larmor {

/// "1 rank", "4 ranks".
std::string counted(int64_t count, std::string_view noun);
/// "0-3,8": what taskset and numactl take.
std::string core_ranges(std::vector<int> cores);
/// "GPU 6", "GPUs 6 and 7".
std::string gpu_numbers(const std::vector<int>& numbers);
/// "8.9".
std::string capability_text(const Gpu& gpu);
/// "4, 2, 1".
std::string number_list(const std::vector<int64_t>& numbers);
std::string human_bytes(int64_t bytes);

}  // namespace larmor
