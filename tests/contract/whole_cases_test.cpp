// Stages that may be judged by whole cases, in windows: what they learn is the same.
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "larmor/base/json.h"

#include "tests/contract/trial_run.h"

namespace larmor::testing {
namespace {

class WholeCases : public ::testing::TestWithParam<StageName> {};
INSTANTIATE_TEST_SUITE_P(Of, WholeCases,
                         ::testing::Values(StageName{"latent_diffusion", "autoencoder"},
                                           StageName{"fast_ddpm", "denoiser"}),
                         name_of);

std::map<std::string, std::string> hashes_with(const StageName& stage, const std::string& roi_size,
                                               int ranks) {
  std::vector<std::string> words{"train.length=6st", "optim.schedule.warmup=0", "train.validate_every=3st",
                                 "checkpoint.every=6st", "track.pictures_every=3st"};
  if (!roi_size.empty()) words.push_back("validation.roi_size=" + roi_size);
  TrialRun run(stage, words);
  run.train(ranks);
  return run.hashes();
}

TEST_P(WholeCases, ChangeNothingOfWhatIsLearned) {
  auto silent = hashes_with(GetParam(), "", 1), off = hashes_with(GetParam(), "[]", 1),
       on = hashes_with(GetParam(), "[8,8,8]", 1);
  for (auto* const hashes : {&silent, &off}) EXPECT_TRUE(hashes->contains("model.safetensors"));
  // It holds the figure of the best checkpoint, and the time.
  for (auto* const hashes : {&silent, &off, &on}) hashes->erase("state.json");
  EXPECT_EQ(off, silent);
  EXPECT_EQ(on, silent);
}

}  // namespace
}  // namespace larmor::testing
