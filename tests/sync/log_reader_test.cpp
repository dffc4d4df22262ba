#include "larmor/sync/log_reader.h"

#include <fstream>

#include <gtest/gtest.h>

#include "larmor/base/files/file.h"

namespace larmor::testing {
namespace {

class ReadLog : public ::testing::Test {
 protected:
  void log(const std::string& lines) const { std::ofstream(file_, std::ios::app) << lines; }

  ScratchFolder folder_;
  std::filesystem::path file_ = folder_.path() / "events.jsonl";
};

TEST_F(ReadLog, GivesALineWithItsPlace) {
  log("{\"t\":2.5,\"generation\":1,\"step\":3,\"epoch\":0.5,\"kind\":\"step\",\"values\":{\"a\":1,\"b\":null}"
      "}\n");
  log("{\"t\":3,\"step\":3,\"kind\":\"warning\",\"text\":\"words\"}\n");
  LogReader reader(file_, 0);
  const auto events = reader.read(10);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].generation, 1);
  EXPECT_EQ(events[0].values[0], (std::pair<std::string, std::optional<double>>("a", 1)));
  EXPECT_FALSE(events[0].values[1].second) << "it was not finite";
  EXPECT_EQ(events[1].words, "words");
  EXPECT_EQ(LogReader(file_, events[1].place).read(10).front().words, "words");
  EXPECT_TRUE(reader.read(10).empty());
}

TEST_F(ReadLog, GivesNoMoreThanAskedAndGoesOnThere) {
  for (int step = 0; step < 5; ++step)
    log("{\"t\":1,\"step\":" + std::to_string(step) + ",\"kind\":\"step\",\"values\":{\"a\":1}}\n");
  LogReader reader(file_, 0);
  EXPECT_EQ(reader.read(3).size(), 3U);
  EXPECT_EQ(reader.read(3).front().step, 3);
}

TEST_F(ReadLog, LeavesOutWhatIsOfAnotherForm) {
  LogReader reader(file_, 0);
  EXPECT_TRUE(reader.read(1).empty()) << "there is no log yet";
  log("[]\n{\"t\":\"late\",\"step\":1,\"kind\":\"step\"}\n\n{\"t\":1,\"step\":1,\"kind\":\"checkpoint\"}\n");
  EXPECT_TRUE(reader.read(10).empty());
  EXPECT_EQ(reader.unread_lines(), 2) << "the last one is known and says nothing";
}

TEST_F(ReadLog, BeginsAnewWhereTheLogIsShorter) {
  log("{\"t\":1,\"step\":1,\"kind\":\"step\",\"values\":{\"a\":1}}\n");
  EXPECT_EQ(LogReader(file_, 10'000).read(10).size(), 1U);
}

}  // namespace
}  // namespace larmor::testing
