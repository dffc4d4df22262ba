// Where numbers and pictures go. A sink may throw when it is made; in the loop it warns once and goes quiet,
// unless the run went on without this rank (base/files/fenced_storage.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/base/clock.h"
#include "larmor/base/declared_figure.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/image.h"
#include "larmor/base/json.h"
#include "larmor/base/work_progress.h"

namespace larmor {

/// Where training stands when something is recorded.
struct Moment {
  int64_t step = 0;
  double epoch = 0;  // examples / examples in an epoch
  int64_t examples = 0;
  double elapsed_seconds = 0;  // of training, over all starts
};

using Values = std::map<std::string, double>;  // "train/loss" -> 0.12

/// What a start of a run is, for sinks that show it beside its numbers.
struct RunFacts {
  std::string name;             // of the run's folder
  Json facts = Json::object();  // workload, stage, ranks, global_batch, …
};

/// One thread.
class Tracker {
 public:
  virtual ~Tracker() = default;
  /// Once, before the first event of a start of the run.
  virtual void start(const Moment& /*moment*/, const RunFacts& /*run*/) {}
  /// `kind` is "step", "validation", "checkpoint", "warning", "end", …
  virtual void event(const Moment& moment, std::string_view kind, const Values& values,
                     std::string_view text) = 0;
  virtual void picture(const Moment& moment, std::string_view name, const Picture& picture) = 0;
  /// How far work is that takes long between two events, for who watches it; nothing keeps it.
  virtual void progress(const WorkProgress& /*progress*/) {}
  virtual void flush() = 0;
  /// What went wrong since the last call, as a sentence; "" when nothing did. A fan-out asks for it and tells
  /// its other sinks, so that people at the console hear of it.
  virtual std::string take_complaint() { return {}; }
};

/// Does nothing: what ranks other than 0 hold.
std::unique_ptr<Tracker> make_silent_tracker();

/// Passes everything to each of its sinks. Thread-safe: a save tells of its end while training records.
std::unique_ptr<Tracker> make_fan_out(std::vector<std::unique_ptr<Tracker>> sinks);

/// events.jsonl: one JSON object a line, handed to the system at once; appends. `generation` counts restarts.
/// A value that is not finite becomes null. When the disk is full the lines are lost until it is not.
/// Borrows the storage and the clock.
std::unique_ptr<Tracker> make_event_log(Storage& storage, const Clock& clock,
                                        const std::filesystem::path& file, int64_t generation);

/// TensorBoard event files directly in `folder`: scalars as simple_value, pictures as image summaries.
/// Written every few seconds. Borrows the storage and the clock.
std::unique_ptr<Tracker> make_tensorboard(Storage& storage, const Clock& clock,
                                          const std::filesystem::path& folder);

/// <folder>/<name>-<step>.png, the step with eight digits. Borrows the storage.
std::unique_ptr<Tracker> make_picture_folder(Storage& storage, const std::filesystem::path& folder);

struct CurveOptions {
  std::filesystem::path picture, events;  // what is drawn, and the log of what earlier starts have recorded
  std::string metric;                     // checkpoint.metric
};
/// One picture of the run so far, drawn again after a validation, at most every ten seconds, and at the end:
/// the losses of steps and validations, and the figure by which checkpoints are kept. `others`, where it is
/// there, gets all that is recorded as well: one thread then writes all pictures. Borrows the storage and the
/// clock.
std::unique_ptr<Tracker> make_curves(Storage& storage, const Clock& clock, const CurveOptions& options,
                                     std::unique_ptr<Tracker> others = {});

struct ConsoleOptions {
  bool live = false;  // a terminal: one line rewritten in place
  bool color = false;
  bool quiet = false;       // errors and warnings only
  int64_t total_steps = 0;  // 0 = unknown
  int64_t start_step = 0;
  double total_seconds = 0;  // of a run whose length is a time
  int descriptor = 2;        // where people's text goes
  /// What the figures of a validation are, without the "val/" before their names.
  DeclaredFigures figures = {};
  /// What "best" is of: "val/loss"; the best before this start, where there was one.
  std::string metric = {};
  bool lower_is_better = true;
  std::optional<double> best = {};
};
/// Progress for people: bar, rate, ETA, loss parts, data-wait %, memory; plain lines when not live, the first
/// steps and then one every few seconds. A validation is a line a figure, with its change since the last.
/// Text that nobody takes is dropped: the loop never waits for a terminal. Borrows the clock.
std::unique_ptr<Tracker> make_console(const ConsoleOptions& options, const Clock& clock);

/// Where the sinks of a run write.
struct TrackerOptions {
  std::filesystem::path events, pictures;            // a file and a folder
  std::optional<std::filesystem::path> tensorboard;  // nothing: no event files
  std::filesystem::path curves;                      // a picture
  std::string metric;                                // CurveOptions'
  std::optional<ConsoleOptions> console;             // nothing: silent
  int64_t generation = 0;
};
/// All sinks of a run as one; each that writes files has a queue and a thread of its own
/// (track/background.h), so that no event waits for a disk. Thread-safe. Borrows the storage and the clock.
std::unique_ptr<Tracker> make_tracker(const TrackerOptions& options, Storage& storage, const Clock& clock);

/// The largest generation in an event log plus one; 0 when there is none. Reads what is there, ignores torn
/// lines.
int64_t next_generation(const std::filesystem::path& file);

}  // namespace larmor
