#include "larmor/base/files/lock_holder.h"

#include <atomic>
#include <fstream>
#include <optional>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/process/process.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

TEST(LockHolder, IsNamedWhileItHoldsTheLock) {
  const ScratchFolder scratch;
  const auto path = scratch.path() / "lock";
  EXPECT_EQ(lock_holder(path), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(path)) << "who asks makes no file";
  std::optional<FileLock> lock(std::in_place, path);
  EXPECT_EQ(lock_holder(path), text("process ", ::getpid(), " on ", host_name()));
  lock.reset();
  EXPECT_EQ(lock_holder(path), std::nullopt);
}

// The file names a host on which nobody can be looked for, so that a lock that is taken is taken for theirs.
TEST(LockHolder, HoldsNobodyUpWhoWantsTheLock) {
  const ScratchFolder scratch;
  const auto path = scratch.path() / "lock";
  std::atomic<bool> is_over = false;
  std::thread asking([&] {
    while (!is_over) lock_holder(path);
  });
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    std::ofstream(path) << "process 12 on elsewhere\n";
    try {
      const FileLock lock(path);
    } catch (const Error&) {
      ++refused;
    }
  }
  is_over = true;
  asking.join();
  EXPECT_EQ(refused, 0);
}

}  // namespace
}  // namespace larmor
