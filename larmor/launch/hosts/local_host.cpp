#include "larmor/launch/hosts/local_host.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include <fcntl.h>
#include <signal.h>

#include "larmor/base/error.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/process/memory_file.h"
#include "larmor/base/text.h"
#include "larmor/launch/open_files.h"
#include "larmor/watch/stack_dump.h"

namespace larmor {
namespace {

Descriptor open_log(const std::filesystem::path& file) {
  // Without O_NONBLOCK a FIFO of that name would be waited for.
  constexpr int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  Descriptor log(open(file.c_str(), flags, 0600));
  struct stat status{};
  const bool is_open = log.is_open() && fstat(log.number(), &status) == 0;
  if (!is_open || !S_ISREG(status.st_mode)) {
    fail(Exit::environment,
         text("cannot write ", file.string(), ": ", is_open ? "it is no file" : std::strerror(errno)),
         "free space or make the run folder writable, on every host");
  }
  return log;
}

/// A second descriptor for our stdout or stderr, out of the way of the standard three.
Descriptor duplicate(int number) { return Descriptor(fcntl(number, F_DUPFD_CLOEXEC, 10)); }

void hand_over(ProcessOptions& process, const std::string& name, int descriptor) {
  if (descriptor < 0) return;
  process.environment[name] = text(descriptor);
  process.keep_open.push_back(descriptor);
}

/// What it wrote in this start, without libtorch's stacks: they would leave no room for the cause above them.
std::string last_lines_of(const std::filesystem::path& file, uint64_t log_start) {
  constexpr std::streamoff most_bytes = 65536;
  constexpr std::ptrdiff_t most_lines = 20;
  std::ifstream log(file, std::ios::binary | std::ios::ate);
  if (!log) return "";
  const std::streamoff end = log.tellg();
  const std::streamoff begin = std::max(static_cast<std::streamoff>(log_start), end - most_bytes);
  if (begin >= end) return "";
  std::string tail(static_cast<size_t>(end - begin), '\0');
  log.seekg(begin);
  log.read(tail.data(), end - begin);
  tail.resize(static_cast<size_t>(log.gcount()));
  std::vector<std::string> lines = split(trim(tail), '\n');
  std::erase_if(lines, [](const std::string& line) { return trim(line).starts_with("frame #"); });
  if (std::ssize(lines) > most_lines) lines.erase(lines.begin(), lines.end() - most_lines);
  return join(lines, "\n");
}

}  // namespace

LocalHost::LocalHost(SignalPipe* signals, bool console, std::map<std::string, std::string> environment)
    : signals_(signals),
      name_(host_name()),
      environment_(std::move(environment)),
      nothing_(open("/dev/null", O_RDONLY | O_CLOEXEC)) {
  if (!console) return;
  console_out_ = duplicate(1);
  console_error_ = duplicate(2);
}

int LocalHost::open_store(const std::string& address) {
  store_.emplace(address, 0);
  return store_->port();
}

ProcessOptions LocalHost::options_for(const GroupStart& start, const RankProcess& place) const {
  const std::string rank = text(place.rank), world = text(start.world_size), local = text(place.local_index),
                    local_count = text(start.local_count), port = text(start.master_port),
                    threads = text(start.threads_per_rank);
  ProcessOptions process;
  process.program = start.program.empty() ? own_program() : start.program;
  process.arguments = start.arguments;
  process.cores = place.cores;
  process.standard_in = nothing_.number();
  // Ctrl-C reaches the ranks through their agent alone, and what a rank has started ends with it.
  process.own_group = true;
  process.unset = {
      "LARMOR_STORE_FD", "LARMOR_STORE_KEY_FD", "LARMOR_CONSOLE_OUT",          "LARMOR_CONSOLE_ERR",
      "LARMOR_JOB_FD",   "LARMOR_CHANNEL_FD",   "TORCHELASTIC_USE_AGENT_STORE"};
  process.environment = {{"LARMOR_RANK", rank},
                         {"LARMOR_WORLD_SIZE", world},
                         {"LARMOR_LOCAL_RANK", local},
                         {"LARMOR_LOCAL_WORLD_SIZE", local_count},
                         {"LARMOR_MASTER_ADDR", start.master_address},
                         {"LARMOR_MASTER_PORT", port},
                         {"LARMOR_GENERATION", text(start.generation)},
                         {"LARMOR_STATUS_FD", text(board_->descriptor())},
                         // What other programs look for, and what another launcher may have set otherwise.
                         {"RANK", rank},
                         {"WORLD_SIZE", world},
                         {"LOCAL_RANK", local},
                         {"LOCAL_WORLD_SIZE", local_count},
                         {"MASTER_ADDR", start.master_address},
                         {"MASTER_PORT", port},
                         {"TORCHELASTIC_RESTART_COUNT", text(start.generation)},
                         // GPUs under the numbers that NVML gives them.
                         {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
                         {"OMP_NUM_THREADS", threads},
                         {"MKL_NUM_THREADS", threads}};
  for (const auto& [name, value] : start.environment) process.environment[name] = value;
  for (const auto& [name, value] : environment_) process.environment[name] = value;
  process.keep_open = {board_->descriptor()};
  hand_over(process, "LARMOR_STORE_KEY_FD", store_key_.number());
  hand_over(process, "LARMOR_JOB_FD", job_.number());
  hand_over(process, "LARMOR_CHANNEL_FD", start.channel);
  if (place.rank == 0) {
    if (store_) hand_over(process, "LARMOR_STORE_FD", store_->descriptor());
    hand_over(process, "LARMOR_CONSOLE_OUT", console_out_.number());
    hand_over(process, "LARMOR_CONSOLE_ERR", console_error_.number());
  }
  std::erase_if(process.unset, [&](const auto& name) { return process.environment.contains(name); });
  return process;
}

LocalHost::Started LocalHost::start_rank(const GroupStart& start, const RankProcess& place) const {
  const std::filesystem::path file = start.log_folder / text("rank-", place.rank, ".log");
  const Descriptor output = open_log(file);
  const uint64_t log_start = std::filesystem::file_size(file);
  ProcessOptions options = options_for(start, place);
  if (place.rank != 0 || !start.first_rank_speaks)
    options.standard_out = options.standard_error = output.number();
  return {Process::start(options), file, log_start, place.ranks};
}

void LocalHost::start(const GroupStart& start) {
  DiskStorage().create_folders(start.log_folder);
  board_.emplace(start.world_size);
  memory_kills_.emplace();
  // One process that is all ranks meets nobody, and what it starts would inherit the key.
  const bool is_alone = start.ranks.size() == 1 && start.ranks.front().ranks == start.world_size;
  if (!is_alone) refuse_too_many_ranks(start.world_size, limit_of_open_files());
  store_key_ = start.store_key && !is_alone ? start.store_key->to_descriptor() : Descriptor();
  job_ = start.job.empty() ? Descriptor() : memory_file(start.job, "what the ranks do");
  running_.clear();
  // When one cannot be started, those before it end with this map.
  std::map<int, Started> started;
  for (const auto& place : start.ranks) started.emplace(place.rank, start_rank(start, place));
  running_ = std::move(started);
  // Rank 0 alone listens now: when it is gone, a late rank is refused at once instead of waiting.
  store_.reset();
  store_key_ = Descriptor();
  job_ = Descriptor();
}

void LocalHost::send(int rank, int signal) {
  const auto found = running_.find(rank);
  if (found != running_.end()) found->second.process.send(signal);
}

std::vector<int> LocalHost::descriptors() const {
  std::vector<int> all;
  if (signals_ != nullptr) all.push_back(signals_->descriptor());
  for (const auto& [rank, started] : running_) all.push_back(started.process.wait_descriptor());
  return all;
}

RankEnding LocalHost::ending_of(int rank, const Started& started, const Ending& ending) const {
  RankEnding result{.rank = rank,
                    .ranks = started.ranks,
                    .ending = ending,
                    .phase = board_->phase(rank),
                    .step = board_->step(rank),
                    .evidence = "",
                    .last_lines = last_lines_of(started.log, started.log_start)};
  if (ending.signal == SIGKILL && memory_kills_->since_start() > 0)
    result.evidence = "the system ended it because the memory of the job ran out";
  return result;
}

std::vector<RankEnding> LocalHost::take_endings() {
  std::vector<RankEnding> endings;
  for (auto at = running_.begin(); at != running_.end();) {
    const std::optional<Ending> ended = at->second.process.poll();
    if (!ended) {
      ++at;
      continue;
    }
    endings.push_back(ending_of(at->first, at->second, *ended));
    at = running_.erase(at);
  }
  return endings;
}

std::map<int, RankStatus> LocalHost::statuses() {
  std::map<int, RankStatus> all;
  for (const auto& [first, started] : running_) {
    for (int rank = first; rank < first + started.ranks; ++rank) all.emplace(rank, board_->status(rank));
  }
  return all;
}

std::string LocalHost::process_state(int rank) {
  const auto process = process_of(rank);
  return process ? larmor::process_state(*process) : "";
}

const LocalHost::Started* LocalHost::started_for(int rank) const {
  const auto after = running_.upper_bound(rank);
  if (after == running_.begin()) return nullptr;
  const auto& [first, started] = *std::prev(after);
  return rank < first + started.ranks ? &started : nullptr;
}

std::optional<pid_t> LocalHost::process_of(int rank) const {
  const Started* const started = started_for(rank);
  return started == nullptr ? std::nullopt : std::optional(started->process.id());
}

}  // namespace larmor
