#include "larmor/formats/text_header/header_value.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "tests/support/cases.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

HeaderValue value_of(std::string_view value) { return {"sizes", value}; }

TEST(HeaderValues, AreNumbersAsAWholeOrNotAtAll) {
  EXPECT_THAT(value_of(" 1  +2.5\t-3e2 ").numbers(3), ElementsAre(1, 2.5, -300));
  EXPECT_TRUE(std::isnan(value_of("nan").numbers(1).front()));
  EXPECT_THAT(value_of("7 8").whole_numbers(0), ElementsAre(7, 8));
  for (const char* wrong : {"", "1", "1 2 3", "1 2x", "1,2", "1 0x2", "1 =2"})
    EXPECT_THROW(value_of(wrong).numbers(2), Error) << wrong;
  for (const char* wrong : {"1.5", "1e1", "9223372036854775808", "++1", "+-1"})
    EXPECT_THROW(value_of(wrong).whole_number(), Error) << wrong;
}

// What stands there may be anybody's name.
TEST(HeaderValues, ThatCannotBeUnderstoodNameTheFieldAlone) {
  const auto error = testing::error_of([] { value_of("Miller").numbers(3); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), HasSubstr("in its header, sizes has a word that is no number"));
  EXPECT_THAT(error->message(), Not(HasSubstr("Miller")));
}

TEST(HeaderValues, NameAFileBesideTheHeaderAndNoOther) {
  EXPECT_EQ(name_beside(value_of("head.raw")), "head.raw");
  EXPECT_EQ(name_beside(value_of("./a head.raw.gz ")), "a head.raw.gz");
  for (const char* wrong : {"", "../head.raw", "/etc/passwd", "folder/head.raw", "..", ".", "a\\b", "LIST",
                            "LIST 2", "slice%03d.raw 1 9 1"})
    EXPECT_THROW(name_beside(value_of(wrong)), Error) << wrong;
}

TEST(HeaderValues, PlaceVoxelsInRas) {
  TextHeader header;
  set_place(header, {{0, 2, 0}, {3, 0, 0}}, {5, 6, 7}, {-1, -1, 1});
  const Affine expected = {{{0, -3, 0, -5}, {-2, 0, 0, -6}, {0, 0, 1, 7}, {0, 0, 0, 1}}};
  EXPECT_EQ(header.affine, expected);
  EXPECT_THAT(header.spacing_mm, ElementsAre(2, 3, 1));
  EXPECT_THROW(set_place(header, {{1, 0, 0}, {1, 0, 0}}, {}, {1, 1, 1}), Error);
  EXPECT_THROW(set_place(header, {{1, 0, 0}, {0, 1, 0}}, {NAN, 0, 0}, {1, 1, 1}), Error);
}

TEST(HeaderValues, PutChannelsFirstOrFourth) {
  TextHeader header;
  set_shape(header, {2, 3}, 1);
  EXPECT_THAT(header.shape, ElementsAre(2, 3));
  set_shape(header, {2, 3}, 4);
  EXPECT_THAT(header.shape, ElementsAre(2, 3, 1, 4));
  header.channel_is_first = true;
  set_shape(header, {2, 3, 5}, 4);
  EXPECT_THAT(header.shape, ElementsAre(4, 2, 3, 5));
}

TEST(HeaderValues, LieInLinesOfEitherEnd) {
  std::string_view rest = "one\r\n\ntwo";
  EXPECT_EQ(next_line(rest), "one");
  EXPECT_EQ(next_line(rest), "");
  EXPECT_EQ(next_line(rest), std::nullopt);
  EXPECT_EQ(rest, "two");
}

}  // namespace
}  // namespace larmor
