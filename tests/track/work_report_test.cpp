#include "larmor/track/work_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/track/support/collecting.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(WorkReport, SaysHowMuchIsDoneHowFastAndHowLongItTakesYet) {
  EXPECT_EQ(describe({.what = "prepared", .unit = "examples", .done = 120, .all = 400}, 10),
            "prepared 120 of 400, 12 examples/s, ETA 23.3 s");
  EXPECT_EQ(describe({.what = "tables of questions:",
                      .unit = "documents",
                      .done = 500,
                      .all = 2500,
                      .rows = 70'000,
                      .bytes = uint64_t{50} << 20},
                     10),
            "tables of questions: 500 of 2500, 70000 rows, 50 documents/s, 5 MiB/s, ETA 40 s");
}

TEST(WorkReport, CountsWhatHadBeenDoneBeforeInNoSpeed) {
  const std::string words =
      describe({.what = "prepared", .unit = "examples", .done = 300, .all = 400, .found_done = 290}, 10);
  EXPECT_THAT(words, HasSubstr("1.00 examples/s, ETA 1 min 40 s"));
  EXPECT_EQ(
      describe({.what = "prepared", .unit = "examples", .done = 300, .all = 400, .found_done = 300}, 10),
      "prepared 300 of 400");
}

TEST(WorkReport, SaysHowFarAPassIsWhereOneTakesLong) {
  EXPECT_EQ(describe({.what = "validated", .unit = "cases", .all = 8, .part = 0.451}, 10),
            "validated 0 of 8, 45 % of a pass over the next");
  EXPECT_EQ(describe({.what = "validated", .unit = "cases", .done = 1, .all = 3, .part = 0.5}, 200),
            "validated 1 of 3, 50 % of a pass over the next, ETA 6 min 40 s");
}

class ShownWork : public ::testing::Test {
 protected:
  std::string show(int64_t done, double at) {
    clock_.set(at);
    report_.show({.what = "prepared", .unit = "examples", .done = done, .all = 400});
    return screen_.take();
  }

  ManualClock clock_;
  Screen screen_ = Screen::pipe();
  WorkReport report_{screen_.descriptor(), /*patience=*/3, clock_};
};

TEST_F(ShownWork, SaysNothingOfWhatIsDoneInAMoment) {
  EXPECT_EQ(show(0, 0), "");
  EXPECT_EQ(show(399, 2.9), "");
  EXPECT_EQ(show(0, 4), "") << "nothing is done yet";
}

TEST_F(ShownWork, IsALineEveryTenSecondsWhereThereIsNoTerminal) {
  EXPECT_EQ(show(30, 3), "prepared 30 of 400, 10 examples/s, ETA 37 s\n");
  EXPECT_EQ(show(31, 12.9), "");
  EXPECT_THAT(show(260, 13), HasSubstr("prepared 260 of 400"));
}

TEST_F(ShownWork, TimesWorkOfAnotherNameByItself) {
  show(30, 3);
  report_.show({.what = "written", .unit = "rows", .done = 1, .all = 2});
  EXPECT_EQ(screen_.take(), "") << "its patience begins anew";
  clock_.set(7);
  report_.show({.what = "written", .unit = "rows", .done = 4, .all = 8});
  EXPECT_EQ(screen_.take(), "written 4 of 8, 1.00 rows/s, ETA 4 s\n");
}

TEST(WorkReport, IsOneLineThatIsRewrittenOnATerminal) {
  ManualClock clock;
  Screen screen = Screen::terminal(30);
  {
    WorkReport report(screen.descriptor(), /*patience=*/0, clock);
    clock.set(1);
    report.show({.what = "prepared", .unit = "examples", .done = 10, .all = 400});
    const std::string first = screen.take();
    EXPECT_THAT(first, HasSubstr("prepared 10 of 400, 10 exampl"));
    EXPECT_THAT(first, Not(HasSubstr("\n")));
    EXPECT_THAT(first, Not(HasSubstr("ETA"))) << "no more than the terminal's width";
    clock.set(1.05);
    report.show({.what = "prepared", .unit = "examples", .done = 11, .all = 400});
    EXPECT_EQ(screen.take(), "") << "not oftener than people can read";
  }
  EXPECT_THAT(screen.take(), HasSubstr("\n")) << "the line stays when the work is done";
}

/// Of a second validation, which has a time of its own.
TEST_F(ShownWork, BeginsAnewWhereNothingIsDoneAgain) {
  show(0, 0);
  EXPECT_NE(show(100, 4), "");
  EXPECT_EQ(show(0, 100), "");
  EXPECT_EQ(show(10, 101), "") << "as patient as the first time";
  EXPECT_THAT(show(30, 110), HasSubstr("3.00 examples/s"));
}

}  // namespace
}  // namespace larmor
