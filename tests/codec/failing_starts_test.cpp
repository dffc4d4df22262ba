// Types of codec that own something, made where they cannot be.
#include "tests/support/failing_starts.h"

#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "larmor/codec/decoder_process.h"
#include "larmor/codec/shared_memory.h"

#include "tests/support/faults/process_call_watch.h"

namespace larmor {
namespace {

DecoderOptions decoder() {
  const char* const program = std::getenv("LARMOR_DECODER");
  return {.program = program != nullptr ? program : "larmor-decode", .arguments = {}};
}

TEST(FailingStarts, OfSharedMemoryLeaveNothing) {
  testing::expect_nothing_left_without_descriptors([] { SharedMemory::create(4096); });
  testing::expect_nothing_left([] { SharedMemory::create(std::size_t{1} << 60); });
  testing::expect_nothing_left(
      [] { SharedMemory::map(Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)), 4096); });
}

TEST(FailingStarts, OfDecodersLeaveNothing) {
  testing::expect_nothing_left_without_descriptors([] { DecoderProcess{decoder()}; });
  for (const char* const program : {"/absent", "/bin/true"})
    testing::expect_nothing_left([&] { DecoderProcess({.program = program, .arguments = {}}); });
  testing::expect_nothing_left([] {
    testing::refuse_spawns(1, EAGAIN);
    DecoderProcess{decoder()};
  });
}

}  // namespace
}  // namespace larmor
