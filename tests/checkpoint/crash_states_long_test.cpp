// Every state that a power cut may leave of a save, as far as the model of support/crash_model.h knows them:
// the newest announced checkpoint loads, and the next start goes on from it.
#include <iostream>
#include <random>

#include <gtest/gtest.h>

#include "tests/checkpoint/support/crash_scenario.h"

namespace larmor::testing {
namespace {

constexpr CrashSearch all_states{.subsets = 1024, .torn = 8000};

// Prints and records how many states were tried.
size_t expect_no_loss(const std::string& name, const Scenario& scenario, const CrashSearch& search) {
  const auto findings = search_states(scenario, search);
  for (const auto& words : findings.first) ADD_FAILURE() << name << ", " << words;
  EXPECT_EQ(findings.lost, 0U) << name;
  return findings.states;
}

void report(const std::string& name, size_t states) {
  std::cout << name << ": " << states << " crash states tried\n";
  ::testing::Test::RecordProperty("states", std::to_string(states));
}

TEST(CrashStates, OfOneRankLoseNothingAnnounced) {
  const auto states = expect_no_loss("one rank", saves_of_one_rank(), all_states);
  report("one rank", states);
  EXPECT_GE(states, 10'000U);
}

TEST(CrashStates, OfTwoRanksLoseNothingAnnounced) {
  const auto states = expect_no_loss("two ranks", saves_of_two_ranks(), all_states);
  report("two ranks", states);
  EXPECT_GE(states, 10'000U);
}

TEST(CrashStates, OverADamagedFolderLoseNothingAnnounced) {
  const auto states = expect_no_loss("over a damaged folder", saves_over_damage(), all_states);
  report("over a damaged folder", states);
  EXPECT_GE(states, 10'000U);
}

TEST(CrashStates, WithOneCheckpointKeptLoseNothingAnnounced) {
  size_t states = expect_no_loss("one kept", saves_keeping_one(), {.subsets = 256, .torn = 400});
  states += expect_no_loss("first saves", first_saves(), {.subsets = 256, .torn = 400});
  report("one kept", states);
  EXPECT_GE(states, 2'000U);
}

TEST(CrashStates, AfterAKillAtAnyOperationLoseNothingAnnounced) {
  size_t states = 0, kills = 0;
  for (;; ++kills) {
    const auto scenario = save_after_kill(kills);
    if (scenario.recording.empty()) break;
    states += expect_no_loss("killed at " + std::to_string(kills), scenario,
                             {.subsets = 48, .torn = 16, .seed = kills + 1});
  }
  report("killed at each of " + std::to_string(kills) + " operations", states);
  EXPECT_GT(kills, 20U);
  EXPECT_GE(states, 5'000U);
}

TEST(CrashStates, OfARecoveryLoseNothingAnnounced) {
  const auto crashed = saves_of_two_ranks();
  std::vector<CrashState> sample;
  std::mt19937_64 random(7);
  size_t seen = 0;
  constexpr size_t most = 60;
  visit_crash_states(crashed.before, crashed.announced, crashed.recording, {.subsets = 64, .torn = 8},
                     [&](const CrashState& state) {
                       ++seen;  // each as likely as any other
                       if (sample.size() < most) {
                         sample.push_back(state);
                       } else if (const size_t place = random() % seen; place < most) {
                         sample[place] = state;
                       }
                       return true;
                     });
  size_t states = 0;
  for (const auto& state : sample) {
    states += expect_no_loss("recovery", save_after_crash(state, crashed),
                             {.subsets = 24, .torn = 6, .seed = states + 1});
  }
  report("a second crash during the recovery from " + std::to_string(sample.size()) + " crashes", states);
  EXPECT_GE(states, 5'000U);
}

}  // namespace
}  // namespace larmor::testing
