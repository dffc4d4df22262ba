#include "larmor/config/run_config.h"

#include "larmor/base/text.h"

namespace larmor {

void RunSection::describe(Fields& f) {
  f.field("folder", folder, "folder that run folders are made in");
  f.field("name", name, "name of the run's folder; auto: UTC time, workload and stage");
  f.field("seed", seed, "seed of every random draw of the run", at_least_zero);
  f.field("deterministic", deterministic,
          "equal bits from equal runs; auto: true on CPU, where it costs nothing");
}

void SplitSection::describe(Fields& f) {
  f.field("train", train, "patients to train on: a fraction of them, or a list of names");
  f.field("val", val, "patients to validate on: a fraction, or a list of names");
  f.field("test", test, "patients kept for the test: a fraction, or a list of names");
  f.word("by", by, {"patient", "file"}, "what is dealt out to the splits: whole patients, or single files");
}

void DicomSection::describe(Fields& f) {
  f.field("class", classes,
          "classes of the objects that are cases: image, secondary_capture, segmentation, dose, localizer, "
          "radiotherapy, report, presentation, document; empty: all that have pixels");
  f.field("modality", modality, "modalities to take (CT, MR, PT); empty: all");
  f.field("series", series, "series to take, by their UID or their number; empty: all");
  f.field("echo", echo, "numbers of the echoes to take; empty: all", at_least_zero);
  f.field(
      "description", description,
      "regular expressions, one of which a series' description has to fit, whatever the case of its letters; "
      "empty: all");
  f.field("min_slices", min_slices, "slices, or frames, that a series has at least", at_least_one);
}

void DataConfig::describe(Fields& f, const std::vector<std::string>& more_kinds) {
  std::vector<std::string> kinds{"nifti", "nrrd", "metaimage", "npz", "dicom", "picture", "list", "phantom"};
  kinds.insert(kinds.end(), more_kinds.begin(), more_kinds.end());
  f.word("kind", kind, kinds,
         "what the examples are: files below a folder, a list file, or volumes that the program invents");
  f.path("folder", folder, "folder that holds the images");
  f.path("list", list, "CSV or data-list JSON file that names the images, for kind list");
  f.word(
      "layout", layout, {"auto", "none", "folders", "decathlon", "nnunet", "bids", "brats", "mimic_cxr"},
      "how the folder is laid out, which says who is a patient and what is a split; auto: told by its names; "
      "none: each first sub-folder is a patient; folders: train, val and test are");
  f.field(
      "patient_pattern", patient_pattern,
      "regular expression held against paths below the folder, whose first group is the patient; empty: as "
      "the layout says");
  f.field("include", include, "globs of the files to take; empty: all of the kind");
  f.field("exclude", exclude, "globs of the files to leave out");
  f.path("exclude_list", exclude_list,
         "text file that names what to leave out, one path, case or patient a line");
  f.field(
      "modalities", modalities,
      "{modality: [ends of file names]}: files of a folder that differ in these alone are one case, whose "
      "images are channels in this order (label and mask_<name> are none)");
  f.field("fold", fold,
          "k/n: the patients who are not in test are dealt out to n folds, of which the k-th is val and the "
          "others are "
          "train, in place of data.split.train and data.split.val; empty: no folds");
  f.section("dicom", [this](Fields& inner) { dicom.describe(inner); });
  f.section("split", [this](Fields& inner) { split.describe(inner); });
  f.field("workers", workers, "loader threads of a rank; auto: the plan's", at_least_zero);
  f.field("prefetch", prefetch, "micro-batches loaded ahead by a rank; auto: the plan's", at_least_one);
  f.field(
      "bad_files", bad_files,
      "files that may turn out unusable before the run ends; a thousandth of the cases where that is more",
      at_least_zero);
  f.field("allow_copies", allow_copies,
          "train although an image lies under another name in another split; without it that is refused");
  f.word("grids", grids, {"same", "resample"},
         "files of one case whose grids (shape, affine) differ: refused, or resampled to the first image's");
  f.word(
      "cache", cache, {"none", "full", "smart"},
      "where results of the steps before the first random one are kept: nowhere, on disk for every run, or "
      "in a window that slides over the training cases");
  // Nothing stands for auto, and each visitor is done with a value when its call returns.
  std::string chosen = cache_folder.empty() ? "auto" : cache_folder;
  f.path("cache_folder", chosen,
         "folder of the prepared cache; auto: larmor/prepared in the user's cache folder");
  cache_folder = chosen == "auto" ? "" : chosen;
  f.field("cache_rate", cache_rate, "share of the training cases that SmartCache's window holds", fraction);
  f.field("replace_rate", replace_rate, "share of the window that is replaced after each epoch", fraction);
  std::optional<uint64_t> budget;
  if (budget_bytes) budget = static_cast<uint64_t>(*budget_bytes);
  f.bytes("budget", budget, "bytes the prepared cache may take; auto: four fifths of what its disk has free");
  budget_bytes.reset();
  if (budget) budget_bytes = static_cast<int64_t>(*budget);
  f.field("transforms", transforms, "list of {Name: {parameter: value}}, under MONAI's names, in order");
  f.field("phantom_cases", phantom_cases, "volumes to invent, for kind phantom", at_least_one);
  f.field("phantom_size", phantom_size, "voxels along each axis of an invented volume", at_least_one);
  f.field("phantom_seed", phantom_seed, "seed of the invented volumes", at_least_zero);
}

void TrainConfig::describe(Fields& f) {
  f.field("length", length, "how long to train: epochs (10ep), steps (500st) or time (90s, 30min, 12h)");
  f.field("global_batch", global_batch, "examples a step, over all ranks and accumulation; auto: the plan's",
          at_least_one);
  f.field("micro_batch", micro_batch, "examples a device computes at once; auto: the plan's", at_least_one);
  f.field("accumulation", accumulation, "micro-batches a rank sums up for one step; auto: the plan's",
          at_least_one);
  f.word(
      "precision", precision, {"auto", "fp32", "bf16", "fp16", "fp64"},
      "number format of the computation; auto: bf16 on a CPU that is faster in it, otherwise fp32; bf16 or "
      "fp16 on a GPU");
  f.word("layout", layout, {"auto", "contiguous", "channels_last"},
         "order of a volume's numbers in memory while networks compute; auto: the faster one");
  f.word("activation_checkpointing", activation_checkpointing, {"auto", "none", "blocks", "all"},
         "what backward computes again instead of keeping it: nothing, each block, or each section of blocks "
         "and each block in it; auto: the least that lets a rank hold its micro-batch");
  f.word(
      "graphs", graphs, {"none", "auto"},
      "whether a GPU launches forward and backward of a micro-batch as a whole (a CUDA graph) in place of "
      "each kernel; auto: where the stage's pass is the same for every batch, otherwise a sentence says why "
      "not");
  f.field("validate_every", validate_every, "how often to validate, as a length; 0: never");
  f.word("validate_with", validate_with, {"live", "average"},
         "weights that validation and the best checkpoint go by: those that learn, or their average");
  f.field("early_stopping", early_stopping,
          "validations without a better metric after which to stop; 0: never", at_least_zero);
  f.field("non_finite_budget", non_finite_budget,
          "steps with a non-finite loss or gradient that may be skipped", at_least_zero);
  f.field("stop_before", stop_before,
          "when to have stopped with a checkpoint: a time (2026-11-21T23:00:00Z) or a length from the start "
          "(12h); auto: the end of the scheduler's job; never");
}

void ValidationConfig::describe(Fields& f) {
  f.field("roi_size", roi_size,
          "voxels along each axis of the windows in which validation and `evaluate` go over whole cases; "
          "[]: they judge the crop that data.transforms cuts out of each",
          at_least_one);
  f.field("overlap", overlap, "part of a window that it shares with the next one, below 1", fraction);
}

void ScheduleConfig::describe(Fields& f) {
  f.word("name", name,
         {"constant", "warmup_cosine", "warmup_linear", "cosine_warm_restarts", "onecycle", "multistep",
          "plateau"},
         "course of the learning rate over the run");
  f.field("warmup", warmup, "linear rise at the start, in epochs or steps; 0: none");
  f.field("start", start, "learning rate at the first step of the rise, as a share of optim.learning_rate",
          fraction);
  f.field("final_rate", final_rate, "learning rate at the end of a fall; plateau: the least", at_least_zero);
  f.field("first_period", first_period, "cosine_warm_restarts: the first period, as a share of the run",
          fraction);
  f.field("period_growth", period_growth, "cosine_warm_restarts: length of a period to the one before",
          at_least_one);
  f.field("peak", peak, "onecycle: rate at the top of the cycle, in optim.learning_rate", at_least_zero);
  f.field("rise", rise, "onecycle: share of the run that the rise takes", fraction);
  f.field("milestones", milestones, "multistep: when the rate falls, in epochs (30ep) or steps, ascending");
  f.field("factor", factor, "multistep, plateau: the rate after a fall to the one before", fraction);
  f.field("patience", patience,
          "plateau: validations in a row without a better metric that are borne before a fall",
          at_least_zero);
  f.field(
      "steps", steps,
      "steps the schedule spans; 0: the length of the run, by the share that is over where that is a time",
      at_least_zero);
}

void OptimConfig::describe(Fields& f) {
  f.word("name", name, {"adamw", "adam", "sgd"}, "the optimizer");
  f.field("learning_rate", learning_rate, "learning rate, at the top of the schedule", at_least_zero);
  f.field("betas", betas, "decay of the running means of gradient and square, for adam and adamw", fraction);
  f.field("eps", eps, "added to the denominator, for adam and adamw", at_least_zero);
  f.field("weight_decay", weight_decay,
          "weight decay a step: decoupled for adamw, added to the gradient otherwise", at_least_zero);
  f.field("momentum", momentum, "momentum, for sgd", fraction);
  f.field("clip_norm", clip_norm, "largest norm of the whole gradient; 0: not clipped", at_least_zero);
  f.section("schedule", [this](Fields& inner) { schedule.describe(inner); });
  f.field("ema_decay", ema_decay, "decay a step of the averaged weights; 0: no average", fraction);
}

void ParallelConfig::describe(Fields& f) {
  f.field("ranks", ranks, "processes: auto, a count, or a list of GPU numbers such as \"0,2\"");
  f.word("device", device, {"auto", "cpu", "cuda"}, "what to compute on; auto: GPUs where there are any");
  f.field("threads", threads, "threads that a rank computes with; auto: its part of the cores", at_least_one);
  f.word(
      "strategy", strategy, {"auto", "single", "dp", "ddp", "zero1", "zero2", "zero3"},
      "how ranks share the work: whole replicas in processes (ddp) or in threads of one (dp), or a part each "
      "of the optimizer's states (zero1), of the gradients too (zero2), and of the weights (zero3); auto: "
      "the "
      "first that fits, never dp");
  f.word(
      "offload", offload, {"auto", "none", "optimizer"},
      "what a GPU's rank keeps and computes on the host instead; auto: the optimizer's states, where nothing "
      "else lets it hold its micro-batch");
  f.field("sync_batchnorm", sync_batchnorm,
          "batch norm takes its statistics from all ranks' rows; auto: where there are several ranks");
  f.field("hang_limit", hang_limit,
          "how long a rank may show no heartbeat, as a time; auto: five times the longest so far, at least "
          "5min; never");
  f.word("compression", compression, {"none", "fp16", "bf16"},
         "number format of the gradients on their way between ranks; none: as they are");
}

void CheckpointConfig::describe(Fields& f) {
  f.field("every", every, "how often to save, as a length; 0: only at the end");
  f.field("keep_last", keep_last, "newest checkpoints to keep", at_least_one);
  f.field("keep_best", keep_best, "best checkpoints to keep", at_least_zero);
  f.field("metric", metric, "value that decides which checkpoint is best, as the event log names it");
  f.word("mode", mode, {"min", "max"}, "whether a smaller or a larger metric is better");
  f.field("async", async, "write while training goes on");
}

namespace {

/// Each kind is written as YAML has it, and kept as text.
void describe_key(Fields& f, const ServiceKey& key, std::string& value) {
  switch (key.kind) {
    case ServiceKey::Kind::plain:
      f.field(key.name, value, key.help);
      break;
    case ServiceKey::Kind::yes_no: {
      bool is_so = (value.empty() ? key.otherwise : value) == std::string("true");
      f.field(key.name, is_so, key.help);
      value = is_so ? "true" : "false";
      break;
    }
    case ServiceKey::Kind::list: {
      auto words = value.empty() ? std::vector<std::string>() : split(value, ',');
      f.field(key.name, words, key.help);
      value = join(words, ",");
      break;
    }
  }
}

}  // namespace

void TrackConfig::describe(Fields& f) {
  f.field("tensorboard", tensorboard, "write TensorBoard event files to tb/");
  f.field("pictures_every", pictures_every, "how often to save pictures, as a length; 0: never");
  for (const TrackingService& service : larmor::services()) {
    f.section(service.name.c_str(), [&](Fields& inner) {
      for (const ServiceKey& key : service.keys) describe_key(inner, key, services[service.name][key.name]);
    });
  }
}

void PlanConfig::describe(Fields& f) {
  f.word("profile", profile, {"auto", "guide"},
         "whose numbers plan the batch: measured ones, or the guide's table");
  f.field("probe", probe, "measure one step's memory before training, and plan again; auto: on GPUs");
}

const OptimConfig& RunConfig::optim_of(const std::string& objective) const {
  const auto own = objectives.find(objective);
  return own == objectives.end() ? optim : own->second;
}

void describe(RunConfig& config, const WorkloadFields& workload, Fields& f) {
  f.section("run", [&](Fields& inner) { config.run.describe(inner); });
  f.section("from", [&](Fields& inner) {
    for (const std::string& stage : workload.needs) {
      inner.field(
          stage.c_str(), config.from[stage],
          "run of that stage to build on: RUN, or RUN#best, RUN#last, RUN#step-…; the run keeps what it "
          "needs of it, and shows its hash");
    }
    inner.field("run", config.from["run"],
                "run of this stage whose weights a new run begins with: RUN, RUN#best, RUN#last, RUN#step-…, "
                "or the folder of a checkpoint; the run shows its hash");
    bool with_optimizer = config.from["optimizer"] == "true";
    inner.field("optimizer", with_optimizer, "with from.run: begin with the state of its optimizer as well");
    config.from["optimizer"] = with_optimizer ? "true" : "false";
  });
  f.section("data", [&](Fields& inner) {
    config.data.describe(inner, workload.data_kinds);
    if (workload.data) workload.data(inner);
  });
  f.section("model", [&](Fields& inner) {
    if (workload.model) workload.model(inner);
  });
  f.section("loss", [&](Fields& inner) {
    if (workload.loss) workload.loss(inner);
  });
  f.section("train", [&](Fields& inner) {
    config.train.describe(inner);
    if (workload.train) workload.train(inner);
  });
  if (workload.validation) f.section("validation", [&](Fields& inner) { workload.validation(inner); });
  f.section("optim", [&](Fields& inner) {
    config.optim.describe(inner);
    for (const std::string& objective : workload.objectives) {
      // By now `optim` itself has been read, so an objective starts from what all sources made of it.
      OptimConfig& own = config.objectives.try_emplace(objective, config.optim).first->second;
      inner.section(objective.c_str(), [&own](Fields& deeper) { own.describe(deeper); });
    }
  });
  f.section("parallel", [&](Fields& inner) { config.parallel.describe(inner); });
  f.section("checkpoint", [&](Fields& inner) { config.checkpoint.describe(inner); });
  f.section("track", [&](Fields& inner) { config.track.describe(inner); });
  f.section("plan", [&](Fields& inner) { config.plan.describe(inner); });
}

}  // namespace larmor
