#include "larmor/run/room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/disk_room.h"
#include "larmor/base/files/file.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr uint64_t mebibyte = uint64_t{1} << 20;

class Room : public ::testing::Test {
 protected:
  uint64_t free_bytes() const { return disk_room(scratch_.path())->free_bytes; }
  RoomNeed need(const std::string& what, uint64_t certain, uint64_t likely) const {
    return {.what = what,
            .folder = scratch_.path() / what / "to_come",
            .certain_bytes = certain,
            .likely_bytes = likely,
            .remedy = "less." + what};
  }
  /// Of checkpoints of a mebibyte, in a run of 100 steps.
  RoomNeed checkpoints(const Length& every, int64_t keep_last, int64_t keep_best,
                       uint64_t present = 0) const {
    RunConfig config;
    config.train.length = length_;
    config.checkpoint.every = every;
    config.checkpoint.keep_last = keep_last;
    config.checkpoint.keep_best = keep_best;
    Demand demand;
    demand.training_examples = 40;
    demand.model_bytes = mebibyte / 4;
    demand.optimizer_bytes = mebibyte / 4 * 3;
    Plan plan;
    plan.global_batch = 4;
    return room_of_checkpoints(config, demand, plan, "run", present);
  }

  Length length_{100, Length::Unit::steps};

 private:
  const ScratchFolder scratch_;
};

TEST_F(Room, OfCheckpointsIsWhatIsKeptAndTheOneThatIsBeingSaved) {
  const auto many = checkpoints({5, Length::Unit::steps}, 2, 1);
  EXPECT_EQ(many.certain_bytes, 3 * mebibyte) << "the best may be the last";
  EXPECT_EQ(many.likely_bytes, 4 * mebibyte);
  EXPECT_EQ(checkpoints({5, Length::Unit::epochs}, 5, 1).certain_bytes, 2 * mebibyte) << "every 50 steps";
  EXPECT_EQ(checkpoints({}, 2, 1).likely_bytes, mebibyte) << "at the end alone";
  EXPECT_EQ(checkpoints({60, Length::Unit::seconds}, 2, 1).certain_bytes, mebibyte);
  EXPECT_EQ(checkpoints({60, Length::Unit::seconds}, 2, 1).likely_bytes, 4 * mebibyte);
  EXPECT_EQ(checkpoints({5, Length::Unit::steps}, 2, 1, 2 * mebibyte).certain_bytes, mebibyte);
  EXPECT_EQ(checkpoints({5, Length::Unit::steps}, 2, 1, 9 * mebibyte).certain_bytes, 0U);
}

TEST_F(Room, OfACacheIsNoMoreThanItMayHold) {
  CacheForecast forecast{.folder = "cache",
                         .cases = 10,
                         .needed_bytes = 10 * mebibyte,
                         .present_bytes = 4 * mebibyte,
                         .budget_bytes = 8 * mebibyte};
  EXPECT_EQ(room_of_cache(forecast).certain_bytes, 4 * mebibyte) << "what is there may be these cases";
  EXPECT_EQ(room_of_cache(forecast).likely_bytes, 4 * mebibyte);
  forecast.budget_bytes = 100 * mebibyte;
  EXPECT_EQ(room_of_cache(forecast).certain_bytes, 6 * mebibyte);
  EXPECT_EQ(room_of_cache(forecast).likely_bytes, 10 * mebibyte) << "or others";
}

TEST_F(Room, ThatIsThereIsNotSpokenOf) {
  EXPECT_THAT(look_for_room({need("checkpoints", 1, free_bytes() / 4)}, false), IsEmpty());
}

TEST_F(Room, ThatIsShortIsAWarning) {
  const auto words = look_for_room({need("checkpoints", 1, free_bytes())}, false);
  EXPECT_THAT(words, ElementsAre(AllOf(HasSubstr("there is little room for up to"), HasSubstr("to_come"),
                                       HasSubstr("less.checkpoints"))));
}

TEST_F(Room, ThatIsNotThereIsRefusedUnlessAPersonGoesOn) {
  const std::vector<RoomNeed> needs{need("checkpoints", uint64_t{1} << 60, uint64_t{1} << 60)};
  try {
    look_for_room(needs, false);
    FAIL() << "no disk is that large";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::environment);
    EXPECT_THAT(error.message(), AllOf(HasSubstr("no room for at least "), HasSubstr("checkpoints"),
                                       HasSubstr(" are free"), Not(HasSubstr("on one disk"))));
    EXPECT_THAT(error.hint(), AllOf(HasSubstr("less.checkpoints"), HasSubstr("--no-check")));
  }
  EXPECT_THAT(look_for_room(needs, true), ElementsAre(HasSubstr("no room for at least ")));
}

TEST_F(Room, OfTwoFoldersOnOneDiskIsOne) {
  const auto most = free_bytes() / 10 * 6;
  const auto checkpoints = need("checkpoints", most, most), cache = need("cache", most, most);
  EXPECT_THAT(look_for_room({checkpoints}, false), IsEmpty());
  EXPECT_THAT(look_for_room({cache}, false), IsEmpty());
  EXPECT_THAT(look_for_room({checkpoints, cache}, true), ElementsAre(HasSubstr("on one disk")));
  auto elsewhere = cache;
  elsewhere.folder = "/proc/nothing";
  elsewhere.certain_bytes = elsewhere.likely_bytes = 0;
  EXPECT_THAT(look_for_room({checkpoints, elsewhere}, false), IsEmpty());
}

}  // namespace
}  // namespace larmor::testing
