// Weights of other programs as they are published: a safetensors file, or several with an index.
#pragma once

#include <filesystem>
#include <string>

#include "larmor/device/tensors/tensor_file.h"

namespace larmor {

/// A name as the network itself has it. Wrappers put `module.` (data parallelism), `model.`, `net.`,
/// `backbone.` (a Lightning module or a classifier around it) and `state_dict.` (a checkpoint) before it, one
/// behind another, and `_orig_mod.` (torch.compile) before it and within. No network here has a name that
/// begins so.
std::string without_wrappers(std::string name);

/// The tensors of a safetensors file, or of all files that an index of Hugging Face's lists
/// (`model.safetensors.index.json`, whose files lie beside it). Names come without_wrappers().
/// Throws Error (usage), with what to do: for values that are NaN or infinite; for files that
/// PyTorch has saved, which could run code; for pointers that git leaves in the place of a large file; for
/// folders; for an index that lists no files, files elsewhere, or tensors that its files have not. Throws as
/// read_tensors() of the files themselves.
NamedTensors read_published_weights(const std::filesystem::path& path);

}  // namespace larmor
