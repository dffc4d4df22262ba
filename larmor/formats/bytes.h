// Bytes of a file in memory. Unlike a vector's they are not set to zero first: a volume is tens of
// megabytes that are about to be overwritten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "larmor/base/files/regular_file.h"

namespace larmor {

/// Frees memory that Bytes made, and takes it off the budget.
struct FreeBytes {
  std::size_t size = 0;
  void operator()(std::byte* data) const;
};

class Bytes {
 public:
  Bytes() = default;
  /// Uninitialised. Memory that is never written costs nothing. Throws OverBudget within a BudgetScope.
  explicit Bytes(std::size_t size);

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  std::span<const std::byte> view() const { return {data_.get(), size_}; }
  std::span<std::byte> view() { return {data_.get(), size_}; }
  /// Forgets what lies behind `size`. Requires: size <= size().
  void shorten(std::size_t size) { size_ = size; }
  /// Keeps what it holds; what is new is uninitialised. The system moves the pages of large ones, so that
  /// there are never two copies. Throws OverBudget within a BudgetScope. Requires: size >= size().
  void grow(std::size_t size);
  /// What lies before `end` is not read again, so that its memory may go back to the system while the rest is
  /// still worked on. Only large ones give any back, a few megabytes at a time.
  void release_before(std::size_t end);

 private:
  std::unique_ptr<std::byte[], FreeBytes> data_;
  std::size_t size_ = 0;
  std::size_t released_ = 0;
};

/// Throws Error (data): absent, unreadable, not a file, larger than `limit` bytes. The path is the
/// caller's to add.
Bytes read_file(const std::filesystem::path& path, uint64_t limit);
/// The same of a file that is open.
Bytes read_file(const RegularFile& file, uint64_t limit);

}  // namespace larmor
