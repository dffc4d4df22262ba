// Weights of other programs as they are published: a safetensors file, or several with an index.
#pragma once

#include <filesystem>
#include <string>

#include "larmor/device/tensors/tensor_file.h"

namespace larmor {

/// A name without what PyTorch's wrappers put into it: `module.` of data parallelism before it, `_orig_mod.`
/// of torch.compile before it and within.
std::string without_wrappers_of_torch(std::string name);

/// The tensors of a safetensors file, or of all files that an index of Hugging Face's lists
/// (`model.safetensors.index.json`, whose files lie beside it). Names come without what PyTorch's wrappers
/// put into them. Throws Error (usage), with what to do: for values that are NaN or infinite; for files that
/// PyTorch has saved, which could run code; for pointers that git leaves in the place of a large file; for
/// folders; for an index that lists no files, files elsewhere, or tensors that its files have not. Throws as
/// read_tensors() of the files themselves.
NamedTensors read_published_weights(const std::filesystem::path& path);

}  // namespace larmor
