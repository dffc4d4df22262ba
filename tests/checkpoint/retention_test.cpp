// What a save and `checkpoint prune` remove, and what the links say.
#include "larmor/checkpoint/retention.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/checkpoint/manifest.h"

#include "tests/checkpoint/support/small_snapshot.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Retained : public ::testing::Test {
 protected:
  /// Saves as another process would that keeps everything.
  void fill(int64_t step, std::optional<double> metric = {}) {
    const auto solo = make_solo();
    DiskStorage disk;
    auto all = saved_at_once();
    all.keep_last = std::numeric_limits<int64_t>::max();
    CheckpointWriter(folder(), disk, *solo, all).save(small_snapshot(step, 0, metric), false);
  }
  /// Saves as a start would that keeps so many.
  void save(int64_t step, int64_t keep_last, int64_t keep_best, std::optional<double> metric = {}) {
    const auto solo = make_solo();
    DiskStorage disk;
    auto some = saved_at_once();
    some.keep_last = keep_last;
    some.keep_best = keep_best;
    CheckpointWriter writer(folder(), disk, *solo, some);
    writer.save(small_snapshot(step, 0, metric), false);
    EXPECT_TRUE(writer.take_outcomes().at(0).committed);
  }
  /// A shard that no longer is what its sound manifest says.
  void damage(int64_t step) const { flip_bit(folder() / folder_name(step) / model_name, 100, 3); }

  std::vector<int64_t> steps() const {
    std::vector<int64_t> all;
    for (const auto& entry : list_checkpoints(folder(), /*verify=*/false)) all.push_back(entry.step);
    return all;
  }
  std::string link(const std::string& name) const {
    return fs::is_symlink(folder() / name) ? fs::read_symlink(folder() / name).string() : "";
  }
  /// Links aside.
  bool is_empty_but_for(const std::string& name) const {
    for (const auto& item : fs::directory_iterator(folder())) {
      if (!item.is_symlink() && item.path().filename() != name) return false;
    }
    return true;
  }
  fs::path folder() const { return scratch_.path() / "checkpoints"; }

 private:
  ScratchFolder scratch_;
};

TEST_F(Retained, IsWhatHasJustBeenSavedWhereANewerDamagedOneLies) {
  for (const int64_t keep_last : {1, 2}) {
    SCOPED_TRACE(keep_last);
    fs::remove_all(folder());
    for (const int64_t step : {3, 4, 9}) fill(step);
    damage(9);
    save(6, keep_last, 0);
    save(8, keep_last, 0);
    const auto newest = newest_good(folder(), nullptr);
    ASSERT_TRUE(newest.has_value());
    EXPECT_EQ(newest->step, 8);
    EXPECT_EQ(steps(), keep_last == 1 ? (std::vector<int64_t>{9, 8}) : (std::vector<int64_t>{9, 8, 6}));
    EXPECT_EQ(link("last"), "step-00000008");
  }
}

TEST_F(Retained, IsWhatHasJustBeenSavedWhereANewerWholeOneLies) {
  fill(9);
  save(6, 1, 1);
  EXPECT_THAT(steps(), ElementsAre(9, 6));
  EXPECT_EQ(link("last"), "step-00000006");
}

TEST_F(Retained, AreAsManyAsAskedForOfThoseThatAreWhole) {
  for (const int64_t step : {1, 2, 3, 4}) fill(step);
  damage(4);
  damage(3);
  save(5, 3, 0);
  EXPECT_THAT(steps(), ElementsAre(5, 4, 3, 2, 1)) << "5, 2 and 1 are whole";
  save(6, 2, 0);
  EXPECT_THAT(steps(), ElementsAre(6, 5)) << "nobody counts on what is older than enough that is whole";
}

TEST_F(Retained, IsTheBestThatIsWhole) {
  fill(1, 0.3);
  fill(2, 0.1);
  fill(3, 0.5);
  damage(2);
  save(4, 1, 1, 0.4);
  EXPECT_THAT(steps(), ElementsAre(4, 2, 1)) << "2 takes nobody's place";
  EXPECT_EQ(link("best"), "step-00000001");
}

TEST_F(Retained, IsTheEarliestOfEquallyGoodOnes) {
  fill(1, 0.3);
  fill(2, 0.3);
  save(3, 1, 1, 0.3);
  EXPECT_THAT(steps(), ElementsAre(3, 1));
  EXPECT_EQ(link("best"), "step-00000001");
}

TEST_F(Retained, LeavesALinkToNothingBehindNever) {
  fill(1, 0.3);
  fs::create_symlink("step-00000077", folder() / "best.new");
  fs::rename(folder() / "best.new", folder() / "best");
  save(2, 1, 0);
  EXPECT_THAT(steps(), ElementsAre(2));
  EXPECT_EQ(link("best"), "") << "the one that is left has no metric";
}

TEST_F(Retained, AreAllWhereNoneIsWhole) {
  for (const int64_t step : {1, 2}) fill(step);
  for (const int64_t step : {1, 2}) damage(step);
  DiskStorage disk;
  const auto pruned = prune_checkpoints(folder(), disk, {.keep_last = 1, .keep_best = 0});
  EXPECT_THAT(pruned.removed, IsEmpty());
  EXPECT_EQ(pruned.damaged.size(), 2U);
  EXPECT_THAT(steps(), ElementsAre(2, 1));
}

TEST_F(Retained, AreWholeOnesWhenAPersonPrunes) {
  for (const int64_t step : {1, 2, 3}) fill(step);
  damage(3);
  DiskStorage disk;
  const auto pruned = prune_checkpoints(folder(), disk, {.keep_last = 1, .keep_best = 0});
  EXPECT_THAT(pruned.removed, ElementsAre(folder() / "step-00000001"));
  ASSERT_EQ(pruned.damaged.size(), 1U);
  EXPECT_THAT(pruned.damaged[0].reason, ::testing::HasSubstr("SHA-256"));
  EXPECT_THAT(steps(), ElementsAre(3, 2));
  EXPECT_EQ(link("last"), "step-00000002");
}

TEST_F(Retained, ArePinnedOnesUntilTheyAreUnpinned) {
  for (const int64_t step : {1, 2, 3}) fill(step, 0.1 * static_cast<double>(step));
  DiskStorage disk;
  pin_checkpoint(folder() / "step-00000002", /*pinned=*/true, disk);
  EXPECT_TRUE(verify_checkpoint(folder() / "step-00000002").ok) << "a pin is no damage";
  EXPECT_TRUE(open_checkpoint(folder() / "step-00000002").pinned);
  save(4, 1, 1);
  save(5, 1, 1);
  EXPECT_THAT(steps(), ElementsAre(5, 2, 1)) << "beside the last and the best";
  EXPECT_EQ(link("last"), "step-00000005");
  EXPECT_EQ(link("best"), "step-00000001");
  const Retention one{.keep_last = 1, .keep_best = 0};
  EXPECT_THAT(prune_checkpoints(folder(), disk, one).removed, ElementsAre(folder() / "step-00000001"));
  EXPECT_EQ(link("best"), "step-00000002") << "of those that are there";
  pin_checkpoint(folder() / "step-00000002", /*pinned=*/false, disk);
  EXPECT_THAT(prune_checkpoints(folder(), disk, one).removed, ElementsAre(folder() / "step-00000002"));
  EXPECT_TRUE(is_empty_but_for("step-00000005")) << "no pin is left behind";
}

TEST_F(Retained, IsOneThatWasPinnedWhileOthersWereLookedAt) {
  for (const int64_t step : {1, 2}) fill(step);
  FaultyStorage racing([&](const FaultyStorage::Operation& operation) {
    DiskStorage disk;
    if (operation.name == "rename" && operation.path.filename() == ".trash-step-00000001")
      pin_checkpoint(folder() / "step-00000001", /*pinned=*/true, disk);
  });
  EXPECT_THAT(prune_checkpoints(folder(), racing, {.keep_last = 1, .keep_best = 0}).removed, IsEmpty());
  EXPECT_THAT(steps(), ElementsAre(2, 1));
}

TEST_F(Retained, CannotBePinnedWhenItIsGone) {
  fill(1);
  DiskStorage disk;
  try {
    pin_checkpoint(folder() / "step-00000009", /*pinned=*/true, disk);
    FAIL() << "nothing is there to be pinned";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::checkpoint);
    EXPECT_THAT(error.message(), ::testing::HasSubstr("has been removed meanwhile"));
  }
}

TEST_F(Retained, HaveLinksThatAreRenewedFromTheirManifests) {
  fill(1, 0.1);
  fill(2, 0.7);
  fill(3);
  DiskStorage disk;
  disk.replace_link(folder() / "best", "step-00000009");
  fs::remove(folder() / "last");
  renew_links(folder(), disk, /*lower_is_better=*/true);
  EXPECT_EQ(link("best"), "step-00000001");
  EXPECT_EQ(link("last"), "step-00000003");
  renew_links(folder(), disk, /*lower_is_better=*/false);
  EXPECT_EQ(link("best"), "step-00000002");
}

TEST_F(Retained, AreSetAsideUnderANameOfTheirOwn) {
  DiskStorage disk;
  for (int time = 0; time < 2; ++time) {
    fill(5);
    const auto aside = set_aside(list_checkpoints(folder(), false), folder(), 3, disk);
    EXPECT_EQ(aside.filename(), time == 0 ? "checkpoints.before-3" : "checkpoints.before-3-2");
    EXPECT_TRUE(verify_checkpoint(aside / "step-00000005").ok);
  }
  EXPECT_THAT(steps(), IsEmpty());
}

}  // namespace
}  // namespace larmor::testing
