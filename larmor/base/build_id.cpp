#include "larmor/base/build_id.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include <elf.h>
#include <link.h>

#include "larmor/base/random_bytes.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {

constexpr std::size_t to_words(std::size_t size) { return (size + 3) / 4 * 4; }

/// Of the mark among the notes of a program in memory; empty where there is none.
std::string find_mark(std::span<const std::byte> notes) {
  ElfW(Nhdr) head{};
  while (notes.size() >= sizeof head) {
    std::memcpy(&head, notes.data(), sizeof head);
    const std::size_t name = sizeof head, mark = name + to_words(head.n_namesz);
    if (mark + head.n_descsz > notes.size()) break;
    const bool is_linkers = head.n_namesz == 4 && std::memcmp(notes.data() + name, "GNU", 4) == 0;
    if (is_linkers && head.n_type == NT_GNU_BUILD_ID) return to_hex(notes.subspan(mark, head.n_descsz));
    notes = notes.subspan(std::min(notes.size(), mark + to_words(head.n_descsz)));
  }
  return "";
}

/// Of the first object, which is the program.
int take_mark(dl_phdr_info* object, std::size_t /*size*/, void* found) {
  for (const auto& part : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    if (part.p_type != PT_NOTE) continue;
    const auto* const begin = reinterpret_cast<const std::byte*>(object->dlpi_addr + part.p_vaddr);
    auto& mark = *static_cast<std::string*>(found);
    if (mark.empty()) mark = find_mark({begin, part.p_memsz});
  }
  return 1;
}

}  // namespace

std::string build_id() {
  std::string mark;
  ::dl_iterate_phdr(&take_mark, &mark);
  if (!mark.empty()) return mark;
  struct stat file{};
  if (::stat("/proc/self/exe", &file) != 0) return "unknown";
  return text(file.st_mtim.tv_sec, '.', file.st_mtim.tv_nsec, '.', file.st_size);
}

}  // namespace larmor
