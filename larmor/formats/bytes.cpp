#include "larmor/formats/bytes.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

#include "larmor/base/error.h"
#include "larmor/base/load_clock.h"
#include "larmor/base/text.h"
#include "larmor/formats/memory_budget.h"

namespace larmor {

namespace {

// What even a slow network file system gives in seconds: after each piece the reader's thread shows that it
// goes on.
constexpr std::size_t longest_read = std::size_t{64} << 20;

/// How much of it there was.
std::size_t read_pieces(const RegularFile& file, std::span<std::byte> to) {
  std::size_t read = 0;
  while (read < to.size()) {
    const LoadScope piece(LoadStage::read);
    const auto wanted = to.subspan(read, std::min(to.size() - read, longest_read));
    const std::size_t given = file.read_at(read, wanted);
    read += given;
    if (given < wanted.size()) break;
  }
  return read;
}

Bytes read_whole(const RegularFile& file, uint64_t limit) {
  const uint64_t size = file.size();
  if (size > limit) {
    fail(Exit::data,
         text("is ", human_bytes(size), " long, more than the ", human_bytes(limit), " that are read"));
  }
  Bytes bytes(size);
  const std::size_t read = read_pieces(file, bytes.view());
  if (read != size) fail(Exit::data, text("could only be read up to byte ", read, " of ", size));
  return bytes;
}

}  // namespace

void FreeBytes::operator()(std::byte* data) const {
  std::free(data);
  BudgetScope::discount(size);
}

Bytes::Bytes(std::size_t size) {
  BudgetScope::count(size);
  data_ = {static_cast<std::byte*>(std::malloc(std::max<std::size_t>(size, 1))), FreeBytes{size}};
  if (!data_) {
    BudgetScope::discount(size);
    throw std::bad_alloc();
  }
  size_ = size;
}

void Bytes::grow(std::size_t size) {
  const std::size_t held = data_.get_deleter().size;
  if (size > held) {
    BudgetScope::count(size - held);
    void* const larger = std::realloc(data_.get(), size);
    if (larger == nullptr) {
      BudgetScope::discount(size - held);
      throw std::bad_alloc();
    }
    static_cast<void>(data_.release());
    data_ = {static_cast<std::byte*>(larger), FreeBytes{size}};
  }
  size_ = size;
}

void Bytes::release_before(std::size_t end) {
  constexpr std::size_t large = std::size_t{64} << 20, piece = std::size_t{4} << 20,
                        page = std::size_t{1} << 16;
  if (size_ < large || end < released_ + piece) return;
  // Only whole pages that belong to nobody else; 64 KiB is a multiple of every machine's page.
  const auto begin = std::bit_cast<std::uintptr_t>(data_.get());
  const std::uintptr_t from = (begin + released_ + page - 1) / page * page, to = (begin + end) / page * page;
  ::madvise(std::bit_cast<void*>(from), to - from, MADV_DONTNEED);  // a refusal costs memory and nothing else
  released_ = to - begin;
}

Bytes read_file(const std::filesystem::path& path, uint64_t limit) {
  const LoadScope stage(LoadStage::read);
  return read_whole(open_regular(path), limit);
}

Bytes read_file(const RegularFile& file, uint64_t limit) {
  const LoadScope stage(LoadStage::read);
  return read_whole(file, limit);
}

}  // namespace larmor
