// The manifest of a checkpoint: what belongs to it and the hash of every byte, its own included.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/checkpoint/checkpoint.h"

namespace larmor {

inline constexpr const char* manifest_name = "manifest.json";
inline constexpr const char* state_name = "state.json";
inline constexpr int64_t checkpoint_format = 1;

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

/// "step-00001000".
std::string folder_name(int64_t step);

}  // namespace larmor
