// Names of functions by address: of libraries by the loader's table, of this program by its own file's, which
// the loader does not have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <elf.h>

namespace larmor {

/// "larmor::Step::run()" and how far into it; "" where nothing names the address.
struct SymbolName {
  std::string_view name;  // as the compiler writes it
  uint64_t offset = 0;
  std::string_view file;
  uint64_t file_offset = 0;
};

/// Takes no memory once made. One thread.
class SymbolNames {
 public:
  /// Maps this program's file; a stripped one names no functions of its own.
  SymbolNames();
  SymbolNames(const SymbolNames&) = delete;
  SymbolNames& operator=(const SymbolNames&) = delete;
  ~SymbolNames();

  SymbolName find(const void* address) const;

 private:
  void find_table();
  SymbolName find_own(uint64_t address) const;

  std::string path_;
  std::span<const std::byte> file_;
  std::span<const Elf64_Sym> symbols_;
  std::span<const char> words_;
  uint64_t begin_ = 0, end_ = 0, moved_by_ = 0;  // where the program lies
};

}  // namespace larmor
