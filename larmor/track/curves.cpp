// curves.png: the losses of a run and the figure by which its checkpoints are kept, over its steps.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "larmor/base/clock.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/image.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/draw/chart.h"
#include "larmor/track/sink_guard.h"
#include "larmor/track/thinned_curve.h"
#include "larmor/track/tracker.h"

namespace larmor {
namespace {

constexpr const char* training_loss = "train/loss";
constexpr const char* validation_loss = "val/loss";

ChartSeries series_of(const ThinnedCurve& curve, std::string name, ChartSeries::Mark mark) {
  ChartSeries series{.name = std::move(name), .mark = mark};
  for (const auto& [step, value] : curve.points()) {
    series.x.push_back(step);
    series.y.push_back(value);
  }
  return series;
}

/// The values of a run that are drawn.
class RunCurves {
 public:
  explicit RunCurves(std::string metric) : metric_(std::move(metric)) {}

  void add(std::string_view kind, double step, const Values& values) {
    last_step_ = step;
    if (kind == "step") add(losses_, step, values, training_loss);
    if (kind != "validation") return;
    add(judged_losses_, step, values, validation_loss);
    add(metrics_, step, values, metric_);
  }

  bool is_empty() const { return losses_.is_empty() && metrics_.is_empty(); }

  Image drawn(const std::string& run) const {
    constexpr auto dots = ChartSeries::Mark::dot;
    const ChartAxis steps{.title = "step", .low = 0, .high = std::max(1.0, last_step_)};
    Chart chart{.title = run, .x = steps, .y = {.title = "loss"}};
    chart.series.push_back(series_of(losses_, training_loss, ChartSeries::Mark::none));
    if (!judged_losses_.is_empty()) chart.series.push_back(series_of(judged_losses_, validation_loss, dots));
    const bool has_metric = metric_ != validation_loss && metric_ != training_loss && !metrics_.is_empty();
    if (!has_metric) return draw_chart(chart);
    Chart metric{.x = steps, .y = {.title = metric_}};
    metric.series.push_back(series_of(metrics_, metric_, dots));
    metric.series.front().colour = 2;
    return stacked({draw_chart(chart), draw_chart(metric)}, /*gap=*/0);
  }

 private:
  static void add(ThinnedCurve& curve, double step, const Values& values, const std::string& name) {
    const auto found = values.find(name);
    if (found != values.end() && std::isfinite(found->second)) curve.add(step, found->second);
  }

  std::string metric_;
  double last_step_ = 0;
  ThinnedCurve losses_, judged_losses_, metrics_;
};

class CurvePicture final : public Tracker {
 public:
  CurvePicture(Storage& storage, const Clock& clock, const CurveOptions& options,
               std::unique_ptr<Tracker> others)
      : storage_(storage),
        clock_(clock),
        options_(options),
        others_(others ? std::move(others) : make_silent_tracker()),
        curves_(options.metric),
        guard_("curves.png") {
    std::error_code none;
    const auto size = std::filesystem::file_size(options_.events, none);
    // What this start writes into the same file comes as events.
    if (!none) bytes_before_ = size;
  }

  void start(const Moment& moment, const RunFacts& run) override {
    run_ = run.name;
    others_->start(moment, run);
  }

  void event(const Moment& moment, std::string_view kind, const Values& values,
             std::string_view words) override {
    others_->event(moment, kind, values, words);
    read_earlier(static_cast<double>(moment.step));
    curves_.add(kind, static_cast<double>(moment.step), values);
    // A validation may take less than the picture of it.
    constexpr double seconds_between = 10;
    const bool is_due = !drawn_at_ || clock_.steady_seconds() - *drawn_at_ >= seconds_between;
    if (kind == "end" || (kind == "validation" && is_due)) draw();
  }

  void picture(const Moment& moment, std::string_view name, const Picture& picture) override {
    others_->picture(moment, name, picture);
  }
  void flush() override { others_->flush(); }
  std::string take_complaint() override {
    std::string complaint = guard_.take_complaint();
    return complaint.empty() ? others_->take_complaint() : complaint;
  }

 private:
  void draw() {
    drawn_at_ = clock_.steady_seconds();
    if (curves_.is_empty()) return;
    guard_.attempt([&] { write_png(storage_, options_.picture, curves_.drawn(run_)); });
  }

  /// The steps of earlier starts, up to the one that this start goes on from.
  void read_earlier(double first_step) {
    const auto bytes = std::exchange(bytes_before_, 0);
    if (bytes == 0) return;
    std::ifstream file(options_.events, std::ios::binary);
    std::uintmax_t read = 0;
    for (std::string line; read < bytes && std::getline(file, line); read += line.size() + 1) {
      const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
      if (!json.is_object() || !json.contains("values") || !json["values"].is_object()) continue;
      const auto kind = json.value("kind", Json()), step = json.value("step", Json());
      if (!kind.is_string() || !step.is_number() || step.get<double>() >= first_step) continue;
      Values values;
      for (const auto& [name, value] : json["values"].items())
        if (value.is_number()) values[name] = value.get<double>();
      curves_.add(kind.get<std::string>(), step.get<double>(), values);
    }
  }

  Storage& storage_;
  const Clock& clock_;
  const CurveOptions options_;
  std::unique_ptr<Tracker> others_;
  RunCurves curves_;
  SinkGuard guard_;
  std::string run_;
  std::uintmax_t bytes_before_ = 0;
  std::optional<double> drawn_at_;
};

}  // namespace

std::unique_ptr<Tracker> make_curves(Storage& storage, const Clock& clock, const CurveOptions& options,
                                     std::unique_ptr<Tracker> others) {
  return std::make_unique<CurvePicture>(storage, clock, options, std::move(others));
}

}  // namespace larmor
