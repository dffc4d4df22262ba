// Comparing our transform chains with what MONAI gave for the same ones.
#pragma once

#include <filesystem>
#include <string>

#include "larmor/base/json.h"
#include "larmor/device/tensors/tensor_file.h"
#include "larmor/formats/volume.h"

namespace larmor::testing {

/// A list of chains with their names: tests/transforms/fixtures/<name>.
Json chains_of(const std::string& name);
std::filesystem::path chains_file(const std::string& name);

Affine affine_of(const at::Tensor& matrix);

/// Each chain on `volume` against MONAI's result and affine of its name: values to within 1e-4 of their span.
void expect_chains_like_monai(const Json& chains, const Volume& volume, const NamedTensors& monai);

}  // namespace larmor::testing
