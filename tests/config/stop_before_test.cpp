#include "larmor/config/stop_before.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/config/load.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;
using Kind = StopBefore::Kind;

TEST(StopBefore, IsAWordATimeOrALength) {
  EXPECT_EQ(parse_stop_before("auto").kind, Kind::automatic);
  EXPECT_EQ(parse_stop_before("never").kind, Kind::never);
  const auto length = parse_stop_before("12h");
  EXPECT_EQ(length.kind, Kind::length);
  EXPECT_EQ(length.seconds, 12 * 3600);
  const auto moment = parse_stop_before("2026-11-21T23:00:00Z");
  EXPECT_EQ(moment.kind, Kind::moment);
  EXPECT_EQ(utc_text(moment.seconds), "2026-11-21T23:00:00Z");
  EXPECT_EQ(utc_text(parse_stop_before("2028-02-29T05:07Z").seconds), "2028-02-29T05:07:00Z");
  EXPECT_EQ(parse_stop_before("1970-01-02T00:00:01Z").seconds, 86401);
}

TEST(StopBefore, IsNothingElse) {
  for (const char* written :
       {"", "soon", "0", "3ep", "500st", "23:00", "2026-11-21", "2026-11-21T23:00:00", "2026-02-30T23:00:00Z",
        "2026-13-01T23:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21T23:60:00Z", "2026-11-21 23:00:00Z",
        "-026-11-21T23:00:00Z", "-3h"}) {
    try {
      parse_stop_before(written);
      ADD_FAILURE() << written;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::usage);
      EXPECT_THAT(error.hint(), HasSubstr("2026-11-21T23:00:00Z"));
    }
  }
}

TEST(StopBefore, IsReadWithTheRestOfTheConfiguration) {
  const auto load = [](const std::string& override) {
    return load_config({.files = {}, .environment = {}, .overrides = {override}}, "any", "stage",
                       {.model = [](Fields&) {}, .loss = [](Fields&) {}, .objectives = {}});
  };
  EXPECT_EQ(load("train.stop_before=2026-11-21T23:00:00Z").config.train.stop_before, "2026-11-21T23:00:00Z");
  try {
    load("train.stop_before=tomorrow");
    ADD_FAILURE() << "tomorrow was understood";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    EXPECT_THAT(error.message(), AllOf(HasSubstr("train.stop_before"), HasSubstr("tomorrow")));
  }
}

}  // namespace
}  // namespace larmor
