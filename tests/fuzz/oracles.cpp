#include "tests/fuzz/oracles.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>

#include <sanitizer/allocator_interface.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/hash.h"
#include "larmor/base/printable.h"
#include "larmor/base/text.h"

namespace larmor::fuzz {
namespace {

// Half a gibibyte, and what a reader holds beside its buffers.
constexpr std::size_t usual_bytes = (std::size_t{512} << 20) + (std::size_t{1} << 20);
constexpr std::size_t bytes_per_byte = 64;
// Larger blocks come fresh from the system, and calloc() counts on their being zero.
constexpr std::size_t largest_filled = std::size_t{64} << 10;

std::atomic<int> filling{0};
std::atomic<int64_t> held{0}, most_held{0};

void on_malloc(const volatile void* block, std::size_t size) {
  const int64_t now = held += static_cast<int64_t>(size);
  int64_t most = most_held;
  while (now > most && !most_held.compare_exchange_weak(most, now)) {
  }
  if (size <= largest_filled) std::memset(const_cast<void*>(block), filling, size);
}

void on_free(const volatile void* block) {
  if (block != nullptr)
    held -= static_cast<int64_t>(__sanitizer_get_allocated_size(const_cast<const void*>(block)));
}

// Compressed data are decoded here, where the fuzzer sees branches taken and memory misused.
[[maybe_unused]] const int decodes_here = setenv("LARMOR_DECODER", "none", 1);

const int hooks = __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);

/// An error's list has breaks of its own, and nothing else that a terminal obeys.
void check_words(const std::string& words) {
  for (const auto& line : split(words, '\n')) {
    if (printable(line) != line) broken("a message holds what a terminal obeys: " + printable(words));
    if (line.size() > 3 * longest_line) broken(text("a message has a line of ", line.size(), " bytes"));
  }
}

/// What is read with memory that held `byte` everywhere; nothing when it is refused.
std::optional<Product> read_with(int byte, std::string_view bytes, Reader read) {
  filling = byte;
  const int64_t before = held;
  most_held = before;
  std::optional<Product> product;
  try {
    product = read(bytes);
  } catch (const Error& error) {
    check_words(error.message());
    check_words(error.hint());
  }
  const auto allowed = std::max(usual_bytes, bytes_per_byte * bytes.size()) + (product ? product->bytes : 0);
  const int64_t taken = most_held - before;
  if (taken > static_cast<int64_t>(allowed))
    broken(text(taken, " bytes of memory for ", bytes.size(), " bytes of input"));
  return product;
}

}  // namespace

Product& Product::add(std::string_view more) {
  hash = hash * 1'000'003 ^ fast_hash(more);
  bytes += more.size();
  return *this;
}

Product& Product::add(const StoredArray& array) {
  const auto voxels = array.voxels();
  for (const int64_t size : array.shape) add(text(size, ","));
  return add({reinterpret_cast<const char*>(voxels.data()), voxels.size()});
}

Product& Product::add(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.contiguous();
  for (const int64_t size : flat.sizes()) add(text(size, ","));
  return add({static_cast<const char*>(flat.const_data_ptr()), flat.nbytes()});
}

int hold(const uint8_t* data, std::size_t size, Reader read, Rules rules) {
  if (hooks < 0) broken("the allocator takes no hooks: build with the address sanitizer");
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto first = read_with(0x5a, bytes, read);
  if (read_with(0xa5, bytes, read) != first) broken("two fillings of memory give two results");
  if (!rules.whole || !first || size < 2) return 0;
  const std::size_t cut = fast_hash(bytes) % size;
  const auto of_a_part = read_with(0x5a, bytes.substr(0, cut), read);
  if (of_a_part && of_a_part != first)
    broken(text("cut after ", cut, " of ", size, " bytes it is read all the same, as something else"));
  return 0;
}

void broken(const std::string& what) {
  std::fprintf(stderr, "BROKEN: %s\n", what.c_str());
  std::abort();
}

Bytes copied(std::string_view bytes) {
  Bytes copy(bytes.size());
  if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
  return copy;
}

std::filesystem::path scratch_folder() {
  struct Scratch {
    Scratch() { std::filesystem::create_directories(folder); }
    ~Scratch() {
      std::error_code gone;
      std::filesystem::remove_all(folder, gone);
    }
    std::filesystem::path folder = text("/dev/shm/larmor-fuzz-", getpid());
  };
  static const Scratch scratch;
  return scratch.folder;
}

std::filesystem::path file_of(std::string_view bytes, const std::string& name) {
  const auto path = scratch_folder() / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

}  // namespace larmor::fuzz
