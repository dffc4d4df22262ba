#include "larmor/base/log.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "larmor/base/error.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/printable.h"
#include "larmor/base/text.h"

namespace larmor::log {
namespace {

constexpr const char* console_pattern = "%v";
constexpr const char* file_pattern = "%Y-%m-%dT%H:%M:%S.%eZ %v";

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warning:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

std::string_view name_of(Level level) {
  switch (level) {
    case Level::debug:
      return "debug";
    case Level::info:
      return "info";
    case Level::warning:
      return "warning";
    case Level::error:
      return "error";
  }
  return "info";
}

// Where the lines of this process go. A log is the one thing that a whole process shares by its nature.
struct Destination {
  std::string who;
  std::shared_ptr<spdlog::logger> file;  // null: stderr alone
  std::shared_ptr<spdlog::logger> console;
};

thread_local std::string name_of_thread;

std::shared_ptr<spdlog::logger> make_console() {
  auto console =
      std::make_shared<spdlog::logger>("console", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  console->set_pattern(console_pattern);
  console->set_level(spdlog::level::info);
  console->flush_on(spdlog::level::trace);
  // Nobody is left to tell when stderr itself is gone.
  console->set_error_handler([](const std::string&) {});
  return console;
}

std::shared_ptr<spdlog::logger> make_file(const std::filesystem::path& path,
                                          const std::shared_ptr<spdlog::logger>& console) {
  // Makes the file with our mode, and fails with our words when it cannot be made.
  DiskStorage().append(path)->close();
  std::shared_ptr<spdlog::logger> file;
  try {
    file = std::make_shared<spdlog::logger>(
        "file", std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string()));
  } catch (const spdlog::spdlog_ex& error) {
    fail(Exit::environment, text("cannot open the log ", path.string(), ": ", error.what()),
         "check the folder's permissions and free space");
  }
  file->set_pattern(file_pattern, spdlog::pattern_time_type::utc);
  file->set_level(spdlog::level::debug);
  // A process that is killed leaves its last lines all the same.
  file->flush_on(spdlog::level::info);
  // A full disk must not end a training run: it is said once, and the console goes on.
  file->set_error_handler(
      [console, said = std::make_shared<std::atomic<bool>>(false)](const std::string& what) {
        if (!said->exchange(true)) console->warn("warning: the log file cannot be written: " + what);
      });
  return file;
}

std::mutex& guard() {
  static std::mutex mutex;
  return mutex;
}

Destination& destination() {
  static Destination destination{.who = {}, .file = nullptr, .console = make_console()};
  return destination;
}

Destination current() {
  const std::lock_guard lock(guard());
  return destination();
}

}  // namespace

void open(std::string_view who, const std::filesystem::path& file, Level console) {
  const std::lock_guard lock(guard());
  Destination& now = destination();
  std::shared_ptr<spdlog::logger> opened = file.empty() ? nullptr : make_file(file, now.console);
  now.who = who;
  now.file = std::move(opened);
  now.console->set_level(to_spdlog(console));
}

void name_thread(std::string_view who) { name_of_thread = who; }

void set_console(Level least) { current().console->set_level(to_spdlog(least)); }

void write(Level level, std::string_view message) {
  const Destination now = current();
  const spdlog::level::level_enum rank = to_spdlog(level);
  const std::string& name = name_of_thread.empty() ? now.who : name_of_thread;
  const std::string who = name.empty() ? "" : text('[', name, "] ");
  const std::string shown = bounded(message);
  if (now.file) now.file->log(rank, spdlog::string_view_t(text(who, name_of(level), ": ", shown)));
  if (!now.console->should_log(rank)) return;
  // What is merely told needs no word for its level on a screen.
  const std::string word = level == Level::info ? "" : text(name_of(level), ": ");
  now.console->log(rank, spdlog::string_view_t(text(who, word, shown)));
}

void flush() {
  const Destination now = current();
  if (now.file) now.file->flush();
  now.console->flush();
}

}  // namespace larmor::log
