#include "larmor/base/files/linked_file.h"

#include <fstream>

#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;

TEST(LinkedFile, HoldsTheSameContentsAndOutlivesTheFirstName) {
  const ScratchFolder scratch;
  DiskStorage storage;
  const auto from = scratch.path() / "from", to = scratch.path() / "to";
  const std::string content(200'000, 'x');
  write_text(storage, from, content);
  link_or_copy(storage, from, to);
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(to)));
  fs::remove(from);
  EXPECT_EQ(read_text(to), content);
}

TEST(LinkedFile, IsTheFileBehindALinkAndNotTheLink) {
  const ScratchFolder scratch;
  DiskStorage storage;
  write_text(storage, scratch.path() / "file", "words");
  fs::create_symlink("file", scratch.path() / "link");
  link_or_copy(storage, scratch.path() / "link", scratch.path() / "to");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(scratch.path() / "to")));
  EXPECT_EQ(read_text(scratch.path() / "to"), "words");
}

TEST(LinkedFile, IsACopyWhereTheFilesLieOnTwoFileSystems) {
  const fs::path elsewhere = "/dev/shm";
  std::error_code error;
  if (!fs::is_directory(elsewhere, error)) GTEST_SKIP() << "no second file system";
  const ScratchFolder scratch;
  DiskStorage storage;
  const std::string content(200'000, 'y');
  write_text(storage, scratch.path() / "file", content);
  const auto to = elsewhere / scratch.path().filename();
  link_or_copy(storage, scratch.path() / "file", to);
  EXPECT_EQ(read_text(to), content);
  fs::remove(to);
}

TEST(LinkedFile, OfNothingIsRefused) {
  const ScratchFolder scratch;
  DiskStorage storage;
  EXPECT_THROW(link_or_copy(storage, scratch.path() / "absent", scratch.path() / "to"), Error);
}

}  // namespace
}  // namespace larmor
