// What the allocator of a card keeps beside what it has given out: pieces of segments that nothing fits in.
// Cards compute nothing here (operators/hollow.h).
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gpu_emulation/support/emulated_program.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int memory = 5;

/// A ResNet-18 of which four fifths of a card are foreseen.
Finished timed(const std::map<std::string, std::string>& variables = {}) {
  const ScratchFolder scratch;
  std::map<std::string, std::string> environment{{"EMULATED_HOLLOW", "1"}};
  environment.insert(variables.begin(), variables.end());
  return run_on_gpus(
      {"bench", "step", "survival", "--blocks", "1", "--steps", "1", "--warmup", "1", "--ranks", "1",
       "--json", "data.kind=cohort", "data.cohort_size=[128,128,64]", "data.transforms=[]",
       "parallel.device=cuda", "train.micro_batch=16", "train.global_batch=16", "train.precision=fp32"},
      scratch.path(), {.cards = "H100:17G", .environment = environment});
}

TEST(AllocatorOfACard, HasSegmentsThatGrowAndKeepsLessThanATenthBeside) {
  const auto end = timed();
  ASSERT_EQ(end.status, 0) << end.err;
  const Json kept = end.json().at("memory");
  EXPECT_GT(kept.at("reserved_mib"), kept.at("peak_mib"));
  EXPECT_LT(kept.at("reserved_mib").get<double>(), 1.1 * kept.at("peak_mib").get<double>());
}

TEST(AllocatorOfACard, IsAsWhoHasSetItsVariableSays) {
  const auto end = timed({{"PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:False"}});
  EXPECT_EQ(end.status, memory) << end.out;
  EXPECT_THAT(end.err, HasSubstr("is reserved by PyTorch but unallocated"));
}

TEST(AllocatorOfACard, HasPlainSegmentsWhereTheDriverMapsNoMemory) {
  const auto end = timed({{"EMULATED_VIRTUAL_MEMORY", "0"}});
  EXPECT_EQ(end.status, memory) << end.out;
  EXPECT_THAT(end.err, HasSubstr("is reserved by PyTorch but unallocated"));
}

/// The line of a plan of that ResNet that tells of memory.
std::string planned(const std::map<std::string, std::string>& environment) {
  const ScratchFolder scratch;
  const auto end = run_on_gpus(
      {"plan", "survival", "data.kind=cohort", "data.cohort_size=[128,128,64]", "data.transforms=[]",
       "parallel.device=cuda", "train.micro_batch=16", "train.global_batch=16", "train.precision=fp32"},
      scratch.path(), {.cards = "H100:19G", .environment = environment});
  EXPECT_EQ(end.status, 0) << end.err;
  return end.out + end.err;
}

// The same card is large enough or too small for it, by what the allocator will keep.
TEST(AllocatorOfACard, IsForeseenByThePlanAsTheSettingsSay) {
  for (const std::map<std::string, std::string>& grown :
       {std::map<std::string, std::string>{},
        std::map<std::string, std::string>{{"PYTORCH_ALLOC_CONF", "expandable_segments:True"}}}) {
    const auto lines = planned(grown);
    EXPECT_THAT(lines, AllOf(HasSubstr("A rank needs about"), HasSubstr("7 % for pieces"))) << lines;
  }
  const auto lines = planned({{"PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:512"}});
  EXPECT_THAT(lines, AllOf(HasSubstr("A rank may run out of memory"), HasSubstr("30 % for pieces"),
                           HasSubstr("lack expandable_segments:True")))
      << lines;
}

}  // namespace
}  // namespace larmor::testing
