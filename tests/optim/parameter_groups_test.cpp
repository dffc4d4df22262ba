#include "larmor/optim/parameter_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> names{"encoder.first.weight", "encoder.first.bias", "head.weight"};

OptimConfig decaying() {
  OptimConfig config;
  config.weight_decay = 0.1;
  return config;
}

TEST(ParameterGroups, WithoutRulesAreAsTheConfigSays) {
  const auto traits = traits_of(names, {}, decaying());
  ASSERT_EQ(traits.size(), 3U);
  for (const ParameterTraits& one : traits) EXPECT_EQ(one, (ParameterTraits{.rate = 1, .weight_decay = 0.1}));
  EXPECT_EQ(groups_of(traits).size(), 1U);
}

TEST(ParameterGroups, FollowTheLongestPrefixWhateverTheOrderOfRules) {
  std::vector<ParameterRule> rules{{.prefix = "encoder.", .rate = 0.5},
                                   {.prefix = "encoder.first.bias", .rate = 2, .weight_decay = 0}};
  for (int turn = 0; turn < 2; ++turn) {
    const auto traits = traits_of(names, rules, decaying());
    EXPECT_EQ(traits[0], (ParameterTraits{.rate = 0.5, .weight_decay = 0.1}));
    EXPECT_EQ(traits[1], (ParameterTraits{.rate = 2, .weight_decay = 0}));
    EXPECT_EQ(traits[2], (ParameterTraits{.rate = 1, .weight_decay = 0.1}));
    std::swap(rules[0], rules[1]);
  }
}

TEST(ParameterGroups, HoldParametersThatLearnAlike) {
  const auto groups = groups_of({{.rate = 1}, {.rate = 0.5}, {.rate = 1}});
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].members, (std::vector<size_t>{0, 2}));
  EXPECT_EQ(groups[1].members, (std::vector<size_t>{1}));
  EXPECT_EQ(
      describe(groups),
      "2 parameters at 1 times the learning rate and weight decay 0; 1 parameter at 0.5 times the learning "
      "rate and weight decay 0");
}

std::string refusal_of(const std::vector<ParameterRule>& rules) {
  try {
    traits_of(names, rules, {});
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    return error.what();
  }
  return "accepted";
}

TEST(ParameterGroups, RefuseARuleThatIsAboutNothingOrComesTwice) {
  EXPECT_THAT(refusal_of({{.prefix = "decoder."}}), HasSubstr("'decoder.…' learn, and the network has none"));
  EXPECT_THAT(refusal_of({{.prefix = "head."}, {.prefix = "head."}}), HasSubstr("two rules"));
}

}  // namespace
}  // namespace larmor
