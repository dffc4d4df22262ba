#include "workloads/fast_ddpm/denoiser/asked_target.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/cases.h"

namespace larmor::fast_ddpm {
namespace {

using larmor::testing::CaseFolder;
using larmor::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::vector<std::string> all = {"t1n", "t2w", "t2f"};

/// The target, or what is said against it, with the status before it.
std::string answer(const std::vector<std::string>& given, const std::optional<std::string>& asked,
                   const std::optional<ModalityCounts>& learnt = std::nullopt) {
  std::string target;
  const auto error = error_of([&] {
    const auto is_given = [&](const std::string& name) { return std::ranges::count(given, name) > 0; };
    target = all.at(static_cast<std::size_t>(asked_target(all, is_given, asked, learnt)));
  });
  return error ? std::to_string(static_cast<int>(error->exit())) + " " + error->message() + " | " +
                     error->hint()
               : target;
}

TEST(AskedTarget, IsWhatIsNamedOrTheOnlyOneThatIsMissing) {
  EXPECT_EQ(answer({"t1n", "t2w"}, std::nullopt), "t2f");
  EXPECT_EQ(answer({"t1n"}, "t2w"), "t2w");
  EXPECT_EQ(answer({"t1n", "t2w", "t2f"}, "t2w"), "t2w") << "what is given of the target is not looked at";
  EXPECT_THAT(answer({"t1n"}, std::nullopt), HasSubstr("2 these are missing: t2w, t2f"));
  EXPECT_THAT(answer(all, std::nullopt), HasSubstr("2 all modalities are given"));
  EXPECT_THAT(answer({}, "t2w"), HasSubstr("2 no modality is given"));
  EXPECT_THAT(answer({"t1n"}, "pd"), HasSubstr("2 target=pd is none of"));
}

TEST(AskedTarget, IsNoneThatTrainingNeverSaw) {
  const ModalityCounts learnt{{"t1n", 4}, {"t2w", 1}, {"t2f", 0}};
  EXPECT_THAT(answer({"t1n", "t2w"}, std::nullopt, learnt),
              AllOf(HasSubstr("2 no training case had t2f"),
                    HasSubstr("training saw t1n (4 cases), t2w (1 case) |")));
  EXPECT_EQ(answer({"t1n"}, "t2w", learnt), "t2w");
}

TEST(ModalityCounts, AreOfTheTrainingCases) {
  Index index;
  index.folder = "/somewhere";
  index.cases = {{.files = {{"image_t1n", "a"}, {"image_t2w", "b"}}, .split = Split::train},
                 {.files = {{"image_t1n", "c"}}, .split = Split::train},
                 {.files = {{"image_t1n", "d"}, {"image_t2f", "e"}}, .split = Split::val}};
  EXPECT_EQ(count_modalities(all, index), (ModalityCounts{{"t1n", 2}, {"t2w", 1}, {"t2f", 0}}));
  index.folder.clear();
  EXPECT_EQ(count_modalities(all, index), (ModalityCounts{{"t1n", 2}, {"t2w", 2}, {"t2f", 2}}))
      << "an invented case has all";
}

TEST(ModalityCounts, OfAFileThatHoldsNoneAreRefused) {
  CaseFolder folder;
  folder.file("good.json", R"({"t1n": 3})").file("bad.json", R"({"t1n": "three"})");
  EXPECT_EQ(read_modality_counts(folder.path() / "good.json"), (ModalityCounts{{"t1n", 3}}));
  const auto error = error_of([&] { read_modality_counts(folder.path() / "bad.json"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::checkpoint);
}

}  // namespace
}  // namespace larmor::fast_ddpm
