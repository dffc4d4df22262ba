#include "larmor/config/run_config.h"

namespace larmor {

void RunSection::describe(Fields& f) {
  f.field("folder", folder, "where runs are kept");
  f.field("name", name, "the run's folder below run.folder; auto: time, workload and stage");
  f.field("seed", seed, "every random draw of the run follows from it", at_least_zero);
  f.field("deterministic", deterministic, "the same bits every time; auto: true on a CPU, on CUDA it costs speed");
}

void SplitSection::describe(Fields& f) {
  f.field("train", train, "a fraction of the patients, or a list of them");
  f.field("val", val, "a fraction of the patients, or a list of them");
  f.field("test", test, "a fraction of the patients, or a list of them");
  f.word("by", by, {"patient", "file"}, "what stays on one side of a split");
}

void DataConfig::describe(Fields& f) {
  f.word("kind", kind, {"nifti", "npz", "list", "phantom"}, "what the data are");
  f.field("folder", folder, "where files are looked for, and what relative paths in a list start from");
  f.field("list", list, "a CSV file or a MONAI data list (JSON), for kind list");
  f.field("include", include, "globs; only files that match one are taken");
  f.field("exclude", exclude, "globs; files that match one are left out");
  f.section("split", [this](Fields& inner) { split.describe(inner); });
  f.field("workers", workers, "loader threads of each rank; auto: the plan's", at_least_zero);
  f.field("prefetch", prefetch, "micro-batches prepared ahead by each rank; auto: the plan's", at_least_one);
  f.field("bad_files", bad_files, "files that may turn out unreadable before training stops", at_least_zero);
  f.field("transforms", transforms, "steps from file to network, a list of {Name: {parameter: value}} under MONAI's names");
  f.field("phantom_cases", phantom_cases, "invented volumes, for kind phantom", at_least_one);
  f.field("phantom_size", phantom_size, "voxels an axis of an invented volume", at_least_one);
  f.field("phantom_seed", phantom_seed, "which invented volumes", at_least_zero);
}

void TrainConfig::describe(Fields& f) {
  f.field("length", length, "how long to train: 100ep, 5000st, 90s, 30min, 12h");
  f.field("global_batch", global_batch, "examples in a step, all ranks and accumulation together", at_least_one);
  f.field("micro_batch", micro_batch, "examples in one pass of one rank", at_least_one);
  f.field("accumulation", accumulation, "passes whose gradients make one step", at_least_one);
  f.word("precision", precision, {"auto", "fp32", "bf16", "fp16", "fp64"}, "arithmetic of forward and backward");
  f.field("validate_every", validate_every, "how often the validation split is measured");
  f.field("early_stopping", early_stopping, "validations without gain after which training ends; 0: never", at_least_zero);
  f.field("non_finite_budget", non_finite_budget, "steps that may be skipped because a loss or gradient was not finite",
          at_least_zero);
}

void ScheduleConfig::describe(Fields& f) {
  f.word("name", name, {"constant", "warmup_cosine"}, "how the rate goes over the run");
  f.field("warmup", warmup, "length of the linear rise, in epochs or steps");
  f.field("start", start, "where the rise begins, as a share of learning_rate", fraction);
  f.field("final_rate", final_rate, "the rate at the end of the cosine", at_least_zero);
  f.field("steps", steps, "length of the schedule in steps; 0: the length of the run", at_least_zero);
}

void OptimConfig::describe(Fields& f) {
  f.word("name", name, {"adamw", "adam", "sgd"}, "the optimizer");
  f.field("learning_rate", learning_rate, "peak rate, after the rise", at_least_zero);
  f.field("betas", betas, "decay of the two moments of Adam", fraction);
  f.field("eps", eps, "added to the root of the second moment", at_least_zero);
  f.field("weight_decay", weight_decay, "decoupled for adamw, added to the gradient for adam and sgd", at_least_zero);
  f.field("momentum", momentum, "of sgd", fraction);
  f.field("clip_norm", clip_norm, "largest gradient norm; 0: no clipping", at_least_zero);
  f.section("schedule", [this](Fields& inner) { schedule.describe(inner); });
  f.field("ema_decay", ema_decay, "decay of the averaged weights; 0: none are kept", fraction);
}

void ParallelConfig::describe(Fields& f) {
  f.field("ranks", ranks, "how many processes: auto, a count, or device numbers as 0,2");
  f.word("device", device, {"auto", "cpu", "cuda"}, "where to compute");
  f.word("strategy", strategy, {"auto", "single", "ddp"}, "how gradients meet");
}

void CheckpointConfig::describe(Fields& f) {
  f.field("every", every, "how often a checkpoint is saved");
  f.field("keep_last", keep_last, "newest checkpoints that are kept", at_least_one);
  f.field("keep_best", keep_best, "best checkpoints that are kept beside them", at_least_zero);
  f.field("metric", metric, "what best means: a val/ name of events.jsonl");
  f.word("mode", mode, {"min", "max"}, "whether lower or higher is better");
  f.field("async", async, "write beside training");
}

void TrackConfig::describe(Fields& f) {
  f.field("tensorboard", tensorboard, "write TensorBoard event files to tb/");
  f.field("pictures_every", pictures_every, "how often a validation leaves pictures");
}

void PlanConfig::describe(Fields& f) {
  f.word("profile", profile, {"auto", "guide"}, "guide: the batch table of the hardware guide, by GPU memory");
}

const OptimConfig& RunConfig::optim_of(const std::string& objective) const {
  const auto own = objectives.find(objective);
  return own == objectives.end() ? optim : own->second;
}

void describe(RunConfig& config, const WorkloadFields& workload, Fields& f) {
  f.section("run", [&](Fields& inner) { config.run.describe(inner); });
  f.section("data", [&](Fields& inner) { config.data.describe(inner); });
  if (workload.model) f.section("model", workload.model);
  if (workload.loss) f.section("loss", workload.loss);
  f.section("train", [&](Fields& inner) { config.train.describe(inner); });
  f.section("optim", [&](Fields& inner) {
    config.optim.describe(inner);
    // An objective starts from what all share, as far as that has been read.
    for (const auto& name : workload.objectives) {
      const auto place = config.objectives.insert_or_assign(name, config.optim).first;
      inner.section(name.c_str(), [&](Fields& own) { place->second.describe(own); });
    }
  });
  f.section("parallel", [&](Fields& inner) { config.parallel.describe(inner); });
  f.section("checkpoint", [&](Fields& inner) { config.checkpoint.describe(inner); });
  f.section("track", [&](Fields& inner) { config.track.describe(inner); });
  f.section("plan", [&](Fields& inner) { config.plan.describe(inner); });
}

}  // namespace larmor
