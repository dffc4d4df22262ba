// The manifest of a checkpoint: what belongs to it and the hash of every byte, its own included.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/checkpoint/checkpoint.h"

namespace larmor {

inline constexpr const char* manifest_name = "manifest.json";
inline constexpr const char* state_name = "state.json";
inline constexpr const char* model_name = "model.safetensors";
/// An empty file beside them: somebody wants the checkpoint to stay.
inline constexpr const char* pin_name = "pinned";
/// 2: the position in the data counts along the order of KeyedPermutation. 1: along an order that is no more;
/// such a checkpoint's weights are read, and no training goes on from it.
inline constexpr int64_t checkpoint_format = 2, oldest_checkpoint_format = 1;

struct ListedFile {
  std::string name;
  uint64_t bytes = 0;
  std::string sha256;
};

Json to_json(const std::vector<ListedFile>& files);
std::vector<ListedFile> files_of(const Json& manifest);

/// The manifest as it is written: sealed with the hash of its own text.
std::string seal(Json manifest);
/// Reads and checks the seal. Throws Error (checkpoint).
Json open_manifest(const std::filesystem::path& folder);
/// A seal says who has not changed a manifest, not that it makes sense: throws Error (checkpoint) unless the
/// numbers are such as a checkpoint has, `folder` is the name of the step's folder, and the files are listed
/// once each, by plain names, state.json and model.safetensors among them.
void check_manifest(const Json& manifest, const std::string& folder);

/// The number in a name as folder_name() makes them, nothing for any other name; -1 where the number is too
/// large for a step.
std::optional<int64_t> step_of_name(const std::string& name);

}  // namespace larmor
