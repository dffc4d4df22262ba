#include "tests/processes/support/kill_loop.h"

#include <csignal>
#include <cstdlib>
#include <iostream>

#include <gmock/gmock.h>

#include "tests/processes/support/trained_state.h"

namespace larmor::testing {

namespace fs = std::filesystem;

KillLoop::KillLoop() {
  const char* given = std::getenv("LARMOR_SEED");
  const auto seed = given == nullptr ? std::random_device()() : static_cast<unsigned>(std::stoul(given));
  std::cout << "LARMOR_SEED=" << seed << "\n";
  chance_.seed(seed);
}

double KillLoop::between(double least, double most) {
  return std::uniform_real_distribution<double>(least, most)(chance_);
}

int KillLoop::number_to(int most) { return std::uniform_int_distribution<int>(0, most)(chance_); }

bool KillLoop::kill_one_of(Running& training) {
  auto victims = children_of(training.id());
  victims.push_back(training.id());
  return kill_and_look(training,
                       victims[static_cast<size_t>(number_to(static_cast<int>(victims.size()) - 1))]);
}

bool KillLoop::kill_and_look(Running& training, int victim) {
  const auto ranks = children_of(training.id());
  kill(victim, SIGKILL);
  const auto end = training.wait();
  EXPECT_THAT(end.status, ::testing::AnyOf(0, 128 + SIGKILL, 8)) << end.err;
  constexpr double seconds_to_die = 2;
  for (const int rank : ranks) EXPECT_TRUE(becomes_true([&] { return is_over(rank); }, seconds_to_die));
  return end.status != 0;
}

bool KillLoop::has_half_a_checkpoint(const std::string& name) const {
  std::error_code gone;
  for (const auto& item : fs::directory_iterator(run(name) / "checkpoints", gone)) {
    if (item.path().extension() == ".tmp") return true;
  }
  return false;
}

bool announced_is_good(const Json& verified, const fs::path& run) {
  const auto announced = events_of(run, "checkpoint");
  if (announced.empty()) return true;
  for (const auto& row : verified) {
    if (row.at("step") >= announced.back().at("step") && row.at("ok") == true) return true;
  }
  return false;
}

}  // namespace larmor::testing
