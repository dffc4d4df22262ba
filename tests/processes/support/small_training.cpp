#include "tests/processes/support/small_training.h"

#include <algorithm>

#include "larmor/base/text.h"

namespace larmor::testing {

std::vector<std::string> small_training(const std::string& run, int ranks, int steps) {
  return {"train",
          "latent_diffusion",
          "-c",
          "tiny",
          "run.name=" + run,
          "--ranks",
          text(ranks),
          text("train.length=", steps, "st"),
          "train.global_batch=4",
          "train.accumulation=2",
          "train.validate_every=10st",
          "checkpoint.every=4st",
          "optim.ema_decay=0.9",
          "data.phantom_cases=24",
          "loss.adversarial_start=2"};
}

std::vector<std::string> with(std::vector<std::string> words, const std::string& key,
                              const std::string& value) {
  const bool is_kind = key == "data.kind";
  std::erase_if(words, [&](const std::string& word) {
    return word.starts_with(key + "=") || (is_kind && word.starts_with("data.phantom"));
  });
  words.push_back(text(key, "=", value));
  return words;
}

int64_t newest_step(const std::filesystem::path& run) {
  const auto steps = events_of(run, "step");
  return steps.empty() ? 0 : steps.back().at("step").get<int64_t>();
}

bool reaches_step(const std::filesystem::path& run, int64_t step, double seconds) {
  return becomes_true([&] { return newest_step(run) >= step; }, seconds);
}

}  // namespace larmor::testing
