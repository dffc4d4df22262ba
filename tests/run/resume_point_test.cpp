#include "larmor/run/resume_point.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"

#include "tests/checkpoint/support/small_snapshot.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Choice = ResumeChoice::Kind;

class Resuming : public ::testing::Test {
 protected:
  RunFolder run(const std::string& name = "run") const { return {fs::canonical(scratch_.path()) / name}; }
  fs::path checkpoint(const std::string& name) const { return run().checkpoints() / name; }

  void save(const std::vector<int64_t>& steps, const std::string& name = "run") {
    const auto solo = make_solo();
    auto options = saved_at_once();
    options.keep_last = std::numeric_limits<int64_t>::max();
    options.config_sha256 = name;
    options.index_sha256 = "the same";
    CheckpointWriter writer(run(name).checkpoints(), disk_, *solo, options);
    for (const auto step : steps)
      writer.save(small_snapshot(step, 0, 1.0 / static_cast<double>(step)), false);
  }
  void damage(const std::string& name) const { flip_bit(checkpoint(name) / "model.safetensors", 100, 3); }

  /// A start: what it goes on from, and what it says.
  ResumePoint start(const ResumeChoice& choice, const fs::path& origin = {}) {
    auto point = find_resume_point(run(), choice, origin);
    notes_ = settle_resume_point(point, run(), ++generation_, /*lower_is_better=*/true, disk_);
    return point;
  }
  ResumePoint start_at(const fs::path& path) { return start({.kind = Choice::path, .path = path}); }

  std::vector<int64_t> steps() const {
    std::vector<int64_t> all;
    for (const auto& entry : list_checkpoints(run().checkpoints(), /*verify=*/true))
      all.push_back(entry.step);
    return all;
  }
  std::string link(const std::string& name) const { return fs::read_symlink(checkpoint(name)); }
  fs::path aside(int generation) const {
    return run().root / ("checkpoints.before-" + std::to_string(generation));
  }

  std::vector<std::string> notes_;
  DiskStorage disk_;

 private:
  ScratchFolder scratch_;
  int generation_ = 0;
};

TEST_F(Resuming, AtAnOlderCheckpointRewindsTheRun) {
  save({4, 6, 8});
  const auto point = start_at(checkpoint("step-00000004"));
  EXPECT_EQ(point.entry->step, 4);
  EXPECT_TRUE(point.origin.empty());
  EXPECT_THAT(steps(), ElementsAre(4));
  EXPECT_EQ(link("last"), "step-00000004");
  EXPECT_EQ(link("best"), "step-00000004");
  EXPECT_THAT(notes_, ElementsAre(AllOf(HasSubstr("going back to step 4"),
                                        HasSubstr("step-00000008, step-00000006 were moved to "),
                                        HasSubstr("checkpoints.before-1"), HasSubstr("takes it back"))));
  EXPECT_EQ(start({}).entry->step, 4) << "a restart goes on with the line that was chosen";
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(Resuming, AtWhatARewindSetAsideTakesItBack) {
  save({4, 6, 8});
  start_at(checkpoint("step-00000004"));
  save({5, 6});
  const auto point = start_at(aside(1) / "step-00000006");
  EXPECT_EQ(point.entry->folder, checkpoint("step-00000006"));
  EXPECT_TRUE(point.origin.empty());
  EXPECT_THAT(steps(), ElementsAre(6, 5, 4));
  EXPECT_TRUE(verify_checkpoint(aside(2) / "step-00000006").ok) << "the one of the other line is not lost";
  EXPECT_TRUE(verify_checkpoint(aside(1) / "step-00000008").ok);
  EXPECT_EQ(link("last"), "step-00000006");
  EXPECT_EQ(start({}).entry->step, 6);
}

TEST_F(Resuming, AtALinkIsResumingAtItsTarget) {
  save({4, 6});
  disk_.replace_link(checkpoint("best"), "step-00000004");
  EXPECT_EQ(start_at(checkpoint("best")).entry->folder, checkpoint("step-00000004"));
  EXPECT_THAT(steps(), ElementsAre(4));
}

TEST_F(Resuming, SetsDamagedOnesAsideThatItPassesOver) {
  save({4, 6});
  damage("step-00000006");
  EXPECT_EQ(start({}).entry->step, 4);
  EXPECT_THAT(steps(), ElementsAre(4));
  EXPECT_TRUE(fs::exists(aside(1) / "step-00000006"));
  EXPECT_THAT(notes_, ElementsAre(AllOf(HasSubstr("passed over the damaged checkpoint"), HasSubstr("SHA-256"),
                                        HasSubstr("moved to"))));
  EXPECT_EQ(link("last"), "step-00000004");
}

TEST_F(Resuming, ChangesNothingWhenItIsRefused) {
  save({4, 6});
  damage("step-00000004");
  EXPECT_THROW(start_at(checkpoint("step-00000004")), Error);
  damage("step-00000006");
  EXPECT_THROW(start({}), Error);
  EXPECT_THAT(steps(), ElementsAre(6, 4));
}

TEST_F(Resuming, AtAnotherRunsCheckpointStaysItsBeginningUntilALaterOneIsSaved) {
  save({5}, "other");
  save({4, 8});
  const auto foreign = run("other").checkpoints() / "step-00000005";
  const auto point = start_at(foreign);
  EXPECT_EQ(point.entry->folder, foreign);
  EXPECT_EQ(point.origin, foreign);
  EXPECT_THAT(steps(), ElementsAre(4)) << "8 is of another line";
  EXPECT_EQ(start({}, point.origin).entry->folder, foreign) << "as when a rank dies before the first save";
  save({7});
  EXPECT_EQ(start({}, point.origin).entry->folder, checkpoint("step-00000007"));
  damage("step-00000007");
  EXPECT_EQ(start({}, point.origin).entry->folder, foreign);
  fs::remove_all(foreign);
  try {
    start({}, point.origin);
    FAIL() << "the run went on from another line";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::checkpoint);
    EXPECT_THAT(error.message(),
                AllOf(HasSubstr("the run began from "), HasSubstr("there is no such folder")));
  }
}

TEST_F(Resuming, NeverLeavesAllBehind) {
  save({4});
  EXPECT_FALSE(start({.kind = Choice::never, .path = {}}).entry.has_value());
  EXPECT_TRUE(verify_checkpoint(aside(1) / "step-00000004").ok);
  EXPECT_FALSE(start({}).entry.has_value());
}

TEST_F(Resuming, TellsWhetherConfigurationAndDataAreTheSame) {
  save({5}, "other");
  const auto entry = verify_checkpoint(run("other").checkpoints() / "step-00000005");
  EXPECT_TRUE(compare_origin(entry, "other", "the same").both());
  EXPECT_FALSE(compare_origin(entry, "run", "the same").config);
  EXPECT_FALSE(compare_origin(entry, "other", "another").index);
  EXPECT_FALSE(is_own_checkpoint(run(), entry));
  EXPECT_TRUE(is_own_checkpoint(run("other"), entry));
}

}  // namespace
}  // namespace larmor::testing
