#include "larmor/track/progress.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "larmor/base/text.h"

namespace larmor {
namespace {

constexpr std::string_view between_fields = "  ";
constexpr std::string_view losses = "train/";

std::optional<double> find(const Values& values, const std::string& name) {
  const auto found = values.find(name);
  if (found == values.end()) return std::nullopt;
  return found->second;
}

std::string in_one_line(const std::vector<ProgressField>& fields) {
  std::string line;
  for (const ProgressField& field : fields) line += text(line.empty() ? "" : between_fields, field.words);
  return line;
}

/// "[=====>    ] ".
std::string bar(double fraction, size_t cells) {
  const auto done = static_cast<size_t>(fraction * static_cast<double>(cells));
  std::string inside(done, '=');
  if (done < cells) inside += '>';
  inside.resize(cells, ' ');
  return text("[", inside, "] ");
}

}  // namespace

std::string short_number(double value) {
  std::array<char, 32> digits;
  const auto [end, problem] =
      std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::general, 4);
  return problem == std::errc() ? std::string(digits.data(), end) : "?";
}

void ProgressReport::add_step(const Moment& moment, const Values& values, double now) {
  if (first_step_ < 0) {
    first_step_ = moment.step;
    first_time_ = now;
  }
  moment_ = moment;
  values_ = values;
  last_time_ = now;
  add_speed(values);
}

void ProgressReport::add_speed(const Values& values) {
  const auto milliseconds = find(values, "perf/step_ms");
  if (!milliseconds || !(*milliseconds > 0)) return;
  constexpr double memory_seconds = 10;
  const double seconds = *milliseconds / 1000;
  const double kept = std::exp(-seconds / memory_seconds);
  seconds_ = seconds_ * kept + seconds;
  steps_ = steps_ * kept + 1;
  examples_ = examples_ * kept + find(values, "perf/samples_per_second").value_or(0) * seconds;
  wait_seconds_ = wait_seconds_ * kept + find(values, "perf/data_wait").value_or(0) * seconds;
}

std::optional<double> ProgressReport::fraction() const {
  if (total_steps_ <= 0 && total_seconds_ > 0)
    return std::clamp(moment_.elapsed_seconds / total_seconds_, 0.0, 1.0);
  if (total_steps_ <= 0) return std::nullopt;
  return std::clamp(static_cast<double>(moment_.step) / static_cast<double>(total_steps_), 0.0, 1.0);
}

std::vector<ProgressField> ProgressReport::fields() const {
  std::vector<ProgressField> out;
  if (const auto part = fraction()) {
    // Rounded down: 100 % means done.
    const std::string percent = fixed(std::floor(*part * 100), 0);
    const std::string of_all = total_steps_ > 0 ? text("/", total_steps_) : "";
    out.push_back({text("step ", moment_.step, of_all, " (", percent, " %)"), 0});
  } else {
    out.push_back({text("step ", moment_.step), 0});
  }
  out.push_back({text("epoch ", fixed(moment_.epoch, 2)), 5});
  append_losses(out);
  append_optimizer(out);
  append_speed(out);
  append_time_left(out);
  return out;
}

void ProgressReport::append_losses(std::vector<ProgressField>& out) const {
  if (const auto loss = find(values_, "train/loss")) out.push_back({text("loss ", short_number(*loss)), 1});
  for (const auto& [name, value] : values_) {
    if (!name.starts_with(losses) || name == "train/loss") continue;
    out.push_back({text(name.substr(losses.size()), " ", short_number(value)), 6});
  }
}

void ProgressReport::append_optimizer(std::vector<ProgressField>& out) const {
  if (const auto rate = find(values_, "optim/learning_rate"))
    out.push_back({text("lr ", short_number(*rate)), 8});
  if (const auto norm = find(values_, "optim/grad_norm"))
    out.push_back({text("grad ", short_number(*norm)), 9});
  if (const auto scale = find(values_, "optim/loss_scale"))
    out.push_back({text("scale ", fixed(*scale, 0)), 10});
}

void ProgressReport::append_speed(std::vector<ProgressField>& out) const {
  if (seconds_ > 0) {
    if (examples_ > 0) out.push_back({text(short_number(examples_ / seconds_), " examples/s"), 3});
    out.push_back({text(human_seconds(seconds_ / steps_), "/step"), 11});
    out.push_back({text("data wait ", fixed(100 * wait_seconds_ / seconds_, 0), " %"), 4});
  }
  if (const auto memory = find(values_, "mem/peak_gib")) out.push_back({text(fixed(*memory, 2), " GiB"), 7});
}

void ProgressReport::append_time_left(std::vector<ProgressField>& out) const {
  if (total_steps_ <= 0 && total_seconds_ > moment_.elapsed_seconds)
    out.push_back({text("ETA ", human_seconds(total_seconds_ - moment_.elapsed_seconds)), 2});
  const int64_t steps = moment_.step - first_step_;
  const int64_t left = total_steps_ - moment_.step;
  if (steps <= 0 || left <= 0) return;
  const double seconds = (last_time_ - first_time_) / static_cast<double>(steps) * static_cast<double>(left);
  out.push_back({text("ETA ", human_seconds(seconds)), 2});
}

std::string progress_line(const ProgressReport& report, int width) {
  std::vector<ProgressField> fields = report.fields();
  std::string line = in_one_line(fields);
  const auto room = static_cast<size_t>(std::max(width, 1));
  while (line.size() > room) {
    // Of equals the last gives way first.
    const auto weakest = std::max_element(
        fields.rbegin(), fields.rend(),
        [](const ProgressField& a, const ProgressField& b) { return a.gives_way < b.gives_way; });
    if (weakest->gives_way == 0) return line.substr(0, room);
    fields.erase(std::prev(weakest.base()));
    line = in_one_line(fields);
  }
  constexpr size_t least_cells = 8, most_cells = 30, frame = 3;
  const auto part = report.fraction();
  if (!part || room < line.size() + frame + least_cells) return line;
  return bar(*part, std::min(most_cells, room - line.size() - frame)) + line;
}

}  // namespace larmor
