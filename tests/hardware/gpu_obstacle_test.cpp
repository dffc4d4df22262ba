#include "larmor/hardware/gpu_obstacle.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"

namespace larmor {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

Gpu card(int major, int minor) {
  Gpu gpu;
  gpu.index = 1;
  gpu.name = "Card";
  gpu.capability_major = major;
  gpu.capability_minor = minor;
  return gpu;
}

TEST(ObstaclesOfGpus, AreNoneForCardsOfAGenerationThatThereIsCodeFor) {
  for (const auto& [major, minor] :
       {std::pair(7, 5), {8, 0}, {8, 6}, {8, 9}, {9, 0}, {10, 3}, {12, 1}, {13, 0}})
    EXPECT_EQ(obstacle_of(card(major, minor)), std::nullopt) << major << "." << minor;
  EXPECT_EQ(obstacle_of(card(0, 0)), std::nullopt) << "one that does not tell is tried";
}

TEST(ObstaclesOfGpus, AreCardsWithoutCode) {
  for (const auto& [major, minor] : {std::pair(6, 1), {7, 0}, {7, 2}, {11, 0}}) {
    const auto obstacle = obstacle_of(card(major, minor));
    ASSERT_NE(obstacle, std::nullopt) << major << "." << minor;
    EXPECT_THAT(obstacle->why, HasSubstr(std::to_string(major) + "." + std::to_string(minor)));
    EXPECT_THAT(obstacle->why, HasSubstr("it has 7.5, 8.0, "));
    EXPECT_THAT(obstacle->remedy, HasSubstr("LARMOR_LIBTORCH"));
  }
}

TEST(ObstaclesOfGpus, AreSlicesAndModes) {
  Gpu gpu = card(9, 0);
  gpu.is_sliced = true;
  EXPECT_THAT(obstacle_of(gpu)->why, HasSubstr("MIG"));
  EXPECT_EQ(obstacle_of(gpu)->remedy, "nvidia-smi -i 1 -mig 0, as its administrator");
  gpu = card(9, 0);
  gpu.compute_mode = ComputeMode::prohibited;
  EXPECT_THAT(obstacle_of(gpu)->why, EndsWith("prohibited"));
  gpu.compute_mode = ComputeMode::exclusive;
  EXPECT_EQ(obstacle_of(gpu), std::nullopt) << "nobody holds it";
  gpu.processes = 1;
  EXPECT_THAT(obstacle_of(gpu)->why, HasSubstr("another process holds it"));
  gpu.compute_mode = ComputeMode::shared;
  EXPECT_EQ(obstacle_of(gpu), std::nullopt);
}

TEST(FilesOfGpus, ThatCannotBeOpenedAreNamed) {
  const ScratchFolder scratch;
  EXPECT_EQ(closed_device_file(scratch.path()), "") << "there are none";
  for (const auto* const name : {"nvidia0", "nvidiactl", "nvidia-uvm", "nvidia12"})
    std::filesystem::create_directories(scratch.path() / "dev" / name);  // which no user can open for writing
  EXPECT_EQ(closed_device_file(scratch.path()),
            (scratch.path() / "dev/nvidia0").string() + ": Is a directory");
}

}  // namespace
}  // namespace larmor
