// What others have put among a run's checkpoints stays, whatever of them goes.
#include "tests/support/strangers.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/checkpoint/manifest.h"
#include "larmor/checkpoint/retention.h"

#include "tests/checkpoint/support/small_snapshot.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

/// Saves of which each removes the one before.
class AmongCheckpoints : public ::testing::Test {
 protected:
  void save(int64_t step) {
    auto options = saved_at_once();
    options.keep_last = 1;
    CheckpointWriter(folder_, disk_, *solo_, options).save(small_snapshot(step), false);
  }

  const ScratchFolder scratch_;
  const fs::path folder_ = scratch_.path() / "checkpoints", outside_ = scratch_.path() / "outside";
  const std::unique_ptr<Communicator> solo_ = make_solo();
  DiskStorage disk_;
};

TEST_F(AmongCheckpoints, StaysWhatNoSaveHasNamed) {
  const fs::path half = folder_ / "step-00000003.gen-1.tmp", trash = folder_ / ".trash-step-00000001";
  for (const fs::path& place : {half, trash}) {
    fs::create_directories(place);
    write_text(disk_, place / model_name, "half of it");
  }
  const Strangers strangers(outside_, {folder_ / "notes", folder_ / "notes.tmp", folder_ / ".trash-can",
                                       folder_ / "a.new-idea", folder_ / "step-5.gen-x.tmp",
                                       folder_ / ".last.partial-mine", half / "notes", trash / "notes"});
  save(4);
  strangers.expect_there();
  EXPECT_FALSE(fs::exists(half / model_name));
  EXPECT_FALSE(fs::exists(trash / model_name));
  save(5);
  EXPECT_FALSE(fs::exists(folder_ / folder_name(4)));
  strangers.expect_there();
}

TEST_F(AmongCheckpoints, StaysWhatLiesInOneThatGoes) {
  save(1);
  const fs::path first = folder_ / folder_name(1), trash = folder_ / (".trash-" + folder_name(1));
  const Strangers strangers(outside_, {first / "notes"});
  save(2);
  EXPECT_EQ(list_checkpoints(folder_, /*verify=*/true).size(), 1U);
  EXPECT_FALSE(fs::exists(trash / model_name));
  fs::rename(trash, first);  // where they are looked for
  strangers.expect_there();
}

TEST_F(AmongCheckpoints, StaysWhatIsCalledAsALink) {
  fs::create_directories(folder_);
  write_text(disk_, folder_ / "best", "mine");
  CheckpointWriter(folder_, disk_, *solo_, saved_at_once()).save(small_snapshot(3, 0, 0.5), false);
  EXPECT_EQ(read_text(folder_ / "best"), "mine");
  fs::remove(folder_ / "last");
  fs::create_directory(folder_ / "last");
  save(4);
  EXPECT_TRUE(fs::is_directory(folder_ / "last"));
  EXPECT_TRUE(holds_step(*newest_good(folder_, nullptr), 4));
}

}  // namespace
}  // namespace larmor::testing
