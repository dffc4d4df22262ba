#include "larmor/data/cache/shared_folder.h"

#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"

#include "tests/support/image_files.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;

const std::string first_digits = "0123456789abcdef", other_digits = "fedcba9876543210";

/// As a prepared cache calls it.
fs::path entry_in(const fs::path& folder) { return folder / "ab" / ("ab" + std::string(62, '0') + ".entry"); }

void make_entry(const fs::path& folder) {
  fs::create_directories(entry_in(folder).parent_path());
  testing::write_file(entry_in(folder), "a");
}

TEST(SharedFolder, GoesWithTheLastOfItsUsers) {
  const ScratchFolder scratch;
  const fs::path parent = scratch.path() / "user";
  auto first = std::make_unique<SharedFolder>(parent, first_digits);
  auto second = std::make_unique<SharedFolder>(parent, first_digits);
  EXPECT_EQ(first->path(), second->path());
  make_entry(first->path());
  first.reset();
  EXPECT_TRUE(fs::exists(entry_in(second->path())));
  second.reset();
  EXPECT_TRUE(fs::is_empty(parent));
}

TEST(SharedFolder, RemovesWhatKilledProcessesHaveLeftAndNothingElse) {
  const ScratchFolder scratch;
  const fs::path parent = scratch.path() / "user";
  const SharedFolder in_use(parent, first_digits);
  const fs::path left = parent / "window-0000000000000000";
  for (const char* const name : {"window-0000000000000000", "mine", "window-1", "no_lock"}) {
    make_entry(parent / name);
    testing::write_file(parent / (std::string(name) + ".lock"), "");
  }
  fs::remove(parent / "no_lock.lock");
  const SharedFolder mine(parent, other_digits);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_FALSE(fs::exists(parent / "window-0000000000000000.lock"));
  EXPECT_TRUE(fs::exists(in_use.path()));
  for (const char* const name : {"mine", "window-1", "no_lock"})
    EXPECT_TRUE(fs::exists(entry_in(parent / name))) << name;
  EXPECT_TRUE(fs::exists(parent / "mine.lock"));
}

TEST(SharedFolder, LeavesWhatOthersHavePutIntoIt) {
  const ScratchFolder scratch;
  const fs::path parent = scratch.path() / "user", outside = scratch.path() / "outside";
  fs::path folder;
  make_entry(outside);
  {
    const SharedFolder shared(parent, first_digits);
    folder = shared.path();
    make_entry(folder);
    make_entry(folder / "theirs");
    testing::write_file(folder / "ab" / "notes", "a");
    fs::create_directory_symlink(outside, folder / "link");
    fs::create_directory_symlink(outside, folder / "cd");
  }
  EXPECT_FALSE(fs::exists(entry_in(folder)));
  EXPECT_TRUE(fs::exists(entry_in(folder / "theirs")));
  EXPECT_TRUE(fs::exists(folder / "ab" / "notes"));
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_TRUE(fs::exists(entry_in(outside))) << "which the link cd led to";
}

TEST(SharedFolder, RefusesAFolderThatOthersMayEnter) {
  const ScratchFolder scratch;
  const fs::path parent = scratch.path() / "user";
  fs::create_directory(parent);
  fs::permissions(parent, fs::perms::all);
  EXPECT_THROW(SharedFolder(parent, first_digits), Error);
  fs::remove(parent);
  fs::create_directory_symlink(scratch.path(), parent);
  EXPECT_THROW(SharedFolder(parent, first_digits), Error);
}

}  // namespace
}  // namespace larmor
