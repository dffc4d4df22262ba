#include "larmor/train/saves.h"

#include <future>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "larmor/base/files/file.h"

namespace larmor::testing {
namespace {

constexpr int64_t no_bytes = 0;
/// See seconds_to_save().
constexpr double least = 10;

Snapshot empty_snapshot(int64_t step) {
  Snapshot snapshot;
  snapshot.step = step;
  return snapshot;
}

TEST(Saves, ReservesForTheLastSaveAndTheRestOfTheOneThatIsUnderWay) {
  const ScratchFolder scratch;
  const auto solo = make_solo();
  ManualClock clock;
  std::promise<void> word, told;
  FaultyStorage disk([waits = word.get_future().share()](const FaultyStorage::Operation& operation) {
    if (operation.name == "checkpoint.begun") waits.wait();
  });
  CheckpointWriter writer(scratch.path(), disk, *solo, {}, [&](const SaveOutcome&) { told.set_value(); });
  int taken = 0;
  Saves saves(
      writer, clock,
      [&taken] {
        ++taken;
        return empty_snapshot(3);
      },
      /*saved_step=*/-1);
  EXPECT_EQ(saves.seconds_outstanding(no_bytes), least);
  saves.save(3, std::nullopt, /*last=*/false);
  EXPECT_EQ(saves.seconds_outstanding(no_bytes), least + least);
  clock.sleep(4);
  EXPECT_EQ(saves.seconds_outstanding(no_bytes), least + 6);
  clock.sleep(20);
  EXPECT_EQ(saves.seconds_outstanding(no_bytes), least + 12) << "it is late: half as long again";
  word.set_value();
  told.get_future().wait();
  EXPECT_EQ(saves.seconds_outstanding(no_bytes), least) << "though nobody has settled it";
  EXPECT_TRUE(saves.has_ended());
  saves.settle();
  EXPECT_FALSE(saves.has_ended());
  saves.save(3, std::nullopt, /*last=*/true);
  EXPECT_EQ(taken, 1) << "it is saved already";
}

TEST(Saves, AreRecordedUnderTheMomentOfTheirSnapshot) {
  class Recorder final : public Tracker {
   public:
    void event(const Moment& moment, std::string_view kind, const Values& values,
               std::string_view words) override {
      EXPECT_EQ(moment.step, 6);
      EXPECT_EQ(moment.epoch, 1.5);
      EXPECT_EQ(moment.examples, 24);
      kinds.emplace_back(kind);
      said.emplace_back(words);
      count = values.size();
    }
    void picture(const Moment&, std::string_view, const Picture&) override {}
    void flush() override {}
    std::vector<std::string> kinds, said;
    size_t count = 0;
  } recorder;
  SaveOutcome outcome{.step = 6, .epoch = 1.5, .examples = 24, .committed = true, .is_best = true};
  record_save(recorder, outcome);
  EXPECT_EQ(recorder.count, 2U);
  outcome.committed = false;
  outcome.warning = "the disk is full";
  record_save(recorder, outcome);
  EXPECT_EQ(recorder.kinds, (std::vector<std::string>{"checkpoint", "warning"}));
  EXPECT_EQ(recorder.said.front(), "best so far");
  EXPECT_EQ(recorder.said.back(),
            "the checkpoint was not saved: the disk is full; it is of step 6, and tried again at the next "
            "interval");
}

}  // namespace
}  // namespace larmor::testing
