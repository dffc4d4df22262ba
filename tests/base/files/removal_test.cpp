#include "larmor/base/files/removal.h"

#include <string>

#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;

class Removals : public ::testing::Test {
 protected:
  fs::path at(const std::string& name) const { return scratch_.path() / name; }
  void make(const std::string& name) {
    fs::create_directories(at(name).parent_path());
    write_text(storage_, at(name), "x");
  }
  bool is_there(const std::string& name) const {
    return fs::symlink_status(at(name)).type() > fs::file_type::not_found;
  }
  static bool is_ours(const fs::path& within) { return within.filename().string().starts_with("own"); }

  ScratchFolder scratch_;
  DiskStorage storage_;
};

TEST_F(Removals, FreeWhatNoNameElsewhereHas) {
  EXPECT_EQ(bytes_freed_by(at("absent")), 0U);
  for (const char* const name : {"folder/own", "folder/below/twice", "folder/shared"}) {
    make(name);
    write_text(storage_, at(name), std::string(100, 'x'));
  }
  fs::create_hard_link(at("folder/below/twice"), at("folder/again"));
  fs::create_hard_link(at("folder/shared"), at("elsewhere"));
  fs::create_symlink("own", at("folder/link"));
  EXPECT_EQ(bytes_freed_by(at("folder")), 200U);
}

TEST_F(Removals, TakeFilesAndLinksAndLeaveFolders) {
  make("file");
  make("folder/file");
  fs::create_symlink("folder", at("link"));
  for (const char* const name : {"file", "link", "folder", "absent"}) remove_file(storage_, at(name));
  EXPECT_FALSE(is_there("file"));
  EXPECT_FALSE(is_there("link"));
  EXPECT_TRUE(is_there("folder/file"));
}

TEST_F(Removals, TakeAFolderOfWhichAllIsOurs) {
  make("folder/own");
  make("folder/own_inner/own");
  fs::create_directory(at("folder/own_empty"));
  EXPECT_TRUE(remove_own(storage_, at("folder"), is_ours));
  EXPECT_FALSE(is_there("folder"));
  EXPECT_TRUE(remove_own(storage_, at("folder"), is_ours)) << "nothing is left of it";
}

TEST_F(Removals, LeaveWhatIsNotOursWithTheFoldersAroundIt) {
  make("outside/own");
  make("folder/own");
  make("folder/own_inner/own");
  make("folder/own_inner/notes");
  make("folder/theirs/own");
  fs::create_directory(at("folder/their_empty_one"));
  fs::create_symlink(at("outside"), at("folder/own_link"));
  fs::create_symlink(at("outside"), at("folder/their_link"));
  EXPECT_FALSE(remove_own(storage_, at("folder"), is_ours));
  for (const char* const name : {"folder/own", "folder/own_inner/own", "folder/own_link"})
    EXPECT_FALSE(is_there(name)) << name;
  for (const char* const name : {"folder/own_inner/notes", "folder/theirs/own", "folder/their_empty_one",
                                 "folder/their_link", "outside/own"})
    EXPECT_TRUE(is_there(name)) << name;
}

TEST_F(Removals, FollowNoLinkToAFolder) {
  make("outside/own");
  fs::create_symlink(at("outside"), at("folder"));
  EXPECT_FALSE(remove_own(storage_, at("folder"), is_ours));
  EXPECT_TRUE(is_there("outside/own"));
  EXPECT_TRUE(is_there("folder"));
}

}  // namespace
}  // namespace larmor
