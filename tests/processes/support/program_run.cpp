#include "tests/processes/support/program_run.h"

#include <chrono>
#include <cstdlib>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include "larmor/base/error.h"

namespace larmor::testing {

namespace fs = std::filesystem;

namespace {

std::string environment_value(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr)
    fail(Exit::environment, std::string(name) + " is not set", "run the tests through ctest");
  return value;
}

class OutputFile {
 public:
  explicit OutputFile(const fs::path& path)
      : descriptor_(open(path.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600)) {}
  ~OutputFile() { close(descriptor_); }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

// A shell changes the folder: Process has no need of that otherwise.
Process start(const fs::path& outputs, std::vector<std::string> arguments, const ProgramOptions& options) {
  const OutputFile out(outputs / "out"), err(outputs / "err");
  const auto program =
      options.program.empty() ? fs::path(environment_value("LARMOR_PROGRAM")) : options.program;
  ProcessOptions process;
  process.program = "/bin/sh";
  process.arguments = {"-c", R"(cd "$0" && )" + options.before + R"( && exec "$@")",
                       (options.folder.empty() ? fs::current_path() : options.folder).string(),
                       program.string()};
  process.arguments.insert(process.arguments.end(), arguments.begin(), arguments.end());
  process.environment = options.environment;
  // Nothing is left in the cache folder of whoever runs the tests.
  process.environment.emplace("XDG_CACHE_HOME", (outputs / "cache").string());
  process.standard_out = options.standard_out.value_or(out.descriptor());
  process.standard_error = err.descriptor();
  return Process::start(process);
}

}  // namespace

Json Finished::json() const { return parse_json(out, "the program's output"); }

std::string Finished::run_folder() const {
  const std::string prefix = "run: ";
  std::istringstream lines(out);
  std::string folder;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(prefix)) folder = line.substr(prefix.size());
  }
  return folder;
}

Running::Running(std::vector<std::string> arguments, const ProgramOptions& options)
    : process_(start(scratch_.path(), std::move(arguments), options)) {}

Finished Running::wait() {
  const auto ending = process_.wait();
  constexpr int shells_offset = 128;
  return {.status = ending.signal != 0 ? shells_offset + ending.signal : ending.status,
          .out = out(),
          .err = err()};
}

bool Running::ends_within(double seconds) {
  return becomes_true([this] { return process_.poll().has_value(); }, seconds);
}

Finished larmor_program(std::vector<std::string> arguments, const ProgramOptions& options) {
  return Running(std::move(arguments), options).wait();
}

bool becomes_true(const std::function<bool()>& condition, double seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr auto pause = std::chrono::milliseconds(2);
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (!condition()) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(pause);
  }
  return true;
}

std::vector<Json> events_of(const fs::path& run, const std::string& kind) {
  const auto file = run / "events.jsonl";
  std::vector<Json> events;
  if (!fs::exists(file)) return events;
  auto content = read_text(file);
  content.resize(content.rfind('\n') + 1);  // npos + 1 is 0
  std::istringstream lines(content);
  for (std::string line; std::getline(lines, line);) {
    if (!Json::accept(line)) continue;
    auto event = parse_json(line, file.string());
    if (kind.empty() || event.at("kind") == kind) events.push_back(std::move(event));
  }
  return events;
}

}  // namespace larmor::testing
