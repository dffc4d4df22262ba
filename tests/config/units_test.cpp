#include "larmor/config/units.h"

#include <gtest/gtest.h>

#include "larmor/base/error.h"

namespace larmor {
namespace {

TEST(Length, ReadsEveryUnit) {
  EXPECT_EQ(parse_length("10ep"), (Length{10, Length::Unit::epochs}));
  EXPECT_EQ(parse_length("0.5ep"), (Length{0.5, Length::Unit::epochs}));
  EXPECT_EQ(parse_length("500st"), (Length{500, Length::Unit::steps}));
  EXPECT_EQ(parse_length("90s"), (Length{90, Length::Unit::seconds}));
  EXPECT_EQ(parse_length(" 30 min "), (Length{1800, Length::Unit::seconds}));
  EXPECT_EQ(parse_length("12h"), (Length{43200, Length::Unit::seconds}));
}

TEST(Length, TakesEveryZeroForTheSameNever) {
  for (const char* zero : {"0", "0ep", "0st", "0s", "0.0h"}) EXPECT_EQ(parse_length(zero), Length{}) << zero;
  EXPECT_EQ(to_text(Length{}), "0");
}

TEST(Length, RefusesWhatHasNoUnitOrNoSense) {
  for (const char* wrong : {"", "10", "ep", "-1ep", "+1ep", "1.5st", "10 epochs", "1e3st", "010ep", "1.ep",
                            ".5ep", "nan", "infs", "10ep5", "1e999ep", "10EP", "99999999999999999999st"}) {
    EXPECT_THROW(parse_length(wrong), Error) << wrong;
  }
}

TEST(Length, IsWrittenSoThatItReadsBack) {
  EXPECT_EQ(to_text(parse_length("1000000ep")), "1000000ep");
  EXPECT_EQ(to_text(parse_length("90s")), "90s");
  EXPECT_EQ(to_text(parse_length("120s")), "2min");
  EXPECT_EQ(to_text(parse_length("3600s")), "1h");
  for (const char* written :
       {"0.1ep", "0.3s", "0.7min", "1.3h", "2.0001min", "9007199254740992st", "0.0000001ep"}) {
    const Length length = parse_length(written);
    EXPECT_EQ(parse_length(to_text(length)), length) << written << " became " << to_text(length);
  }
}

TEST(Bytes, ReadsBinaryAndDecimalUnits) {
  EXPECT_EQ(parse_bytes("48GiB"), uint64_t{48} << 30);
  EXPECT_EQ(parse_bytes("1.5 MiB"), 1536U * 1024U);
  EXPECT_EQ(parse_bytes("2GB"), 2000000000U);
  EXPECT_EQ(parse_bytes("7B"), 7U);
  EXPECT_EQ(parse_bytes("1000"), 1000U);
}

TEST(Bytes, RefusesWhatIsNoWholeNumberOfBytes) {
  for (const char* wrong : {"", "GiB", "-1", "0.5", "1gib", "1.0000001KiB", "1e3", "99999999TiB", "08MiB"}) {
    EXPECT_THROW(parse_bytes(wrong), Error) << wrong;
  }
}

TEST(Bytes, AreWrittenInTheLargestUnitThatIsExact) {
  EXPECT_EQ(bytes_text(uint64_t{48} << 30), "48GiB");
  EXPECT_EQ(bytes_text(1536U * 1024U), "1536KiB");
  EXPECT_EQ(bytes_text(0), "0");
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{1023}, uint64_t{1} << 40, (uint64_t{1} << 52) + 1024}) {
    EXPECT_EQ(parse_bytes(bytes_text(bytes)), bytes);
  }
}

}  // namespace
}  // namespace larmor
