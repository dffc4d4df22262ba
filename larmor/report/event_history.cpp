#include "larmor/report/event_history.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <system_error>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {

constexpr std::size_t most_happenings = 400;

double value_or_zero(const Json& values, const char* name) {
  const auto found = values.find(name);
  return found != values.end() && found->is_number() ? found->get<double>() : 0;
}

class HistoryReader {
 public:
  /// Throws Json::exception where the line is none of the log's.
  void read(const std::string& line) {
    const auto event = Json::parse(line);
    const auto kind = event.at("kind").get<std::string>();
    const Happening happening{.time = event.at("t").get<double>(),
                              .generation = event.at("generation").get<int64_t>(),
                              .step = event.at("step").get<int64_t>(),
                              .kind = kind,
                              .words = event.value("text", "")};
    const auto values = event.value("values", Json::object());
    if (kind == "start") note_start(happening, event.value("facts", Json::object()));
    note_time(happening, values);
    add_to_curves(happening, values);
    if (kind != "step" && kind != "validation") keep(happening);
    if (!history_.began) history_.began = happening.time;
    history_.ended = last_time_ = happening.time;
    history_.last_step = happening.step;
  }

  void skip_line() { ++history_.unread_lines; }

  EventHistory take() {
    auto& kept = history_.happenings;
    kept.insert(kept.end(), latest_.begin(), latest_.end());
    return std::move(history_);
  }

 private:
  void note_start(const Happening& happening, const Json& facts) {
    history_.facts = facts;
    if (history_.starts++ > 0) history_.time.standing += std::max(0.0, happening.time - last_time_);
    last_time_ = happening.time;
    has_steps_ = false;
  }

  /// A line is written when what it tells of has ended.
  void note_time(const Happening& happening, const Json& values) {
    auto& time = history_.time;
    const double passed = std::max(0.0, happening.time - last_time_);
    if (happening.kind == "validation") time.validating += passed;
    time.saving += value_or_zero(values, "perf/save_stall_seconds");
    if (happening.kind != "step") return;
    const double seconds = value_or_zero(values, "perf/step_ms") / 1e3;
    const double waiting = seconds * std::clamp(value_or_zero(values, "perf/data_wait"), 0.0, 1.0);
    time.waiting_for_data += waiting;
    time.computing += seconds - waiting;
    if (!std::exchange(has_steps_, true)) time.starting += std::max(0.0, passed - seconds);
  }

  void add_to_curves(const Happening& happening, const Json& values) {
    if (happening.kind != "step" && happening.kind != "validation") return;
    for (const auto& [name, value] : values.items()) {
      if (value.is_number()) history_.curves[name].add(static_cast<double>(happening.step), value);
    }
  }

  void keep(const Happening& happening) {
    if (history_.happenings.size() < most_happenings / 2) {
      history_.happenings.push_back(happening);
      return;
    }
    latest_.push_back(happening);
    if (latest_.size() <= most_happenings / 2) return;
    latest_.erase(latest_.begin());
    ++history_.happenings_left_out;
  }

  EventHistory history_;
  std::vector<Happening> latest_;
  double last_time_ = 0;
  bool has_steps_ = false;
};

}  // namespace

EventHistory read_events(const std::filesystem::path& file) {
  std::error_code unknown;
  if (!std::filesystem::exists(file, unknown)) return {};
  std::ifstream stream(file, std::ios::binary);
  if (!stream) fail(Exit::environment, text("cannot read ", file.string()), "make the run folder readable");
  HistoryReader reader;
  std::string line;
  while (std::getline(stream, line)) {
    try {
      reader.read(line);
    } catch (const Json::exception&) {
      reader.skip_line();
    }
  }
  return reader.take();
}

}  // namespace larmor
