// Cases of three modalities that the toy's second stage reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace larmor::toy {

/// Writes `count` cases: <case>_t1.nii.gz and, but for every third case, <case>_t2.nii.gz, both [8, 8, 8],
/// and <case>_guide.nii.gz [4, 4, 4] on a grid of its own.
void write_cases(const std::filesystem::path& folder, int64_t count);

/// What contract.yaml leaves open for a stage: key=value.
std::vector<std::string> contract_overrides(const std::string& stage);

}  // namespace larmor::toy
