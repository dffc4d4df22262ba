#include "larmor/config/run_config.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/config/support/made_up_workload.h"

namespace larmor {
namespace {

// The defaults that docs/cli.md promises.
struct Documented {
  const char* key;
  const char* value;
};
constexpr Documented documented[] = {
    {"run.folder", "runs"},
    {"run.name", "auto"},
    {"run.seed", "42"},
    {"run.deterministic", "auto"},
    {"from.run", "\"\""},
    {"from.optimizer", "false"},
    {"data.kind", "nifti"},
    {"data.folder", "\"\""},
    {"data.list", "\"\""},
    {"data.layout", "auto"},
    {"data.patient_pattern", "\"\""},
    {"data.include", "[]"},
    {"data.exclude", "[]"},
    {"data.exclude_list", "\"\""},
    {"data.fold", "\"\""},
    {"data.modalities", "null"},
    {"data.dicom.class", "[image]"},
    {"data.dicom.modality", "[]"},
    {"data.dicom.series", "[]"},
    {"data.dicom.echo", "[]"},
    {"data.dicom.description", "[]"},
    {"data.dicom.min_slices", "1"},
    {"data.split.train", "0.8"},
    {"data.split.val", "0.1"},
    {"data.split.test", "0.1"},
    {"data.split.by", "patient"},
    {"data.workers", "auto"},
    {"data.prefetch", "auto"},
    {"data.bad_files", "10"},
    {"data.allow_copies", "false"},
    {"data.grids", "same"},
    {"data.cache", "none"},
    {"data.cache_folder", "auto"},
    {"data.cache_rate", "0.5"},
    {"data.replace_rate", "0.5"},
    {"data.budget", "auto"},
    {"data.transforms", "null"},
    {"data.phantom_cases", "24"},
    {"data.phantom_size", "[64, 64, 64]"},
    {"data.phantom_seed", "0"},
    {"train.length", "100ep"},
    {"train.global_batch", "auto"},
    {"train.micro_batch", "auto"},
    {"train.accumulation", "auto"},
    {"train.layout", "auto"},
    {"train.precision", "auto"},
    {"train.activation_checkpointing", "auto"},
    {"train.validate_every", "1ep"},
    {"train.validate_with", "live"},
    {"train.early_stopping", "0"},
    {"train.non_finite_budget", "10"},
    {"train.stop_before", "auto"},
    {"optim.name", "adamw"},
    {"optim.learning_rate", "1.0e-04"},
    {"optim.betas", "[0.9, 0.999]"},
    {"optim.eps", "1.0e-08"},
    {"optim.weight_decay", "0.0"},
    {"optim.momentum", "0.0"},
    {"optim.clip_norm", "1.0"},
    {"optim.schedule.milestones", "[]"},
    {"optim.schedule.factor", "0.1"},
    {"optim.schedule.patience", "10"},
    {"optim.schedule.name", "constant"},
    {"optim.schedule.warmup", "0"},
    {"optim.schedule.start", "0.1"},
    {"optim.schedule.final_rate", "0.0"},
    {"optim.schedule.first_period", "0.25"},
    {"optim.schedule.period_growth", "2.0"},
    {"optim.schedule.peak", "10.0"},
    {"optim.schedule.rise", "0.3"},
    {"optim.schedule.steps", "0"},
    {"optim.ema_decay", "0.0"},
    {"parallel.ranks", "auto"},
    {"parallel.device", "auto"},
    {"parallel.threads", "auto"},
    {"parallel.strategy", "auto"},
    {"parallel.offload", "auto"},
    {"parallel.sync_batchnorm", "auto"},
    {"parallel.compression", "none"},
    {"parallel.hang_limit", "auto"},
    {"checkpoint.every", "1ep"},
    {"train.graphs", "none"},
    {"checkpoint.keep_last", "2"},
    {"checkpoint.keep_best", "1"},
    {"checkpoint.metric", "val/loss"},
    {"checkpoint.mode", "min"},
    {"checkpoint.async", "true"},
    {"track.tensorboard", "true"},
    {"track.pictures_every", "1ep"},
    {"track.mlflow.uri", "\"\""},
    {"track.mlflow.experiment", "\"\""},
    {"track.mlflow.pictures", "true"},
    {"track.trackio.uri", "\"\""},
    {"track.trackio.project", "\"\""},
    {"track.trackio.pictures", "true"},
    {"track.wandb.enabled", "false"},
    {"track.wandb.project", "\"\""},
    {"track.wandb.entity", "\"\""},
    {"track.wandb.mode", "\"\""},
    {"track.wandb.name", "\"\""},
    {"track.wandb.tags", "[]"},
    {"track.wandb.pictures", "true"},
    {"plan.profile", "auto"},
    {"plan.probe", "auto"},
};

TEST(RunConfig, ShowsEveryDocumentedDefault) {
  const LoadedConfig loaded = load({});
  for (const auto& [key, value] : documented) {
    EXPECT_EQ(origin_of(loaded, key).value, value) << key;
    EXPECT_EQ(origin_of(loaded, key).origin, "built-in") << key;
  }
}

TEST(RunConfig, HasNoKeyThatIsNotDocumented) {
  for (const Origin& origin : load({}).origins) {
    const bool is_workload = origin.key.starts_with("model.") || origin.key.starts_with("loss.");
    const bool is_known = std::any_of(std::begin(documented), std::end(documented),
                                      [&](const Documented& row) { return row.key == origin.key; });
    EXPECT_TRUE(is_known || is_workload || origin.is_inherited()) << origin.key;
  }
}

TEST(RunConfig, HasHelpForEveryKey) {
  for (const Origin& origin : load({}).origins) {
    EXPECT_GE(origin.help.size(), 8U) << origin.key;
    EXPECT_NE(origin.help.back(), '.') << origin.key << ": a phrase, not a sentence";
  }
}

TEST(RunConfig, GivesAnObjectiveItsOwnOptimizerOrTheSharedOne) {
  const LoadedConfig loaded =
      load_overrides({"optim.discriminator.learning_rate=5e-4", "optim.learning_rate=2e-4"});
  EXPECT_EQ(loaded.config.optim_of("generator").learning_rate, 2e-4);
  EXPECT_EQ(loaded.config.optim_of("discriminator").learning_rate, 5e-4);
  EXPECT_EQ(loaded.config.optim_of("nobody").learning_rate, 2e-4);
}

}  // namespace
}  // namespace larmor
