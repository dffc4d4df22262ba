#include "larmor/data/cache/shared_folder.h"

#include <filesystem>
#include <memory>

#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/file.h"

#include "tests/support/image_files.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;

TEST(SharedFolder, GoesWithTheLastOfItsUsers) {
  const ScratchFolder scratch;
  const fs::path parent = scratch.path() / "user";
  auto first = std::make_unique<SharedFolder>(parent, "window");
  auto second = std::make_unique<SharedFolder>(parent, "window");
  EXPECT_EQ(first->path(), second->path());
  testing::write_file(first->path() / "a", "a");
  first.reset();
  EXPECT_TRUE(fs::exists(second->path() / "a"));
  second.reset();
  EXPECT_TRUE(fs::is_empty(parent));
}

TEST(SharedFolder, RemovesWhatKilledProcessesHaveLeftAndNothingElse) {
  const ScratchFolder scratch;
  const fs::path parent = scratch.path() / "user";
  const SharedFolder in_use(parent, "in_use");
  fs::create_directory(parent / "left");
  testing::write_file(parent / "left" / "a", "a");
  testing::write_file(parent / "left.lock", "");
  fs::create_directory(parent / "no_lock");
  const SharedFolder mine(parent, "mine");
  EXPECT_FALSE(fs::exists(parent / "left"));
  EXPECT_FALSE(fs::exists(parent / "left.lock"));
  EXPECT_TRUE(fs::exists(in_use.path()));
  EXPECT_TRUE(fs::exists(parent / "no_lock"));
}

TEST(SharedFolder, RefusesAFolderThatOthersMayEnter) {
  const ScratchFolder scratch;
  const fs::path parent = scratch.path() / "user";
  fs::create_directory(parent);
  fs::permissions(parent, fs::perms::all);
  EXPECT_THROW(SharedFolder(parent, "window"), Error);
  fs::remove(parent);
  fs::create_directory_symlink(scratch.path(), parent);
  EXPECT_THROW(SharedFolder(parent, "window"), Error);
}

}  // namespace
}  // namespace larmor
