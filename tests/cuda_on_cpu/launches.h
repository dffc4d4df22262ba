// What has been launched in this process.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace cuda_on_cpu {

/// How often, by the kernel's name as the launch spells it.
std::map<std::string, uint64_t> launches_by_kernel();
/// Of all kernels.
uint64_t launch_count();

}  // namespace cuda_on_cpu
