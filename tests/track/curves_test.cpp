#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"
#include "larmor/track/tracker.h"

namespace larmor {
namespace {

class Curves : public ::testing::Test {
 protected:
  std::unique_ptr<Tracker> open(const std::string& metric = "val/psnr") {
    auto curves = make_curves(disk_, clock_, {.picture = picture(), .events = events(), .metric = metric});
    curves->start({}, {.name = "a run"});
    return curves;
  }
  std::filesystem::path picture() const { return scratch_.path() / "curves.png"; }
  std::filesystem::path events() const { return scratch_.path() / "events.jsonl"; }
  std::string drawn() const { return read_text(picture()); }

  static void train(Tracker& curves, int first, int last) {
    for (int step = first; step <= last; ++step)
      curves.event({.step = step}, "step", {{"train/loss", 1.0 / step}}, "");
  }
  static void validate(Tracker& curves, int step, double psnr) {
    curves.event({.step = step}, "validation", {{"val/loss", 2.0 / step}, {"val/psnr", psnr}}, "");
  }
  static void end(Tracker& curves, int step) { curves.event({.step = step}, "end", {}, ""); }

  /// Of a PNG file: the second word of its header.
  static int height_of(const std::string& png) {
    int height = 0;
    for (std::size_t i = 20; i < 24; ++i) height = 256 * height + static_cast<unsigned char>(png.at(i));
    return height;
  }

  ScratchFolder scratch_;
  DiskStorage disk_;
  ManualClock clock_;
};

TEST_F(Curves, AreDrawnAfterAValidationAndAtTheEnd) {
  const auto curves = open();
  train(*curves, 1, 20);
  EXPECT_FALSE(std::filesystem::exists(picture())) << "steps alone are no reason";
  validate(*curves, 20, 15);
  const std::string first = drawn();
  EXPECT_GE(height_of(first), 1024) << "two charts below each other";
  train(*curves, 21, 40);
  validate(*curves, 40, 18);
  EXPECT_EQ(drawn(), first) << "within ten seconds";
  clock_.set(11);
  validate(*curves, 41, 18);
  EXPECT_NE(drawn(), first);
  const std::string second = drawn();
  train(*curves, 42, 44);
  end(*curves, 44);
  EXPECT_NE(drawn(), second) << "the end is drawn in any case";
}

TEST_F(Curves, OfARunWithoutAFigureBesideItsLossAreOneChart) {
  const auto curves = open("val/loss");
  train(*curves, 1, 20);
  validate(*curves, 20, 15);
  EXPECT_LT(height_of(drawn()), 1024);
  EXPECT_GE(height_of(drawn()), 512);
}

TEST_F(Curves, GoOnFromWhatEarlierStartsHaveRecorded) {
  const auto whole = open();
  train(*whole, 1, 40);
  validate(*whole, 40, 15);
  const std::string wanted = drawn();

  const auto log = make_event_log(disk_, clock_, events(), 0);
  train(*log, 1, 30);
  log->event({.step = 25}, "warning", {}, "no curve has anything of it");
  log->flush();
  std::ofstream(events(), std::ios::app) << "{\"kind\": \"step\", \"step\": 31, \"val";
  const auto resumed = open();
  // Steps 21 to 30 were lost and are done again; lines of this start are in the file, too.
  std::ofstream(events(), std::ios::app)
      << "\n{\"kind\": \"step\", \"step\": 5, \"values\": {\"train/loss\": 9}}\n";
  train(*resumed, 21, 40);
  validate(*resumed, 40, 15);
  EXPECT_EQ(drawn(), wanted);
}

TEST_F(Curves, LeaveOutWhatIsNoNumberAndDrawNothingOfNothing) {
  const auto curves = open();
  end(*curves, 0);
  EXPECT_FALSE(std::filesystem::exists(picture()));
  train(*curves, 1, 5);
  end(*curves, 5);
  const std::string wanted = drawn();
  const auto other = open();
  train(*other, 1, 4);
  other->event({.step = 4}, "step", {{"train/loss", std::stod("nan")}}, "");
  train(*other, 4, 5);
  end(*other, 5);
  EXPECT_EQ(drawn(), wanted);
}

TEST_F(Curves, ThatCannotBeWrittenAreSaidOnceAndEndNothing) {
  std::filesystem::create_directories(picture() / "in the way");
  const auto curves = open();
  train(*curves, 1, 5);
  end(*curves, 5);
  EXPECT_NE(curves->take_complaint(), "");
  end(*curves, 5);
  EXPECT_EQ(curves->take_complaint(), "");
}

}  // namespace
}  // namespace larmor
