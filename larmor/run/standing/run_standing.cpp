#include "larmor/run/standing/run_standing.h"

#include <algorithm>
#include <exception>
#include <fstream>
#include <ranges>
#include <set>
#include <system_error>
#include <vector>

#include "larmor/base/files/fenced_storage.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/lock_holder.h"
#include "larmor/base/json.h"
#include "larmor/base/process/process.h"
#include "larmor/base/text.h"
#include "larmor/run/run_list.h"
#include "larmor/run/standing/start_heartbeat.h"

namespace larmor {

namespace fs = std::filesystem;

namespace {

/// What the log says of its last start.
struct EndOfLog {
  int64_t generation = -1;
  bool has_ended = false;
  std::optional<int64_t> step;
  std::optional<double> written;
};

/// Whole lines, the first of them aside where the file begins before it.
std::vector<std::string> last_lines(const fs::path& path) {
  constexpr int64_t most_bytes = 256 * 1024;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const auto size = static_cast<int64_t>(file.tellg());
  const auto begin = std::max<int64_t>(0, size - most_bytes);
  std::string bytes(static_cast<size_t>(std::max<int64_t>(0, size - begin)), '\0');
  file.seekg(begin);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(std::max<std::streamsize>(0, file.gcount())));
  auto lines = split(bytes, '\n');
  if (begin > 0 && !lines.empty()) lines.erase(lines.begin());
  return lines;
}

EndOfLog end_of_log(const fs::path& file) {
  static const std::set<std::string> with_steps{"start", "step", "validation", "end"};
  EndOfLog end;
  for (const auto& line : std::views::reverse(last_lines(file))) {
    try {
      const auto event = Json::parse(line);
      const auto generation = event.at("generation").get<int64_t>();
      if (end.generation >= 0 && generation != end.generation) break;
      end.generation = generation;
      if (!end.written) end.written = event.at("t").get<double>();
      const auto kind = event.at("kind").get<std::string>();
      end.has_ended = end.has_ended || kind == "end";
      if (!with_steps.contains(kind)) continue;
      end.step = event.at("step").get<int64_t>();
      break;
    } catch (const Json::exception&) {
      continue;  // torn by a kill or a full disk
    }
  }
  return end;
}

/// Whether the last start of the run has told the log of its end. One that ended before its first event has
/// raised the fence.
bool has_told_its_end(const RunFolder& folder, const EndOfLog& log) {
  try {
    const auto fence = read_fence(folder.generation_file());
    return log.has_ended && (!fence || *fence <= log.generation);
  } catch (const std::exception&) {
    return log.has_ended;
  }
}

/// Of a start on another host: this one may not see its lock. "" where there is none that goes on.
std::string holder_elsewhere(const RunFolder& folder) {
  if (!has_heartbeat(folder)) return {};
  try {
    const std::string words(trim(read_text(folder.lock())));
    return words.ends_with(text(" on ", host_name())) ? "" : words;
  } catch (const std::exception&) {
    return {};
  }
}

std::string word_for_state(const RunFolder& folder, const RunStanding& standing, const EndOfLog& log) {
  std::error_code unknown;
  if (is_left_of_removal(folder)) return "removed in part";
  if (folder.is_done()) return "done";
  if (!standing.holder.empty()) return "training";
  if (fs::exists(folder.root / "FAILED", unknown)) return "failed";
  return has_told_its_end(folder, log) ? "stopped" : "interrupted";
}

}  // namespace

RunStanding standing_of(const RunFolder& folder) {
  const auto log = end_of_log(folder.events());
  RunStanding standing{
      .state = {}, .holder = {}, .job = {}, .step = log.step, .steps = {}, .last_logged = log.written};
  try {
    const auto environment = read_json(folder.environment());
    standing.job = environment.value("job", "");
    if (environment.contains("steps")) standing.steps = environment["steps"].get<int64_t>();
  } catch (const std::exception&) {
    standing.job.clear();
  }
  if (!folder.is_done() && !is_left_of_removal(folder)) {
    const auto holder = lock_holder(folder.lock());
    standing.holder = holder ? (holder->empty() ? "another process" : *holder) : holder_elsewhere(folder);
  }
  standing.state = word_for_state(folder, standing, log);
  return standing;
}

}  // namespace larmor
