#include "larmor/base/log.h"

#include <sys/stat.h>

#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class LogTest : public ::testing::Test {
 protected:
  void open(std::string_view who, log::Level console) { log::open(who, file_, console); }
  std::vector<std::string> lines() const {
    log::flush();
    std::vector<std::string> out = split(read_text(file_), '\n');
    out.pop_back();
    return out;
  }

  ScratchFolder scratch_;
  std::filesystem::path file_ = scratch_.path() / "rank-3.log";
};

TEST_F(LogTest, TagsEachLineOfTheFileWithTimeRankAndLevel) {
  open("rank 3", log::Level::error);
  log::debug("a");
  log::warning("100 % {} done");
  ASSERT_EQ(lines().size(), 2U);
  EXPECT_THAT(lines()[0], MatchesRegex("....-..-..T..:..:..\\....Z \\[rank 3\\] debug: a"));
  EXPECT_THAT(lines()[1], HasSubstr("[rank 3] warning: 100 % {} done"));
}

TEST_F(LogTest, ShowsForeignWordsEscaped) {
  open("rank 3", log::Level::error);
  log::info("a\n2026-01-01T00:00:00.000Z [rank 0] info: all is well\x1b[2J");
  ASSERT_EQ(lines().size(), 1U);
  EXPECT_THAT(lines()[0],
              HasSubstr("info: a\\n2026-01-01T00:00:00.000Z [rank 0] info: all is well\\u001b[2J"));
}

TEST_F(LogTest, NamesAThreadInPlaceOfTheProcess) {
  open("ranks 0 to 1", log::Level::error);
  std::thread([] {
    log::name_thread("rank 1");
    log::info("a");
  }).join();
  log::info("b");
  ASSERT_EQ(lines().size(), 2U);
  EXPECT_THAT(lines()[0], HasSubstr("[rank 1] info: a"));
  EXPECT_THAT(lines()[1], HasSubstr("[ranks 0 to 1] info: b"));
}

TEST_F(LogTest, ShowsOnStderrOnlyTheLevelsAskedFor) {
  open("rank 3", log::Level::warning);
  ::testing::internal::CaptureStderr();
  log::info("quiet");
  log::error("loud");
  log::set_console(log::Level::info);
  log::info("told");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "[rank 3] error: loud\n[rank 3] told\n");
  EXPECT_EQ(lines().size(), 3U);
}

TEST_F(LogTest, GoesToStderrAloneWithoutAFile) {
  open("rank 3", log::Level::error);
  ::testing::internal::CaptureStderr();
  log::open("rank 4", {}, log::Level::info);
  log::warning("here");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "[rank 4] warning: here\n");
  EXPECT_EQ(read_text(file_), "");
}

TEST_F(LogTest, AppendsToAFileThatWasThereAndKeepsItPrivate) {
  open("rank 3", log::Level::error);
  log::info("first");
  open("rank 3", log::Level::error);
  log::info("second");
  EXPECT_EQ(lines().size(), 2U);
  struct stat status{};
  ASSERT_EQ(::stat(file_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(LogTest, KeepsLinesWholeWhenManyThreadsWrite) {
  open("rank 3", log::Level::error);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 200; ++i) log::info(std::string(100, 'x'));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<std::string> written = lines();
  ASSERT_EQ(written.size(), 800U);
  for (const std::string& line : written)
    EXPECT_THAT(line, ::testing::EndsWith(": " + std::string(100, 'x')));
}

TEST_F(LogTest, RefusesAFileThatCannotBeMade) {
  EXPECT_THROW(log::open("rank 3", scratch_.path() / "absent/log", log::Level::info), Error);
}

TEST_F(LogTest, SaysOnceThatTheDiskIsFullAndGoesOn) {
  ::testing::internal::CaptureStderr();
  log::open("rank 3", "/dev/full", log::Level::warning);
  for (int i = 0; i < 3; ++i) EXPECT_NO_THROW(log::info("x"));
  open("rank 3", log::Level::error);
  const std::string shown = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(shown, HasSubstr("warning: the log file cannot be written"));
  EXPECT_EQ(shown.find("cannot be written"), shown.rfind("cannot be written"));
}

}  // namespace
}  // namespace larmor
