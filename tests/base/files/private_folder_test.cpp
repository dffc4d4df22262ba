#include "larmor/base/files/private_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PrivateFolder : public ::testing::Test {
 protected:
  PrivateFolder() { fs::create_directory(run_); }
  void allow(const fs::path& folder, unsigned mode) { fs::permissions(folder, fs::perms(mode)); }

  ScratchFolder scratch_;
  const fs::path run_ = scratch_.path() / "run";
};

TEST_F(PrivateFolder, IsOneThatOthersMayReadAtMost) {
  for (const unsigned mode : {0700U, 0750U, 0755U}) {
    allow(run_, mode);
    EXPECT_THAT(check_private(run_), IsEmpty());
  }
  EXPECT_TRUE(fs::is_empty(run_));
}

TEST_F(PrivateFolder, IsRefusedWhereEverybodyMayWrite) {
  for (const unsigned mode : {0777U, 0702U, 01777U}) {
    allow(run_, mode);
    try {
      check_private(run_);
      ADD_FAILURE() << mode;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::environment);
      EXPECT_THAT(error.message(), HasSubstr(run_.string()));
      EXPECT_EQ(error.hint(), "chmod go-w " + run_.string());
    }
  }
}

TEST_F(PrivateFolder, IsWarnedAboutWhereItsGroupMayWrite) {
  allow(run_, 0770);
  EXPECT_THAT(check_private(run_), ElementsAre(HasSubstr("chmod g-w")));
}

TEST_F(PrivateFolder, IsWarnedAboutWhereEverybodyMayReplaceIt) {
  allow(run_, 0700);
  allow(scratch_.path(), 0777);
  EXPECT_THAT(check_private(run_), ElementsAre(HasSubstr("chmod +t " + scratch_.path().string())));
  allow(scratch_.path(), 01777);
  EXPECT_THAT(check_private(run_), IsEmpty());
}

}  // namespace
}  // namespace larmor
