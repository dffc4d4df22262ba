#include "larmor/run/timetable.h"

#include <cmath>
#include <utility>

#include "larmor/base/error.h"

namespace larmor {

namespace {
double position(const Length& length, const Progress& progress, int64_t epoch_examples) {
  switch (length.unit) {
    case Length::Unit::steps:
      return static_cast<double>(progress.step);
    case Length::Unit::epochs:
      return static_cast<double>(progress.examples) / static_cast<double>(epoch_examples);
    case Length::Unit::seconds:
      return progress.elapsed_seconds;
  }
  return 0;
}
}  // namespace

Timetable::Timetable(const TrainConfig& train, int64_t epoch_examples, int64_t global_batch)
    : length_(train.length),
      validate_every_(train.validate_every),
      epoch_examples_(epoch_examples),
      global_batch_(global_batch) {
  if (length_.unit != Length::Unit::seconds) total_steps_ = in_steps(length_);
}

int64_t Timetable::in_steps(const Length& length) const {
  if (length.unit == Length::Unit::steps) return static_cast<int64_t>(std::ceil(length.amount));
  const double examples = length.amount * static_cast<double>(epoch_examples_);
  return static_cast<int64_t>(std::ceil(examples / static_cast<double>(global_batch_)));
}

double Timetable::epoch(const Progress& progress) const {
  return static_cast<double>(progress.examples) / static_cast<double>(epoch_examples_);
}

int64_t Timetable::whole_epochs(const Progress& progress) const {
  return progress.examples / epoch_examples_;
}

Moment Timetable::moment(const Progress& progress) const {
  return {.step = progress.step,
          .epoch = epoch(progress),
          .examples = progress.examples,
          .elapsed_seconds = progress.elapsed_seconds};
}

bool Timetable::due(const Length& interval, const Progress& before, const Progress& after) const {
  if (interval.amount <= 0) return false;
  const auto passed = [&](const Progress& progress) {
    return std::floor(position(interval, progress, epoch_examples_) / interval.amount);
  };
  return passed(after) > passed(before);
}

bool Timetable::finished(const Progress& progress) const {
  if (length_.unit == Length::Unit::seconds) return progress.elapsed_seconds >= length_.amount;
  return progress.step >= total_steps_;
}

ScheduleSteps Timetable::schedule_steps(const ScheduleConfig& schedule) const {
  const int64_t total = schedule.steps > 0 ? schedule.steps : total_steps_;
  require(schedule.warmup.unit != Length::Unit::seconds, Exit::usage,
          "optim.schedule.warmup cannot be a time", "give it in epochs (5ep) or steps (500st)");
  std::vector<int64_t> milestones;
  for (const std::string& milestone : schedule.milestones)
    milestones.push_back(in_steps(parse_length(milestone)));
  return {.total = total, .warmup = in_steps(schedule.warmup), .milestones = std::move(milestones)};
}

double Timetable::share(const Progress& progress) const {
  return length_.unit == Length::Unit::seconds ? progress.elapsed_seconds / length_.amount : 0;
}

double Timetable::part_over(const Progress& progress) const {
  if (total_steps_ == 0) return share(progress);
  return static_cast<double>(progress.step) / static_cast<double>(total_steps_);
}

bool Timetable::needs_time(const CheckpointConfig& checkpoint, const TrackConfig& track) const {
  for (const auto& length : {length_, validate_every_, checkpoint.every, track.pictures_every}) {
    if (length.unit == Length::Unit::seconds && length.amount > 0) return true;
  }
  return false;
}

}  // namespace larmor
