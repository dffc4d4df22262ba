#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "larmor/base/clock.h"
#include "larmor/base/text.h"
#include "larmor/track/progress.h"
#include "larmor/track/terminal.h"
#include "larmor/track/tracker.h"

namespace larmor {
namespace {

/// "step 100 (epoch 2.00)".
std::string place(const Moment& moment) {
  return text("step ", moment.step, " (epoch ", fixed(moment.epoch, 2), ")");
}

/// "psnr 31.2  ssim 0.91". Beside the values of one kind their common first word says nothing.
std::string list(const Values& values, std::string_view first_word) {
  std::string out;
  for (const auto& [name, value] : values) {
    if (name.find('@') != std::string::npos) continue;  // parts of a figure: for the log and TensorBoard
    const std::string_view shown =
        name.starts_with(first_word) ? std::string_view(name).substr(first_word.size()) : name;
    out += text(out.empty() ? "" : "  ", shown, " ", short_number(value));
  }
  return out;
}

std::string describe_validation(const Moment& moment, const Values& values) {
  return text("validation after ", place(moment), ": ", list(values, "val/"));
}

std::string describe_checkpoint(const Moment& moment, const Values& values, std::string_view words) {
  std::string out = text("checkpoint of step ", moment.step, " saved");
  if (const auto seconds = values.find("perf/save_seconds"); seconds != values.end()) {
    out += text(" in ", human_seconds(seconds->second));
  }
  return words.empty() ? out : text(out, ", ", words);
}

std::string describe_end(const Moment& moment, const Values& values, std::string_view words) {
  std::string out = text("ended after ", place(moment));
  if (const auto seconds = values.find("end/seconds"); seconds != values.end()) {
    out += text(" in ", human_seconds(seconds->second));
  }
  if (!words.empty()) out += text(": ", words);
  const auto value = values.find("best/value"), step = values.find("best/step");
  if (value != values.end() && step != values.end()) {
    out += text("; best ", short_number(value->second), " at step ", fixed(step->second, 0));
  }
  return out;
}

std::string describe_other(const Moment& moment, std::string_view kind, const Values& values,
                           std::string_view words) {
  std::string out(kind);
  if (moment.step > 0) out += text(" at ", place(moment));
  if (!words.empty()) out += text(": ", words);
  return values.empty() ? out : text(out, words.empty() ? ": " : "  ", list(values, ""));
}

class Console final : public Tracker {
 public:
  Console(const ConsoleOptions& options, const Clock& clock)
      : options_(options),
        clock_(clock),
        terminal_(options.descriptor, options.color),
        report_(options.total_steps),
        started_(clock.steady_seconds()) {}

  void event(const Moment& moment, std::string_view kind, const Values& values,
             std::string_view words) override {
    if (kind == "warning") return terminal_.line(text("warning: ", words), Tone::warning);
    if (kind == "error") return terminal_.line(text("error: ", words), Tone::error);
    if (options_.quiet) return;
    if (kind == "step") return step(moment, values);
    if (kind == "validation") return terminal_.line(describe_validation(moment, values), Tone::good);
    if (kind == "checkpoint") return terminal_.line(describe_checkpoint(moment, values, words));
    if (kind == "end") return terminal_.line(describe_end(moment, values, words));
    terminal_.line(describe_other(moment, kind, values, words));
  }

  void picture(const Moment&, std::string_view, const Image&) override {}

  void flush() override {}

 private:
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
  double started_;
  double last_shown_ = 0;
};

}  // namespace

std::unique_ptr<Tracker> make_console(const ConsoleOptions& options, const Clock& clock) {
  return std::make_unique<Console>(options, clock);
}

}  // namespace larmor
