#include "larmor/net/wire_number.h"

#include <gtest/gtest.h>

#include "larmor/base/error.h"

namespace larmor {
namespace {

TEST(WholeNumber, IsTakenInItsRangeAlone) {
  EXPECT_EQ(whole_number({{"n", -2}}, "n", -2, 7), -2);
  EXPECT_EQ(whole_number({{"n", 7}}, "n", -2, 7), 7);
  EXPECT_EQ(whole_number_64({{"n", INT64_MAX}}, "n", 0, INT64_MAX), INT64_MAX);
  for (const Json& wrong : {Json(-3), Json(8), Json(1e300), Json(1.5), Json(7.0), Json("7"), Json(true),
                            Json(), Json::array({1}), Json(INT64_MIN), Json(UINT64_MAX)}) {
    EXPECT_THROW(whole_number({{"n", wrong}}, "n", -2, 7), Error) << wrong;
  }
  EXPECT_THROW(whole_number_64({{"n", UINT64_MAX}}, "n", INT64_MIN, INT64_MAX), Error);
  EXPECT_THROW(whole_number({{"m", 7}}, "n", 0, 7), Error);
  EXPECT_THROW(whole_number(7, "n", 0, 7), Error);
}

TEST(ShortText, IsTakenUpToItsLength) {
  EXPECT_EQ(short_text({{"t", "abc"}}, "t", 3), "abc");
  EXPECT_THROW(short_text({{"t", "abcd"}}, "t", 3), Error);
  EXPECT_THROW(short_text({{"t", 3}}, "t"), Error);
  EXPECT_THROW(short_text(Json::object(), "t"), Error);
}

TEST(NumberFromKey, IsOfDigitsAlone) {
  EXPECT_EQ(number_from_key("12", 0, 12), 12);
  for (const char* wrong : {"", "13", "-1", "1x", " 1", "99999999999999999999", "two"})
    EXPECT_THROW(number_from_key(wrong, 0, 12), Error) << wrong;
}

}  // namespace
}  // namespace larmor
