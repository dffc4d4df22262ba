#include "larmor/device/draw_position.h"

#include <stdexcept>
#include <thread>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor::testing {
namespace {

DrawPosition of_example(int64_t example) {
  return {.seed = 1, .epochs = {0}, .examples = {example}, .positions = {5}};
}

TEST(DrawPosition, ScopesNestAndGiveThePositionBack) {
  const DrawScope outer(of_example(3));
  {
    const DrawScope inner(of_example(8));
    EXPECT_EQ(draw_position().examples, std::vector<int64_t>{8});
  }
  EXPECT_EQ(draw_position().examples, std::vector<int64_t>{3});
}

TEST(DrawPosition, TurnsNestAndGiveTheTurnBack) {
  const DrawScope scope(of_example(3));
  {
    const DrawTurn outer(4);
    const DrawTurn inner(5);
    EXPECT_EQ(draw_position().turn, 5);
  }
  EXPECT_EQ(draw_position().turn, 0);
}

TEST(DrawPosition, APurposeIsDrawnOnceATurnAndAgainInAScopeOfItsOwn) {
  const DrawScope scope(of_example(3));
  const DrawKeys first = begin_draw("noise", 1, at::kCPU);
  EXPECT_THROW(begin_draw("noise", 1, at::kCPU), std::logic_error);
  EXPECT_NE(begin_draw("other", 1, at::kCPU).key, first.key);
  {
    const DrawTurn turn(1);
    EXPECT_NE(begin_draw("noise", 1, at::kCPU).key, first.key);
    EXPECT_THROW(begin_draw("noise", 1, at::kCPU), std::logic_error);
  }
  const DrawScope rerun(draw_place());
  const DrawKeys again = begin_draw("noise", 1, at::kCPU);
  EXPECT_EQ(again.key, first.key);
  EXPECT_TRUE(again.streams.is_alias_of(first.streams)) << "the keys are copied to a device once";
}

TEST(DrawPosition, APlaceServesAnotherThreadWithItsTurn) {
  DrawKeys here, there;
  {
    const DrawScope scope(of_example(3));
    const DrawTurn turn(2);
    here = begin_draw("noise", 1, at::kCPU);
    std::thread([&there, place = draw_place()] {
      const DrawScope rerun(place);
      there = begin_draw("noise", 1, at::kCPU);
    }).join();
  }
  EXPECT_EQ(there.key, here.key);
  EXPECT_TRUE(at::equal(there.streams, here.streams));
}

TEST(DrawPosition, PairsShareAStreamThatNoExampleHas) {
  const DrawScope scope({.seed = 1, .epochs = {0, 0, 0}, .examples = {0, 1, 2}, .positions = {2, 3, 4}});
  const DrawKeys keys = begin_draw("time", 3, at::kCPU);
  EXPECT_TRUE(keys.pairs[0].equal(keys.pairs[1]));
  EXPECT_FALSE(keys.pairs[1].equal(keys.pairs[2]));
  EXPECT_FALSE(keys.pairs[0].equal(keys.streams[1])) << "example 1 of epoch 0, and pair 1";
  EXPECT_TRUE(keys.is_odd.equal(at::tensor({0, 1, 0}, at::kLong)));
}

TEST(DrawPosition, WhatDoesNotNameEveryRowIsRefused) {
  EXPECT_THROW(begin_draw("noise", 0, at::kCPU), std::logic_error) << "no scope at all";
  EXPECT_THROW(DrawScope({.seed = 1, .epochs = {0}, .examples = {3, 4}}), std::logic_error);
  EXPECT_THROW(DrawScope({.seed = 1, .epochs = {0}, .examples = {3}, .positions = {1, 2}}), std::logic_error);
  EXPECT_TRUE(draw_position().examples.empty()) << "a refused scope leaves nothing behind";
  const DrawScope scope(of_example(3));
  EXPECT_THROW(begin_draw("noise", 2, at::kCPU), std::logic_error);
}

}  // namespace
}  // namespace larmor::testing
