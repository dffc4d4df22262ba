#include "larmor/watch/symbol_names.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "larmor/base/process/descriptor.h"
#include "larmor/base/process/system_error.h"

namespace larmor {
namespace {

struct ProgramPlace {
  uint64_t moved_by = 0, begin = ~uint64_t{0}, end = 0;
};

/// The first that the loader names is the program.
int note_program(dl_phdr_info* facts, size_t, void* into) {
  auto& place = *static_cast<ProgramPlace*>(into);
  place.moved_by = facts->dlpi_addr;
  for (const auto& part : std::span(facts->dlpi_phdr, facts->dlpi_phnum)) {
    if (part.p_type != PT_LOAD) continue;
    place.begin = std::min(place.begin, place.moved_by + part.p_vaddr);
    place.end = std::max(place.end, place.moved_by + part.p_vaddr + part.p_memsz);
  }
  return 1;
}

/// `count` values at a place of the file; none where they do not lie within it.
template <class Value>
std::span<const Value> values_in(std::span<const std::byte> file, uint64_t offset, uint64_t count) {
  if (offset > file.size() || count > (file.size() - offset) / sizeof(Value)) return {};
  if (offset % alignof(Value) != 0) return {};
  return {reinterpret_cast<const Value*>(file.data() + offset), count};
}

}  // namespace

SymbolNames::SymbolNames() {
  ProgramPlace place;
  dl_iterate_phdr(note_program, &place);
  begin_ = place.begin, end_ = place.end, moved_by_ = place.moved_by;
  std::error_code error;
  path_ = std::filesystem::read_symlink("/proc/self/exe", error).string();
  const Descriptor program(after_signals([] { return open("/proc/self/exe", O_RDONLY | O_CLOEXEC); }));
  if (!program.is_open()) return;
  struct stat facts{};
  if (fstat(program.number(), &facts) == 0 && facts.st_size > 0) {
    const auto size = static_cast<size_t>(facts.st_size);
    void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, program.number(), 0);
    if (memory != MAP_FAILED) file_ = {static_cast<const std::byte*>(memory), size};
  }
  find_table();
}

SymbolNames::~SymbolNames() {
  if (!file_.empty()) munmap(const_cast<std::byte*>(file_.data()), file_.size());
}

void SymbolNames::find_table() {
  const auto headers = values_in<Elf64_Ehdr>(file_, 0, 1);
  if (headers.empty() || std::memcmp(headers[0].e_ident, ELFMAG, SELFMAG) != 0) return;
  if (headers[0].e_ident[EI_CLASS] != ELFCLASS64) return;
  const auto sections = values_in<Elf64_Shdr>(file_, headers[0].e_shoff, headers[0].e_shnum);
  for (const auto& section : sections) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
    const auto& words = sections[section.sh_link];
    symbols_ = values_in<Elf64_Sym>(file_, section.sh_offset, section.sh_size / sizeof(Elf64_Sym));
    words_ = values_in<char>(file_, words.sh_offset, words.sh_size);
  }
  // Every name ends before the table does.
  if (words_.empty() || words_.back() != '\0') symbols_ = {};
}

SymbolName SymbolNames::find(const void* address) const {
  const auto place = reinterpret_cast<uint64_t>(address);
  if (place >= begin_ && place < end_) return find_own(place);
  SymbolName found;
  Dl_info facts{};
  if (dladdr(address, &facts) == 0) return found;
  if (facts.dli_fname) found.file = facts.dli_fname;
  found.file_offset = place - reinterpret_cast<uint64_t>(facts.dli_fbase);
  if (!facts.dli_sname) return found;
  found.name = facts.dli_sname;
  found.offset = place - reinterpret_cast<uint64_t>(facts.dli_saddr);
  return found;
}

SymbolName SymbolNames::find_own(uint64_t address) const {
  SymbolName found{.name = {}, .offset = 0, .file = path_, .file_offset = address - moved_by_};
  for (const auto& symbol : symbols_) {
    const bool holds = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && found.file_offset >= symbol.st_value &&
                       found.file_offset - symbol.st_value < symbol.st_size;
    if (!holds || symbol.st_name >= words_.size()) continue;
    found.name = &words_[symbol.st_name];
    found.offset = found.file_offset - symbol.st_value;
    break;
  }
  return found;
}

}  // namespace larmor
