#include "larmor/optim/loss_scale.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace larmor {
namespace {

struct Values final : StateWriter, StateReader {
  void tensor(std::string_view, const at::Tensor&) override { FAIL() << "a loss scale has no tensors"; }
  void value(std::string_view name, const Json& value) override { stored[std::string(name)] = value; }
  at::Tensor tensor(std::string_view) const override { return {}; }
  Json value(std::string_view name) const override { return stored.at(std::string(name)); }
  bool has(std::string_view name) const override { return stored.contains(std::string(name)); }
  std::map<std::string, Json> stored;
};

TEST(LossScale, StaysAtOneWhenInactive) {
  LossScale scale(false);
  scale.update(true);
  for (int i = 0; i < 5000; ++i) scale.update(false);
  EXPECT_EQ(scale.scale(), 1);
}

TEST(LossScale, HalvesOnOverflowAndDoublesAfterTwoThousandGoodSteps) {
  LossScale scale(true);
  EXPECT_EQ(scale.scale(), 65536);
  scale.update(true);
  EXPECT_EQ(scale.scale(), 32768);
  for (int i = 0; i < 1999; ++i) scale.update(false);
  EXPECT_EQ(scale.scale(), 32768);
  scale.update(false);
  EXPECT_EQ(scale.scale(), 65536);
  for (int i = 0; i < 1999; ++i) scale.update(false);
  scale.update(true);
  scale.update(false);
  EXPECT_EQ(scale.scale(), 32768) << "an overflow starts the count again";
}

TEST(LossScale, NeverGrowsBeyondWhatALossCanHold) {
  LossScale scale(true);
  for (int i = 0; i < 2000 * 200; ++i) scale.update(false);
  EXPECT_LT(scale.scale(), 3.5e38);
  EXPECT_GT(scale.scale(), 1e37);
}

TEST(LossScale, NeverFallsBelowOne) {
  LossScale scale(true), resumed(true);
  for (int i = 0; i < 16; ++i) scale.update(true);
  EXPECT_EQ(scale.scale(), 1);
  for (int i = 0; i < 3000; ++i) scale.update(true);
  EXPECT_EQ(scale.scale(), 1);
  Values saved;
  scale.save(saved);
  saved.stored["loss_scale"] = 1e-30;  // of a program that had no least scale
  resumed.load(saved);
  EXPECT_EQ(resumed.scale(), 1);
}

TEST(LossScale, GoesOnFromSavedState) {
  LossScale first(true), second(true);
  first.update(true);
  for (int i = 0; i < 1500; ++i) first.update(false);
  Values saved;
  first.save(saved);
  second.load(saved);
  for (int i = 0; i < 499; ++i) second.update(false);
  EXPECT_EQ(second.scale(), 32768);
  second.update(false);
  EXPECT_EQ(second.scale(), 65536);
}

}  // namespace
}  // namespace larmor
