// A request that a test fills in, and what the planner says to it.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "tests/plan/support/machines.h"

namespace larmor::testing {

class Request : public ::testing::Test {
 protected:
  Plan plan_on(const Hardware& hardware) const { return make_plan(hardware, demand, config); }
  std::string refusal_on(const Hardware& hardware) const { return refusal(hardware, demand, config); }
  static Hardware four_cards() { return with_gpus(machine(16, 64), 4, "NVIDIA L4", 24 * gibibyte, 8, 9); }

  RunConfig config;
  Demand demand = autoencoder();
};

}  // namespace larmor::testing
