// Weights of a safetensors file, read by hand: neither our reader nor libtorch stands between.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace larmor::testing {

using Weights = std::map<std::string, std::vector<double>>;

/// Throws what goes wrong; every tensor has to be F32 or F64.
Weights read_weights(const std::filesystem::path& file);

/// The largest absolute difference of two weights; infinite where names or sizes differ.
double largest_difference(const Weights& left, const Weights& right);

}  // namespace larmor::testing
