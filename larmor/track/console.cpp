#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "larmor/base/clock.h"
#include "larmor/base/text.h"
#include "larmor/track/progress.h"
#include "larmor/track/terminal.h"
#include "larmor/track/tracker.h"
#include "larmor/track/validation_table.h"
#include "larmor/track/work_report.h"

namespace larmor {
namespace {

/// "step 100 (epoch 2.00)".
std::string place(const Moment& moment) {
  return text("step ", moment.step, " (epoch ", fixed(moment.epoch, 2), ")");
}

/// "cache/gib 3.1  cache/files 12".
std::string list(const Values& values) {
  std::string out;
  for (const auto& [name, value] : values)
    out += text(out.empty() ? "" : "  ", name, " ", short_number(value));
  return out;
}

std::string describe_checkpoint(const Moment& moment, const Values& values, std::string_view words) {
  std::string out = text("checkpoint of step ", moment.step, " saved");
  if (const auto seconds = values.find("perf/save_seconds"); seconds != values.end()) {
    out += text(" in ", human_seconds(seconds->second));
  }
  return words.empty() ? out : text(out, ", ", words);
}

/// `metric`: what "best" is of.
std::string describe_end(const Moment& moment, const Values& values, std::string_view words,
                         const std::string& metric) {
  std::string out = text("ended after ", place(moment));
  if (const auto seconds = values.find("end/seconds"); seconds != values.end()) {
    out += text(" in ", human_seconds(seconds->second));
  }
  if (!words.empty()) out += text(": ", words);
  const auto value = values.find("best/value"), step = values.find("best/step");
  if (value != values.end() && step != values.end()) {
    out += text("; best ", metric, metric.empty() ? "" : " ", short_number(value->second), " at step ",
                fixed(step->second, 0));
  }
  return out;
}

std::string describe_other(const Moment& moment, std::string_view kind, const Values& values,
                           std::string_view words) {
  std::string out(kind);
  if (moment.step > 0) out += text(" at ", place(moment));
  if (!words.empty()) out += text(": ", words);
  return values.empty() ? out : text(out, words.empty() ? ": " : "  ", list(values));
}

/// Seconds for which nothing is said of work within a step of the run.
constexpr double patience = 5;

class Console final : public Tracker {
 public:
  Console(const ConsoleOptions& options, const Clock& clock)
      : options_(options),
        clock_(clock),
        terminal_(options.descriptor, options.color),
        report_(options.total_steps, options.total_seconds),
        table_(options),
        work_(terminal_, options.live, patience, clock),
        started_(clock.steady_seconds()) {}

  void event(const Moment& moment, std::string_view kind, const Values& values,
             std::string_view words) override {
    if (kind == "warning") return terminal_.line(text("warning: ", words), Tone::warning);
    if (kind == "error") return terminal_.line(text("error: ", words), Tone::error);
    if (options_.quiet) return;
    if (kind == "step") return step(moment, values);
    if (kind == "validation") return validation(moment, values);
    if (kind == "checkpoint") return terminal_.line(describe_checkpoint(moment, values, words));
    if (kind == "end") return terminal_.line(describe_end(moment, values, words, options_.metric));
    terminal_.line(describe_other(moment, kind, values, words));
  }

  void progress(const WorkProgress& progress) override {
    if (!options_.quiet) work_.show(progress);
  }

  void picture(const Moment&, std::string_view, const Picture&) override {}

  void flush() override {}

 private:
  void validation(const Moment& moment, const Values& values) {
    terminal_.line(text("validation after ", place(moment)), Tone::good);
    for (const std::string& line : table_.lines(values)) terminal_.line(line);
  }

  void step(const Moment& moment, const Values& values) {
    const double now = clock_.steady_seconds();
    report_.add_step(moment, values, now);
    if (!is_due(moment, now)) return;
    last_shown_ = now;
    if (options_.live) {
      // The last column stays free: some terminals break the line when it is filled.
      terminal_.standing_line(progress_line(report_, terminal_.width() - 1));
    } else {
      std::string line;
      for (const ProgressField& field : report_.fields()) line += text(line.empty() ? "" : "  ", field.words);
      terminal_.line(line);
    }
  }

  bool is_due(const Moment& moment, double now) const {
    // People look closely at the first steps, and want to see the last.
    if (moment.step <= options_.start_step + 3 || moment.step == options_.total_steps) return true;
    constexpr double seconds_between_redraws = 0.1;
    // A line every five seconds at first; once a minute when the run is an hour old.
    const double wait =
        options_.live ? seconds_between_redraws : std::clamp((now - started_) / 60, 5.0, 60.0);
    return now - last_shown_ >= wait;
  }

  ConsoleOptions options_;
  const Clock& clock_;
  Terminal terminal_;
  ProgressReport report_;
  ValidationTable table_;
  WorkReport work_;
  double started_;
  double last_shown_ = 0;
};

}  // namespace

std::unique_ptr<Tracker> make_console(const ConsoleOptions& options, const Clock& clock) {
  return std::make_unique<Console>(options, clock);
}

}  // namespace larmor
