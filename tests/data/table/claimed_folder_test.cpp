#include "larmor/data/table/claimed_folder.h"

#include <fstream>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class ClaimedFolders : public ::testing::Test {
 protected:
  ClaimedFolders() { fs::create_directories(folder()); }
  fs::path folder() const { return scratch_.path() / "questions"; }
  fs::path lock_file() const { return fs::path(folder()).concat(".lock"); }
  fs::path claimed(milliseconds patience = milliseconds(300)) {
    return claim_folder(folder(), patience, [this] { ++looks_; }).folder;
  }

  ScratchFolder scratch_;
  int looks_ = 0;
};

TEST_F(ClaimedFolders, AreTheFirstWhereNobodyHoldsIt) {
  EXPECT_EQ(claimed(), folder());
  EXPECT_EQ(claimed(), folder()) << "the first claim has ended";
  EXPECT_EQ(looks_, 0);
}

TEST_F(ClaimedFolders, AreTheNextWhereWhoHoldsTheFirstWritesNothing) {
  const FileLock stopped(lock_file());
  EXPECT_EQ(claimed().filename(), "questions-2");
  EXPECT_GE(looks_, 1);
}

TEST_F(ClaimedFolders, AreWaitedForAsLongAsSomethingIsWritten) {
  std::optional<FileLock> busy(std::in_place, lock_file());
  // Many times the patience, and never nothing for so long.
  int writes = 0;
  const auto found = claim_folder(folder(), milliseconds(2000), [&] {
    std::ofstream(folder() / "part", std::ios::app) << "row";
    if (++writes == 30) busy.reset();
  });
  EXPECT_EQ(found.folder, folder());
  EXPECT_EQ(writes, 30);
}

TEST_F(ClaimedFolders, ThatAllAreHeldAreAnError) {
  std::vector<FileLock> all;
  for (const auto& one : folders_to_claim(folder())) all.emplace_back(fs::path(one).concat(".lock"));
  EXPECT_THROW(claimed(milliseconds(1)), Error);
}

}  // namespace
}  // namespace larmor
