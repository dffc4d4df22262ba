// The keys of DeepSpeed's JSON that nothing of ours stands for, and why.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace larmor {

struct UnusedKey {
  std::string_view key;  // "zero_optimization.overlap_comm"; a section stands for all below it
  const char* why;
  bool is_missed = false;  // somebody who sets it wants something that we cannot do
};

/// Nothing when the key is not among them.
const UnusedKey* find_unused_key(std::string_view key);
/// All keys of DeepSpeed that are known here, those with a meaning too.
std::vector<std::string> deepspeed_keys();
/// The top-level ones with a meaning.
std::span<const std::string_view> deepspeed_sections();

}  // namespace larmor
