#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/track/sink_guard.h"
#include "larmor/track/tracker.h"

namespace larmor {
namespace {

/// Whether the file ends in the middle of a line: its writer was killed, or the disk was full.
bool is_torn(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream.seekg(-1, std::ios::end)) return false;
  return stream.get() != '\n';
}

class EventLog final : public Tracker {
 public:
  EventLog(Storage& storage, const Clock& clock, std::filesystem::path path, int64_t generation)
      : storage_(storage),
        clock_(clock),
        path_(std::move(path)),
        generation_(generation),
        guard_(path_.filename().string()) {
    open();
  }

  void start(const Moment& moment, const RunFacts& run) override {
    Json line = line_of(moment, "start", {}, run.name);
    line["facts"] = run.facts;
    write(line);
  }

  void event(const Moment& moment, std::string_view kind, const Values& values,
             std::string_view words) override {
    write(line_of(moment, kind, values, words));
  }

  void picture(const Moment&, std::string_view, const Picture&) override {}

  void flush() override {
    if (file_ && !guard_.attempt([&] { file_->sync(); })) file_.reset();
  }

  std::string take_complaint() override { return guard_.take_complaint(); }

 private:
  Json line_of(const Moment& moment, std::string_view kind, const Values& values,
               std::string_view words) const {
    Json line{{"t", clock_.wall_seconds()}, {"generation", generation_},   {"step", moment.step},
              {"epoch", moment.epoch},      {"examples", moment.examples}, {"kind", kind}};
    line["values"] = Json::object();
    for (const auto& [name, value] : values) line["values"][name] = value;
    if (!words.empty()) line["text"] = words;
    return line;
  }

  void write(const Json& line) {
    const bool written = guard_.attempt([&] {
      if (!file_) open();
      file_->write(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
    });
    // How much of the line reached the disk is unknown; the next one opens the file anew and looks.
    if (!written) file_.reset();
  }

  void open() {
    const bool torn = is_torn(path_);
    file_ = storage_.append(path_);
    if (torn) file_->write("\n");
  }

  Storage& storage_;
  const Clock& clock_;
  std::filesystem::path path_;
  int64_t generation_;
  SinkGuard guard_;
  std::unique_ptr<StorageFile> file_;
};

/// The generation of one line; -1 when the line is not whole.
int64_t generation_of(std::string_view line) {
  constexpr std::string_view key = "\"generation\":";
  // Inside a text the quotes would be escaped, so the first match is the key itself.
  const size_t found = line.find(key);
  if (found == std::string_view::npos || !line.ends_with('}')) return -1;
  line.remove_prefix(found + key.size());
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  int64_t generation = -1;
  std::from_chars(line.data(), line.data() + line.size(), generation);
  return generation;
}

}  // namespace

std::unique_ptr<Tracker> make_event_log(Storage& storage, const Clock& clock,
                                        const std::filesystem::path& file, int64_t generation) {
  return std::make_unique<EventLog>(storage, clock, file, generation);
}

int64_t next_generation(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    fail(Exit::environment, text("cannot read ", file.string()),
         "make the run folder readable, or start a new run");
  }
  int64_t largest = -1;
  std::string line;
  // The last line of a killed writer has no end: getline then stops at the end of the file instead.
  while (std::getline(stream, line) && !stream.eof()) largest = std::max(largest, generation_of(line));
  return largest + 1;
}

}  // namespace larmor
