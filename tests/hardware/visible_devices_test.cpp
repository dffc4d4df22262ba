// CUDA_VISIBLE_DEVICES as CUDA reads it.
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/hardware/probes.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class VisibleDevices : public ::testing::Test {
 protected:
  /// The UUIDs of what is visible among four cards; checks that they are counted anew.
  std::vector<std::string> seen(const std::optional<std::string>& variable) {
    std::vector<Gpu> gpus(4);
    const char* uuids[] = {"GPU-10aa", "GPU-10bb", "GPU-20cc", "GPU-30dd"};
    for (size_t i = 0; i < gpus.size(); ++i) {
      gpus[i].index = static_cast<int>(i);
      gpus[i].uuid = uuids[i];
    }
    notes.clear();
    std::vector<std::string> visible;
    for (const Gpu& gpu : visible_gpus(gpus, variable, notes)) {
      EXPECT_EQ(gpu.index, static_cast<int>(visible.size()));
      visible.push_back(gpu.uuid);
    }
    return visible;
  }
  std::vector<std::string> notes;
};

TEST_F(VisibleDevices, AreAllWithoutTheVariable) {
  EXPECT_THAT(seen(std::nullopt), ElementsAre("GPU-10aa", "GPU-10bb", "GPU-20cc", "GPU-30dd"));
  EXPECT_THAT(notes, IsEmpty());
}

TEST_F(VisibleDevices, ComeInTheOrderOfTheVariable) {
  EXPECT_THAT(seen("3, 1"), ElementsAre("GPU-30dd", "GPU-10bb"));
  EXPECT_THAT(notes, ElementsAre("CUDA_VISIBLE_DEVICES: 2 of 4 GPUs"));
}

TEST_F(VisibleDevices, MayBeNamedByTheBeginningOfAUuid) {
  EXPECT_THAT(seen("GPU-20,0,GPU-10bb"), ElementsAre("GPU-20cc", "GPU-10aa", "GPU-10bb"));
  EXPECT_THAT(seen("GPU-30dd,GPU-10"), ElementsAre("GPU-30dd"));  // two begin with GPU-10
}

TEST_F(VisibleDevices, EndAtTheFirstEntryThatNamesNone) {
  EXPECT_THAT(seen("0,1,-1,2"), ElementsAre("GPU-10aa", "GPU-10bb"));
  EXPECT_THAT(notes,
              ElementsAre("CUDA_VISIBLE_DEVICES: \"-1\" names no GPU; it and what follows are not seen",
                          "CUDA_VISIBLE_DEVICES: 2 of 4 GPUs"));
  EXPECT_THAT(seen("4"), IsEmpty());
  EXPECT_THAT(seen("0,,1"), ElementsAre("GPU-10aa"));
  EXPECT_THAT(seen("99999999999999999999"), IsEmpty());
}

TEST_F(VisibleDevices, EndAtTheFirstThatStandsTwice) {
  EXPECT_THAT(seen("3,GPU-30,0"), ElementsAre("GPU-30dd"));
  EXPECT_THAT(notes.front(), HasSubstr("stands there twice"));
}

TEST_F(VisibleDevices, AreNoneWhenTheVariableIsEmpty) {
  EXPECT_THAT(seen(""), IsEmpty());
  EXPECT_THAT(notes, ElementsAre("CUDA_VISIBLE_DEVICES: 0 of 4 GPUs"));
}

TEST_F(VisibleDevices, SaysThatSlicesAreNotSupported) {
  EXPECT_THAT(seen("MIG-1234"), IsEmpty());
  EXPECT_THAT(notes.front(), HasSubstr("MIG slice, which is not supported"));
}

}  // namespace
}  // namespace larmor
