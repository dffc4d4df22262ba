// A file's bytes in memory without being read: pages come when they are looked at, and processes share them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace larmor {

/// The file must not be shortened while it is mapped.
class MappedFile {
 public:
  enum class Use { anywhere, in_order };
  /// Throws Error: data where open_regular() does, environment where there are no addresses left. The path is
  /// the caller's to add.
  MappedFile(const std::filesystem::path& path, Use use);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  std::string_view bytes() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace larmor
