// What the person asked for: one struct a section of the config file (docs/cli.md). A workload adds the
// fields of `model` and `loss`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/config/fields.h"
#include "larmor/config/guide_file.h"
#include "larmor/services/service.h"

namespace larmor {

struct RunSection {
  std::string folder = "runs";
  std::string name = "auto";
  int64_t seed = 42;
  std::optional<bool> deterministic;  // auto: true on CPU
  void describe(Fields& f);
};

struct SplitSection {
  // Each a fraction of the patients, or a list of patients.
  Json train = 0.8, val = 0.1, test = 0.1;
  std::string by = "patient";
  void describe(Fields& f);
};

/// Which objects of DICOM files are cases. Lists: any of them; empty: all.
struct DicomSection {
  std::vector<std::string> classes = {"image"};
  std::vector<std::string> modality;
  std::vector<std::string> series;  // SeriesInstanceUID, or SeriesNumber
  std::vector<int64_t> echo;
  std::vector<std::string> description;  // regular expressions
  int64_t min_slices = 1;
  void describe(Fields& f);
};

struct DataConfig {
  std::string kind = "nifti";
  std::string folder;
  std::string list;
  std::string layout = "auto";  // how folders are named: auto, none, folders, or a data set's
  std::string patient_pattern;  // a regular expression on paths; empty: as the layout says
  std::vector<std::string> include, exclude;
  std::string exclude_list;  // a file; empty: none
  Json modalities;           // {t1n: [t1, t1n], label: [seg]}; null: every file is a case of its own
  DicomSection dicom;        // only for kind dicom
  std::string fold;          // "k/n", as fold_from_text() reads it; empty: none
  SplitSection split;
  std::optional<int64_t> workers, prefetch;
  int64_t bad_files = 10;
  bool allow_copies = false;                    // equal images may lie in several splits
  std::string grids = "same";                   // of the files of a case: same or resample
  std::string cache = "none";                   // none, full or smart
  std::string cache_folder;                     // empty: the user's
  double cache_rate = 0.5, replace_rate = 0.5;  // of the examples in SmartCache's window; of the window
  std::optional<int64_t> budget_bytes;          // of the prepared cache
  Json transforms;                              // list of {Name: {parameter: value}} under MONAI's names
  // Only for kind phantom.
  int64_t phantom_cases = 24;
  std::vector<int64_t> phantom_size = {64, 64, 64};
  int64_t phantom_seed = 0;
  /// `more_kinds` are those of the workload alone.
  void describe(Fields& f, const std::vector<std::string>& more_kinds = {});
};

struct TrainConfig {
  Length length{100, Length::Unit::epochs};
  std::optional<int64_t> global_batch, micro_batch, accumulation;
  std::string precision = "auto";
  std::string layout = "auto";                    // auto, contiguous or channels_last
  std::string activation_checkpointing = "auto";  // auto, none, blocks or all
  std::string graphs = "none";                    // none or auto
  Length validate_every{1, Length::Unit::epochs};
  std::string validate_with = "live";  // live or average
  int64_t early_stopping = 0;
  int64_t non_finite_budget = 10;
  std::string stop_before = "auto";  // auto: the end of the scheduler's job; never, a time, or a length
  void describe(Fields& f);
};

/// How validation goes over whole cases: a part of the config that a stage has where it can
/// (WorkloadFields::validation).
struct ValidationConfig {
  std::vector<int64_t> roi_size;  // of a window, voxels an axis; empty: cases are cropped as for training
  double overlap = 0.25;          // of neighbouring windows, as a part of their size
  bool of_whole_cases() const { return !roi_size.empty(); }
  void describe(Fields& f);
};

struct ScheduleConfig {
  std::string name = "constant";
  Length warmup;  // rises linearly from `start` x rate
  double start = 0.1;
  double final_rate = 0;                // where the cosine ends
  double first_period = 0.25;           // cosine_warm_restarts: as a share of the run
  double period_growth = 2;             // each period to the one before
  double peak = 10, rise = 0.3;         // onecycle: top, in learning rates; share of the run up to it
  std::vector<std::string> milestones;  // multistep: where the rate falls, each a length in epochs or steps
  double factor = 0.1;                  // multistep, plateau: of a fall
  int64_t patience = 10;                // plateau: validations without a gain that are borne
  int64_t steps = 0;                    // 0: the length of the run
  /// Whether the rate comes down towards the end of the run, or of `steps`.
  bool has_end() const { return name != "constant" && name != "multistep" && name != "plateau"; }
  void describe(Fields& f);
};

/// The keys of `optim`; `optim.<objective>` repeats them for that objective alone.
struct OptimConfig {
  std::string name = "adamw";
  double learning_rate = 1e-4;
  std::vector<double> betas = {0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum = 0;     // sgd
  double clip_norm = 1.0;  // 0: off
  ScheduleConfig schedule;
  double ema_decay = 0;  // 0: off
  void describe(Fields& f);
};

struct ParallelConfig {
  std::string ranks = "auto";          // auto, a count, or a list of device numbers "0,2"
  std::string device = "auto";         // auto, cpu, cuda
  std::optional<int64_t> threads;      // of a rank; auto: its part of the cores
  std::string strategy = "auto";       // auto, single, dp, ddp, zero1, zero2, zero3
  std::string offload = "auto";        // auto, none, optimizer
  std::optional<bool> sync_batchnorm;  // auto: with several ranks
  std::string compression = "none";    // of gradients on their way: none, fp16, bf16
  std::string hang_limit = "auto";     // auto, never, or a time without a heartbeat
  void describe(Fields& f);
};

struct CheckpointConfig {
  Length every{1, Length::Unit::epochs};
  int64_t keep_last = 2, keep_best = 1;
  std::string metric = "val/loss";
  std::string mode = "min";
  bool async = true;
  void describe(Fields& f);
};

struct TrackConfig {
  bool tensorboard = true;
  Length pictures_every{1, Length::Unit::epochs};
  /// What is said of each service (services/service.h), by its name; not what the environment says.
  std::map<std::string, ServiceSettings> services;
  void describe(Fields& f);
};

struct PlanConfig {
  std::string profile = "auto";
  std::optional<bool> probe;  // auto: on GPUs
  void describe(Fields& f);
};

struct RunConfig {
  std::string workload;
  std::string stage;
  RunSection run;
  /// The run to begin with, by the name of each stage that this one needs: as a person names it (RUN,
  /// RUN#best …), or "sha256:…" of what the run has kept of it.
  std::map<std::string, std::string> from;
  DataConfig data;
  TrainConfig train;
  OptimConfig optim;                              // what objectives without a section of their own use
  std::map<std::string, OptimConfig> objectives;  // optim.<objective>, starting from `optim`
  ParallelConfig parallel;
  CheckpointConfig checkpoint;
  TrackConfig track;
  PlanConfig plan;

  const OptimConfig& optim_of(const std::string& objective) const;
};

/// What to say in place of a flag of other programs, by its name in small letters and dashes: {"resnet", "say
/// `model.depth=18`"}.
using ForeignFlags = std::map<std::string, std::string>;

/// The part of the config that a workload's stage owns: its fields, and the names of its objectives.
struct WorkloadFields {
  std::function<void(Fields&)> data = {};    // what it adds to that section
  std::vector<std::string> data_kinds = {};  // that it alone knows
  /// The keys of that section, by kind of data, that say what its cases are, beside those of
  /// config/data_keys.cpp: what stands for one kind and not for another has no effect there.
  std::map<std::string, std::vector<std::string>> data_keys = {};
  std::function<void(Fields&)> model, loss;
  std::function<void(Fields&)> train = {};       // what it adds to that section
  std::function<void(Fields&)> validation = {};  // a section that other stages do not have
  std::vector<std::string> objectives;
  std::vector<std::string> needs = {};  // stages whose runs the section `from` names
  ForeignFlags foreign_flags = {};      // that the workload itself answers
  GuideFiles guide_files = {};          // of the workload's guide
};

/// Lists every field of a run, sections in the order of docs/cli.md.
void describe(RunConfig& config, const WorkloadFields& workload, Fields& f);

}  // namespace larmor
