#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "larmor/track/background.h"
#include "larmor/track/tracker.h"

namespace larmor {
namespace {

class SilentTracker final : public Tracker {
 public:
  void event(const Moment&, std::string_view, const Values&, std::string_view) override {}
  void picture(const Moment&, std::string_view, const Picture&) override {}
  void flush() override {}
};

class FanOut final : public Tracker {
 public:
  explicit FanOut(std::vector<std::unique_ptr<Tracker>> sinks) : sinks_(std::move(sinks)) {}

  void start(const Moment& moment, const RunFacts& run) override {
    const std::scoped_lock lock(mutex_);
    for (const auto& sink : sinks_) sink->start(moment, run);
    pass_on_complaints(moment);
  }
  void event(const Moment& moment, std::string_view kind, const Values& values,
             std::string_view words) override {
    const std::scoped_lock lock(mutex_);
    for (const auto& sink : sinks_) sink->event(moment, kind, values, words);
    pass_on_complaints(moment);
  }
  void picture(const Moment& moment, std::string_view name, const Picture& picture) override {
    const std::scoped_lock lock(mutex_);
    for (const auto& sink : sinks_) sink->picture(moment, name, picture);
    pass_on_complaints(moment);
  }
  void progress(const WorkProgress& progress) override {
    const std::scoped_lock lock(mutex_);
    for (const auto& sink : sinks_) sink->progress(progress);
  }
  void flush() override {
    const std::scoped_lock lock(mutex_);
    for (const auto& sink : sinks_) sink->flush();
  }

 private:
  // Requires: the lock.
  void pass_on_complaints(const Moment& moment) {
    for (const auto& complaining : sinks_) {
      const std::string complaint = complaining->take_complaint();
      if (complaint.empty()) continue;
      for (const auto& sink : sinks_) {
        if (sink != complaining) sink->event(moment, "warning", {}, complaint);
      }
    }
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Tracker>> sinks_;
};

}  // namespace

std::unique_ptr<Tracker> make_silent_tracker() { return std::make_unique<SilentTracker>(); }

std::unique_ptr<Tracker> make_fan_out(std::vector<std::unique_ptr<Tracker>> sinks) {
  return std::make_unique<FanOut>(std::move(sinks));
}

std::unique_ptr<Tracker> make_tracker(const TrackerOptions& options, Storage& storage, const Clock& clock) {
  std::vector<std::unique_ptr<Tracker>> sinks;
  sinks.push_back(make_background(options.events.filename().string(), clock, [&](const Clock& recorded) {
    return make_event_log(storage, recorded, options.events, options.generation);
  }));
  if (options.tensorboard) {
    sinks.push_back(make_background("TensorBoard's file", clock, [&](const Clock& recorded) {
      return make_tensorboard(storage, recorded, *options.tensorboard);
    }));
  }
  sinks.push_back(make_background("pictures", clock, [&](const Clock& recorded) {
    return make_curves(storage, recorded,
                       {.picture = options.curves, .events = options.events, .metric = options.metric},
                       make_picture_folder(storage, options.pictures));
  }));
  if (options.console) sinks.push_back(make_console(*options.console, clock));
  return make_fan_out(std::move(sinks));
}

}  // namespace larmor
