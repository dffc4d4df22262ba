#include "larmor/hardware/allocator_settings.h"

#include <gtest/gtest.h>

#include "larmor/hardware/hardware.h"

#include "tests/hardware/support/fake_machine.h"

namespace larmor {
namespace {

TEST(AllocatorSettings, SayNothingOfSegmentsWhereThereAreNone) {
  EXPECT_FALSE(segments_grow_by({}).has_value());
  EXPECT_FALSE(segments_grow_by({{"PYTORCH_JIT", "0"}}).has_value());
}

TEST(AllocatorSettings, LetSegmentsGrowOnlyWhereTheySaySo) {
  for (const char* const name : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}) {
    EXPECT_EQ(segments_grow_by({{name, "expandable_segments:True"}}), true);
    EXPECT_EQ(segments_grow_by({{name, "max_split_size_mb:512, expandable_segments: True"}}), true);
    EXPECT_EQ(segments_grow_by({{name, "expandable_segments:False"}}), false);
    EXPECT_EQ(segments_grow_by({{name, "max_split_size_mb:512"}}), false);
    EXPECT_EQ(segments_grow_by({{name, ""}}), false);
  }
}

TEST(AllocatorSettings, DoNotLetThemGrowWhereTwoDiffer) {
  EXPECT_EQ(segments_grow_by({{"PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"},
                              {"PYTORCH_ALLOC_CONF", "max_split_size_mb:512"}}),
            false);
  EXPECT_EQ(segments_grow_by({{"PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:512"},
                              {"PYTORCH_ALLOC_CONF", "expandable_segments:True"}}),
            false);
}

TEST(AllocatorSettings, ArePartOfWhatAMachineOffers) {
  testing::FakeMachine machine(4);
  EXPECT_FALSE(machine.detect().segments_grow.has_value());
  machine.environment() = {{"PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:512"}};
  EXPECT_EQ(machine.detect().segments_grow, false);
}

TEST(AllocatorSettings, OfOneHostCountForAllThatShareAPlan) {
  Hardware silent, growing, plain;
  silent.host = "a";
  growing.host = "b";
  growing.segments_grow = true;
  plain.host = "c";
  plain.segments_grow = false;
  EXPECT_EQ(shared_hardware({silent, growing}).segments_grow, std::nullopt);
  EXPECT_EQ(shared_hardware({growing, silent, plain}).segments_grow, false);
  plain.host = "b";
  EXPECT_EQ(shared_hardware({growing, plain}).segments_grow, false) << "two views of one host";
}

}  // namespace
}  // namespace larmor
