#include "larmor/base/files/mapped_file.h"

#include <sys/mman.h>

#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/files/regular_file.h"

namespace larmor {

MappedFile::MappedFile(const std::filesystem::path& path, Use use) {
  const RegularFile file = open_regular(path);
  if (file.size() == 0) return;  // nothing to map
  void* const memory = ::mmap(nullptr, file.size(), PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (memory == MAP_FAILED)
    fail(Exit::environment, "cannot be mapped into memory", "raise the limit of address space (ulimit -v)");
  data_ = static_cast<const char*>(memory);
  size_ = file.size();
  ::madvise(memory, size_, use == Use::anywhere ? MADV_RANDOM : MADV_SEQUENTIAL);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
}

}  // namespace larmor
