#include "larmor/base/files/new_folder.h"

#include <sys/stat.h>

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"

namespace larmor::testing {
namespace {

TEST(NewFolder, IsMadeByOneOfAllWhoTry) {
  const ScratchFolder scratch;
  for (int round = 0; round < 50; ++round) {
    const auto folder = scratch.path() / std::to_string(round);
    std::atomic<int> made = 0;
    std::vector<std::thread> all;
    for (int thread = 0; thread < 4; ++thread)
      all.emplace_back([&] { made += create_folder(folder) ? 1 : 0; });
    for (auto& thread : all) thread.join();
    EXPECT_EQ(made, 1);
  }
}

TEST(NewFolder, IsItsOwnersAlone) {
  const ScratchFolder scratch;
  ASSERT_TRUE(create_folder(scratch.path() / "x"));
  struct stat status{};
  ASSERT_EQ(::stat((scratch.path() / "x").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
}

TEST(NewFolder, IsRefusedWhereAFileHasItsNameOrNothingIsAbove) {
  const ScratchFolder scratch;
  DiskStorage disk;
  write_text(disk, scratch.path() / "file", "");
  EXPECT_THROW(create_folder(scratch.path() / "file"), Error);
  EXPECT_THROW(create_folder(scratch.path() / "absent" / "x"), Error);
}

}  // namespace
}  // namespace larmor::testing
