#include "larmor/launch/hosts/host_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class Expand>
std::string refusal_of(Expand expand, std::string_view list) {
  try {
    expand(list);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    return error.message();
  }
  return "";
}

TEST(HostList, TakesNamesAsTheyStand) {
  EXPECT_THAT(expand_host_list("gpu5"), ElementsAre("gpu5"));
  EXPECT_THAT(expand_host_list("a,b-1.cluster.org,10.0.0.7"),
              ElementsAre("a", "b-1.cluster.org", "10.0.0.7"));
}

TEST(HostList, ExpandsBracketsAndKeepsLeadingZeros) {
  EXPECT_THAT(expand_host_list("n[01-03,07],gpu5"), ElementsAre("n01", "n02", "n03", "n07", "gpu5"));
  EXPECT_THAT(expand_host_list("n[9-11]"), ElementsAre("n9", "n10", "n11"));
  EXPECT_THAT(expand_host_list("n[099-101]"), ElementsAre("n099", "n100", "n101"));
  EXPECT_THAT(expand_host_list("127.0.0.[1-2]"), ElementsAre("127.0.0.1", "127.0.0.2"));
  EXPECT_THAT(expand_host_list("rack[1]-ib"), ElementsAre("rack1-ib"));
}

TEST(HostList, RunsTheLastBracketsFastest) {
  EXPECT_THAT(expand_host_list("a[1-2]b[3-4]"), ElementsAre("a1b3", "a1b4", "a2b3", "a2b4"));
  EXPECT_THAT(expand_host_list("r[1-2]n[1,3]x,y"), ElementsAre("r1n1x", "r1n3x", "r2n1x", "r2n3x", "y"));
}

TEST(HostList, RefusesWhatIsNone) {
  for (const auto* list :
       {"",     ",",     "a,",     ",a",   "a,,b",  "n[",  "n[1",  "n[]",   "n[1-]",    "n[-1]", "n[2-1]",
        "n[a]", "n[1,]", "n[[1]]", "n]1[", "n[1]]", "n 1", "n;rm", "$(id)", "n[1-2-3]", "n\n"}) {
    EXPECT_THAT(refusal_of(expand_host_list, list), HasSubstr("is no list of the scheduler")) << list;
  }
}

TEST(HostList, NamesAtMost65536Hosts) {
  EXPECT_EQ(expand_host_list("n[0-65535]").size(), 65536U);
  for (const auto* list : {"n[0-65536]", "n[0-999999999]", "n[0-65535],a", "a[0-999]b[0-999]",
                           "a[1-9]b[1-9]c[1-9]d[1-9]e[1-9]f[1-9]", "n[0-9999999999]"}) {
    EXPECT_NE(refusal_of(expand_host_list, list), "") << list;
  }
  EXPECT_NE(refusal_of(expand_host_list, std::string(300, 'a')), "");
  EXPECT_LT(refusal_of(expand_host_list, std::string(2 << 20, '[')).size(), 400U) << "what is shown is short";
}

TEST(Counts, RepeatWhatHasAMultiplier) {
  EXPECT_THAT(expand_counts("4"), ElementsAre(4));
  EXPECT_THAT(expand_counts("2(x3),1"), ElementsAre(2, 2, 2, 1));
  EXPECT_THAT(expand_counts("1,8(x2)"), ElementsAre(1, 8, 8));
}

TEST(Counts, RefuseWhatIsNone) {
  for (const auto* list : {"", ",", "2,", "x", "2(x)", "2(3)", "2(x3", "2x3", "-1", "2(x3)4", "(x3)", " 2",
                           "2(x-1)", "1(x65537)", "1(x65536),1", "1(x999999999)"}) {
    EXPECT_NE(refusal_of(expand_counts, list), "") << list;
  }
}

}  // namespace
}  // namespace larmor
