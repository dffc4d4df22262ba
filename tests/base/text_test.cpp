#include "larmor/base/text.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace larmor {
namespace {

TEST(Text, PutsPartsOfEveryKindTogether) {
  const std::string word = "c";
  const uint8_t small = 200;
  EXPECT_EQ(text("a", 'b', word, std::string_view("d"), 1, -2L, 3ULL, small, 1.5F, true),
            "abcd1-2"
            "3"
            "200"
            "1.5"
            "true");
  EXPECT_EQ(text(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(text(std::numeric_limits<uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(text("read ", std::filesystem::path("/a/b.nii")), "read /a/b.nii");
}

TEST(Text, ShowsDoublesShortAndSoThatTheyReadBackToTheSameNumber) {
  EXPECT_EQ(text(0.1), "0.1");
  EXPECT_EQ(text(1e-4), "1e-04");
  EXPECT_EQ(text(1e22), "1e+22");
  std::mt19937_64 generator(1);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t bits = generator();
    double number = 0;
    std::memcpy(&number, &bits, sizeof number);
    if (!std::isfinite(number)) continue;
    EXPECT_EQ(std::strtod(text(number).c_str(), nullptr), number);
  }
}

TEST(Fixed, RoundsToTheDigitsAskedFor) {
  EXPECT_EQ(fixed(2.71828, 3), "2.718");
  EXPECT_EQ(fixed(1, 0), "1");
  EXPECT_EQ(fixed(1e300, 2).size(), 304U);
}

TEST(Split, KeepsEmptyPartsAndJoinPutsThemBack) {
  const std::vector<std::string> parts = split(",a,,b,", ',');
  EXPECT_EQ(parts, (std::vector<std::string>{"", "a", "", "b", ""}));
  EXPECT_EQ(join(parts, ","), ",a,,b,");
  EXPECT_EQ(split("", ','), std::vector<std::string>{""});
}

TEST(Trim, TakesBlanksFromBothEndsOnly) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim("  "), "");
}

TEST(Lower, TouchesAsciiLettersOnly) { EXPECT_EQ(lower("AbZ-9\xC3\x84"), "abz-9\xC3\x84"); }

TEST(HumanBytes, ShowsAtMostThreeSignificantDigits) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(300), "300 B");
  EXPECT_EQ(human_bytes(1024), "1 KiB");
  EXPECT_EQ(human_bytes(1610612736), "1.5 GiB");
  EXPECT_EQ(human_bytes(uint64_t{15} << 30), "15 GiB");
  EXPECT_EQ(human_bytes(1048575), "1 MiB");
  EXPECT_EQ(human_bytes(std::numeric_limits<uint64_t>::max()), "16 EiB");
}

TEST(HumanSeconds, ChoosesTheUnitAPersonWould) {
  EXPECT_EQ(human_seconds(0), "0 s");
  EXPECT_EQ(human_seconds(0.045), "45 ms");
  EXPECT_EQ(human_seconds(0.00002), "20 us");
  EXPECT_EQ(human_seconds(12.3), "12.3 s");
  EXPECT_EQ(human_seconds(59.97), "1 min 00 s");
  EXPECT_EQ(human_seconds(3599.6), "1 h 00 min");
  EXPECT_EQ(human_seconds(3900), "1 h 05 min");
  EXPECT_EQ(human_seconds(200000), "2 d 08 h");
  EXPECT_EQ(human_seconds(-2), "-2 s");
  EXPECT_EQ(human_seconds(std::numeric_limits<double>::infinity()), "inf s");
}

TEST(Nearest, FindsTheWordThatWasMeant) {
  const std::vector<std::string> words = {"train", "predict", "prepare", "checkpoint"};
  EXPECT_EQ(nearest("tarin", words), "train");  // two letters swapped
  EXPECT_EQ(nearest("chekpiont", words), "checkpoint");
  EXPECT_EQ(nearest("Predict", words), "predict");
  EXPECT_EQ(nearest("prepar", words), "prepare");
}

TEST(Nearest, SaysNothingWhenNoWordIsNear) {
  const std::vector<std::string> words = {"train", "predict"};
  EXPECT_EQ(nearest("export", words), "");
  EXPECT_EQ(nearest("xy", words), "");
  EXPECT_EQ(nearest("a", {}), "");
}

TEST(MatchesGlob, HoldsAPatternWithoutSlashAgainstTheLastComponent) {
  EXPECT_TRUE(matches_glob("a/b/c_seg.nii.gz", "*seg*"));
  EXPECT_FALSE(matches_glob("seg/b/c.nii.gz", "*seg*"));
  EXPECT_TRUE(matches_glob("c1.nii", "c?.nii"));
  EXPECT_FALSE(matches_glob("c.nii", "c?.nii"));
  EXPECT_TRUE(matches_glob("anything", "*"));
  EXPECT_FALSE(matches_glob("anything", ""));
  EXPECT_FALSE(matches_glob("a.nii.gz", "*.nii"));
}

TEST(MatchesGlob, LetsOnlyTwoStarsCrossAFolder) {
  EXPECT_TRUE(matches_glob("p1/t1.nii", "p1/*.nii"));
  EXPECT_FALSE(matches_glob("p1/scan/t1.nii", "p1/*.nii"));
  EXPECT_TRUE(matches_glob("p1/scan/t1.nii", "p1/**.nii"));
  EXPECT_TRUE(matches_glob("p1/a/b/t1.nii", "p1/**/t1.nii"));
  EXPECT_TRUE(matches_glob("p1/t1.nii", "p1/**/t1.nii"));
  EXPECT_FALSE(matches_glob("a/b", "a?b"));
}

TEST(MatchesGlob, AnswersQuicklyForAPatternMadeToBeSlow) {
  EXPECT_FALSE(matches_glob(std::string(2000, 'a'), "*a*a*a*a*a*a*a*a*a*a*a*a*b"));
}

}  // namespace
}  // namespace larmor
