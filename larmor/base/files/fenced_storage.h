// Keeps ranks of earlier generations out of a run folder. A rank that was stopped, or whose machine or
// network stood still, knows nothing of the ranks that took its place: the fence is how it finds out, before
// each thing it would change.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "larmor/base/files/hooked_storage.h"

namespace larmor {

/// A storage that does something only while `fence_file` names no later generation than its own, and throws
/// Error (rank_lost) otherwise. Each operation looks first, and so does each write to a file that it opened.
/// A process that stands still between the look and the operation itself may finish that one. Where there is
/// no fence all is open; where it cannot be read nothing is written: Error (environment).
class FencedStorage final : public HookedStorage {
 public:
  FencedStorage(std::unique_ptr<Storage> inner, Path fence_file, int64_t generation);

 protected:
  void before() const override;

 private:
  Path fence_file_;
  int64_t generation_;
};

/// The generation that a fence names; nothing where there is none. Throws Error (environment) when it cannot
/// be read or names none.
std::optional<int64_t> read_fence(const std::filesystem::path& fence_file);

/// Throws Error (rank_lost) where a fence names a later generation than this one. Some microseconds.
void check_fence(const std::filesystem::path& fence_file, int64_t generation);

/// No rank of an earlier generation writes behind that fence any more. Throws Error (rank_lost) when a later
/// generation has raised it further already.
void raise_fence(Storage& storage, const std::filesystem::path& fence_file, int64_t generation);

}  // namespace larmor
