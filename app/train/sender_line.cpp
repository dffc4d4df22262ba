#include "app/train/sender_line.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <poll.h>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/process/readiness.h"
#include "larmor/base/process/system_error.h"
#include "larmor/base/text.h"
#include "larmor/services/service.h"
#include "larmor/sync/sender.h"

namespace larmor::app {

namespace {

constexpr const char* line_variable = "LARMOR_SYNC_FD";
constexpr double seconds_of_first_words = 20, seconds_of_the_rest = 10;

bool wait_for_line(int descriptor, double seconds) {
  constexpr double milliseconds = 1e3;
  pollfd ready{.fd = descriptor, .events = POLLIN, .revents = 0};
  return wait_for_any({&ready, 1},
                      std::chrono::milliseconds(std::max<int64_t>(0, std::llround(seconds * milliseconds))));
}

std::filesystem::path log_file(const RunFolder& folder, const std::string& service) {
  return folder.logs() / text("sync-", service, ".log");
}

Descriptor log_of(const RunFolder& folder, const std::string& service) {
  const auto file = log_file(folder, service);
  std::filesystem::create_directories(folder.logs());
  Descriptor log(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.is_open()) fail_errno(errno, "write", file);
  return log;
}

std::string way_to_the_rest(const RunFolder& folder, const std::string& service) {
  return text("larmor sync ", folder.root.string(), " --to ", service, " sends the rest");
}

}  // namespace

SenderLine::SenderLine() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing sets variables
  const char* const value = std::getenv(line_variable);
  if (value == nullptr) return;
  const std::string_view words(value);
  int number = -1;
  std::from_chars(words.data(), words.data() + words.size(), number);
  if (number > 2 && ::fcntl(number, F_SETFD, FD_CLOEXEC) == 0) line_ = Descriptor(number);
}

bool SenderLine::is_held() const { return line_.is_open() && !wait_for_line(line_.number(), 0); }

void SenderLine::tell(const std::string& words) const {
  if (!line_.is_open()) return;
  const auto line = words + "\n";
  // A training that has ended does not read it.
  static_cast<void>(::send(line_.number(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
}

void check_services(const TrackConfig& config) {
  for (const TrackingService& service : services()) {
    const auto given = config.services.find(service.name);
    if (given == config.services.end()) continue;
    const auto settings = settings_of(service, given->second);
    if (service.is_on(settings)) service.check(settings);
  }
}

RunSenders::~RunSenders() {
  try {
    finish();
  } catch (const std::exception& error) {
    log::warning(error.what());
  }
}

void RunSenders::start(const RunFolder& folder) {
  folder_ = folder;
  for (const TrackingService& service : services()) {
    try {
      const auto settings = settings_of_run(folder, service, {});
      if (!service.is_on(settings)) continue;
      std::array<int, 2> ends{};
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        fail_errno(errno, "open", "a socket for a sender");
      Descriptor ours(ends[0]);
      const Descriptor its(ends[1]), log = log_of(folder, service.name),
                                     nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      ProcessOptions options{.program = own_program(),
                             .arguments = {"sync", folder.root.string(), "--to", service.name, "--follow"},
                             .environment = {{line_variable, text(its.number())}}};
      options.keep_open = {its.number()};
      options.standard_in = nothing.number();
      options.standard_out = options.standard_error = log.number();
      options.own_group = true;  // a Ctrl-C is for the training, whose last numbers are sent
      options.die_with_parent = false;
      senders_.push_back({service.name, service.title, Process::start(options), std::move(ours)});
    } catch (const Error& error) {
      log::warning(text(service.title, " is not told of the run: ", error.message()));
    }
  }
}

std::vector<std::string> RunSenders::first_words() {
  std::vector<std::string> all;
  const double end = system_clock().steady_seconds() + seconds_of_first_words;
  for (auto& sender : senders_) {
    std::array<char, 1024> words{};
    const bool has_told = wait_for_line(sender.line.number(), end - system_clock().steady_seconds());
    const auto count = has_told ? ::recv(sender.line.number(), words.data(), words.size(), MSG_DONTWAIT) : 0;
    all.push_back(count > 0 ? std::string(trim({words.data(), static_cast<size_t>(count)}))
                            : text(sender.title, " has not answered yet; see ",
                                   log_file(folder_, sender.service).string()));
  }
  return all;
}

std::vector<std::string> RunSenders::finish() {
  std::vector<std::string> all;
  for (auto& sender : senders_) ::shutdown(sender.line.number(), SHUT_WR);
  const double end = system_clock().steady_seconds() + seconds_of_the_rest;
  for (auto& sender : senders_) {
    // What it tells now is in its log.
    wait_for_line(sender.process.wait_descriptor(), end - system_clock().steady_seconds());
    const auto ending = sender.process.poll();
    if (!ending) {
      sender.process.leave();
      all.push_back(text(sender.title,
                         " has not all of the run yet: the sender goes on by itself for ten minutes; later ",
                         way_to_the_rest(folder_, sender.service)));
    } else if (!ending->ok()) {
      all.push_back(text(sender.title,
                         " has not all of the run: ", log_file(folder_, sender.service).string(),
                         " says why; ", way_to_the_rest(folder_, sender.service)));
    }
  }
  senders_.clear();
  return all;
}

}  // namespace larmor::app
