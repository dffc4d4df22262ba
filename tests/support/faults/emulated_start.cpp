// A library to preload into a program that qemu-x86_64 emulates: what it starts is emulated as well, as the
// CPU that EMULATED_CPU names. Without it the kernel would start ranks on the real CPU.
#include <sys/syscall.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace {

constexpr const char* emulator = "/usr/bin/qemu-x86_64";

}  // namespace

// Between fork and exec: nothing is allocated.
extern "C" int execve(const char* path, char* const words[], char* const environment[]) noexcept {
  if (std::strcmp(path, emulator) == 0)  // the shell that starts the program itself
    return static_cast<int>(syscall(SYS_execve, path, words, environment));
  constexpr size_t most_words = 256;
  static std::array<const char*, most_words + 4> emulated{"qemu-x86_64", "-cpu"};
  emulated[2] = std::getenv("EMULATED_CPU");
  emulated[3] = path;
  size_t count = 1;
  for (; words[count] != nullptr && count < most_words; ++count) emulated[count + 3] = words[count];
  emulated[count + 3] = nullptr;
  return static_cast<int>(syscall(SYS_execve, emulator, emulated.data(), environment));
}
