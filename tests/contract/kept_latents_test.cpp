// Latents that were computed once and kept train as those that are computed at each visit.
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/base/text.h"

#include "tests/contract/trial_run.h"
#include "tests/toy/cases.h"

namespace larmor::testing {
namespace {

const StageName diffusion{"latent_diffusion", "diffusion"};

/// Eight volumes of 8 voxels an axis, and a prepared cache beside them.
class KeptLatents : public ::testing::Test {
 protected:
  KeptLatents() { toy::write_cases(data_.path() / "cases", 8); }

  std::vector<std::string> words(const std::string& latents,
                                 const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{"data.kind=nifti",
                                 text("data.folder=", (data_.path() / "cases").string()),
                                 text("data.cache_folder=", (data_.path() / "cache").string()),
                                 "data.modalities={t1: [t1]}",
                                 "data.transforms=[{CenterSpatialCrop: {roi_size: [8, 8, 8]}}]",
                                 "train.length=6st",
                                 "train.validate_every=0",
                                 "optim.name=sgd",
                                 "optim.learning_rate=0.01",
                                 "optim.schedule.name=constant",
                                 "optim.schedule.warmup=0",
                                 "optim.weight_decay=0",
                                 "model.latents=" + latents};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  /// What the prepared cache keeps of cases.
  std::set<std::string> kept_entries() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(data_.path() / "cache"))
      if (entry.path().extension() == ".entry") names.insert(entry.path().string());
    return names;
  }

  ScratchFolder data_;
};

NamedTensors trained(const std::vector<std::string>& words, int ranks = 1) {
  TrialRun run(diffusion, words);
  run.train(ranks);
  return run.tensors("model.safetensors");
}

TEST_F(KeptLatents, TrainTheSameWeightsAsThoseComputedAtEachVisit) {
  const auto encoded =
      rounded(words("encoded"), [](const std::vector<std::string>& all) { return trained(all); });
  EXPECT_FALSE(std::filesystem::exists(data_.path() / "cache")) << "nothing is kept unless it is asked for";
  expect_but_for_rounding(trained(words("kept")), encoded, "one rank");
  const auto kept = kept_entries();
  EXPECT_FALSE(kept.empty());
  expect_but_for_rounding(trained(words("kept"), 2), encoded, "two ranks");
  EXPECT_EQ(kept_entries(), kept) << "the second run finds what the first has kept";
}

TEST_F(KeptLatents, OfInventedVolumesStayInMemory) {
  const auto of_phantoms = [&](const std::string& latents) {
    auto all = words(latents);
    std::erase_if(all, [](const std::string& word) {
      return word.starts_with("data.kind=") || word.starts_with("data.folder=") ||
             word.starts_with("data.modalities=");
    });
    return all;
  };
  const auto encoded =
      rounded(of_phantoms("encoded"), [](const std::vector<std::string>& all) { return trained(all); });
  expect_but_for_rounding(trained(of_phantoms("kept")), encoded, "phantoms");
  EXPECT_FALSE(std::filesystem::exists(data_.path() / "cache"));
}

TEST_F(KeptLatents, GoOnAfterAStopWithTheSameBits) {
  TrialRun whole(diffusion, words("kept")), parts(diffusion, words("kept"));
  whole.train(2);
  parts.train(2, 3);
  parts.train(2);
  EXPECT_EQ(parts.hashes(), whole.hashes());
}

}  // namespace
}  // namespace larmor::testing
