#include "larmor/sync/log_reader.h"

#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {

/// Throws Json::exception where the line is none of the log's.
SentEvent event_of(const std::string& line, uint64_t place) {
  const auto json = Json::parse(line);
  SentEvent event{.place = place,
                  .time = json.at("t").get<double>(),
                  .generation = json.value("generation", int64_t{0}),
                  .step = json.at("step").get<int64_t>(),
                  .epoch = json.value("epoch", 0.0),
                  .kind = json.at("kind").get<std::string>(),
                  .words = json.value("text", "")};
  const auto values = json.find("values");
  if (values == json.end()) return event;
  for (const auto& [name, value] : values->items()) {
    if (value.is_number() || value.is_null())
      event.values.emplace_back(name, value.is_null() ? std::nullopt : std::optional(value.get<double>()));
  }
  return event;
}

}  // namespace

std::vector<SentEvent> LogReader::read(size_t most) {
  std::vector<SentEvent> events;
  std::error_code absent;
  const auto size = std::filesystem::file_size(file_, absent);
  if (absent || size == place_) return events;
  if (size < place_) place_ = 0;
  std::ifstream stream(file_, std::ios::binary);
  if (!stream.seekg(static_cast<std::streamoff>(place_)))
    fail(Exit::environment, text("cannot read ", file_.string()), "make the run folder readable");
  // At the end of a line that is not whole, getline stops at the end of the file.
  for (std::string line; events.size() < most && std::getline(stream, line) && !stream.eof();) {
    try {
      auto event = event_of(line, place_);
      if (!event.values.empty() || !event.words.empty()) events.push_back(std::move(event));
    } catch (const Json::exception&) {
      if (!line.empty()) ++unread_lines_;
    }
    place_ += line.size() + 1;
  }
  return events;
}

}  // namespace larmor
