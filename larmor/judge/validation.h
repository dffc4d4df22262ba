// Metrics of a split, each case once, whatever the number of ranks.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <c10/core/Device.h>

#include "larmor/base/image.h"
#include "larmor/base/work_progress.h"
#include "larmor/comm/communicator.h"
#include "larmor/judge/case_groups.h"
#include "larmor/judge/stoppable_work.h"
#include "larmor/judge/verdict.h"
#include "larmor/plan/kinds.h"
#include "larmor/task/task.h"

namespace larmor {

class BatchFeed;

struct MetricResult {
  double mean = 0;                                         // over the cases, or a figure of them all
  std::vector<std::pair<int64_t, double>> per_case = {};   // by example; empty for a figure
  std::optional<std::pair<double, double>> interval = {};  // of 95 % confidence, over patients
  std::string no_interval = {};                            // why there is none where one was wanted
  std::string parts_by = {};                               // "horizon"
  std::vector<std::pair<std::string, double>> parts = {};
  std::string undefined = {};                               // why the mean is NaN: never empty where it is
  std::map<std::string, std::string> undefined_parts = {};  // why a part is; the mean is without it
  BootstrapDraws draws = {};                                // at full depth; empty where there is no interval
};

/// "Edema, Fracture: fewer than 10 studies; Lung Lesion: no study without it": the parts that are NaN, by
/// reasons; empty where there is none.
std::string missing_message(const MetricResult& metric);

struct ValidationResult {
  std::map<std::string, MetricResult> metrics;
  std::vector<std::pair<std::string, Image>> pictures;  // rank 0's
  std::vector<std::string> remarks;                     // of the task, about the figures
  std::vector<Verdict> verdicts;                        // by what the task declares of its figures
  std::vector<BadFile> bad;                             // cases that no metric knows, of all ranks
  int64_t patients = 0;                                 // whose the others are
  CaseColumns columns = {};                             // Task::case_columns(), where they were asked for
  std::vector<ScoredTruths> scores = {};                // Task::scores(), there or where they are drawn
  CaseGroup of = {};                                    // of a part of a split: which
  std::vector<ValidationResult> groups = {};            // of the parts that were asked for
};

struct ValidationOptions {
  c10::Device device{c10::kCPU};
  Precision precision = Precision::fp32;
  Layout layout = Layout::contiguous;
  uint64_t seed = 0;
  bool pictures = false;
  ValidationDepth depth = ValidationDepth::quick;
  int64_t batch = 1;  // cases of one shape that a GPU computes together; a CPU computes each alone
  int workers = 0;    // cases that threads of this rank read ahead
  const Dataset* reference = nullptr;  // Stage::reference()'s
  bool columns = false;                // whether the result has Task::case_columns() and Task::scores()
  /// Which parts of the cases that could be used have figures of their own, by Task::case_columns() and
  /// whatever else is known of them; on every rank alike.
  std::function<CaseGroups(const CaseColumns& columns, std::span<const int64_t> examples)> groups = {};
  /// Where Task::reference_stays(): what the first validation has found of the reference cases, which later
  /// ones take from here. Null: nothing is kept.
  std::optional<CaseValues>* reference_values = nullptr;
  /// The feed by which cases come to the device, and whose memory they have then, in place of what was in it;
  /// in the end all of it is given up. Null: one of validate()'s own.
  BatchFeed* feed = nullptr;
  StopAsked stop_asked = [] { return std::string(); };
  /// How many cases of all ranks are done, as far as this rank can tell by its own; in a case that takes long
  /// how much of it is.
  ShowsProgress progress = {};
};

/// Runs the task over the reference cases, which are in no figure, and then over `dataset`: rank r
/// takes cases r, r + ranks, …; on CPUs neither the number of ranks nor `batch` changes a bit of the result;
/// values meet on every rank in case order, so that all take the same decision from the same bits. Cases that
/// cannot be used, because their files or Task::validate() fail with Error (data), are left out and listed,
/// in the order of the cases. Networks are put into evaluation mode and back. Collective. Blocks. Throws on
/// all ranks or on none: Error (data) when no case is left; Error (stopped) when some rank was asked to stop;
/// where any other error ends a rank's cases, that error there, and its words on the others with the rank's
/// number.
ValidationResult validate(Task& task, const Dataset& dataset, Communicator& communicator,
                          const ValidationOptions& options);

}  // namespace larmor
