#include "larmor/codec/shared_memory.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/cases.h"

namespace larmor {
namespace {

TEST(SharedMemory, HoldsZerosThatBothSidesSee) {
  const SharedMemory ours = SharedMemory::create(70'000);
  EXPECT_TRUE(std::all_of(ours.view().begin(), ours.view().end(),
                          [](std::byte byte) { return byte == std::byte{0}; }));
  const SharedMemory theirs =
      SharedMemory::map(Descriptor(::fcntl(ours.descriptor(), F_DUPFD_CLOEXEC, 0)), 70'000);
  theirs.view()[69'999] = std::byte{7};
  EXPECT_EQ(ours.view()[69'999], std::byte{7});
}

TEST(SharedMemory, CannotBeMadeShorterOrLonger) {
  const SharedMemory memory = SharedMemory::create(4096);
  for (const off_t size : {off_t{0}, off_t{8192}}) {
    EXPECT_EQ(::ftruncate(memory.descriptor(), size), -1);
    EXPECT_EQ(errno, EPERM);
  }
}

TEST(SharedMemory, ThatCannotBeMappedIsAnError) {
  const auto error = testing::error_of(
      [] { SharedMemory::map(Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)), 4096); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::environment);
}

}  // namespace
}  // namespace larmor
