#include "larmor/track/tfevents.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/track/support/event_file.h"

namespace larmor {
namespace {

TEST(Crc32c, GivesTheValuesOfTheStandard) {
  // RFC 3720, B.4; the first is the check value of the CRC catalogues.
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62A8AB43U);
  EXPECT_EQ(crc32c(""), 0U);
}

TEST(TfeventsRecord, FramesItsBytesAsTensorBoardsOwnWriterDoes) {
  // What tensorboard 2.21 writes for Event(wall_time=1.5, file_version="brain.Event:2").
  const std::string event(
      "\x09\0\0\0\0\0\0\xf8\x3f\x1a\x0d"
      "brain.Event:2",
      24);
  const std::string length("\x18\0\0\0\0\0\0\0", 8);
  EXPECT_EQ(tfevents_record(event), length + "\xa3\x7f\x4b\x22" + event + "\x2a\x28\x64\x6c");
}

TEST(TfeventsScalars, WritesStepsThatNeedAllTheirBits) {
  const std::string record = tfevents_scalars(0, 1'000'000'000'000, {{"a", 1}});
  const DecodedMessage event = decode_message(std::string_view(record).substr(12, record.size() - 16));
  EXPECT_EQ(event.numbers.at(2).at(0), 1'000'000'000'000U);
}

}  // namespace
}  // namespace larmor
