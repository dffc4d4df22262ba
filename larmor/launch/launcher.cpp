#include "larmor/launch/launcher.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cassert>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>

#include "larmor/base/process.h"
#include "larmor/base/storage.h"
#include "larmor/base/text.h"
#include "larmor/launch/descriptor.h"
#include "larmor/launch/status_board.h"
#include "larmor/launch/supervisor.h"

namespace larmor {
namespace {

/// The store's socket, bound and listening before any rank exists: no other program can take the port
/// between choosing and using it.
struct StoreSocket {
  Descriptor descriptor;
  int port = 0;
};

StoreSocket listen_on_loopback() {
  StoreSocket store{Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), 0};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  // The socket calls take any kind of address through this one type.
  auto* any = reinterpret_cast<sockaddr*>(&address);
  const int number = store.descriptor.number();
  if (number < 0 || bind(number, any, length) != 0 || listen(number, SOMAXCONN) != 0 ||
      getsockname(number, any, &length) != 0) {
    fail(Exit::environment, text("cannot listen on 127.0.0.1 for the ranks: ", std::strerror(errno)),
         "the ranks of one machine meet on the loopback interface; `larmor doctor` checks it");
  }
  store.port = ntohs(address.sin_port);
  return store;
}

Descriptor open_log(const std::filesystem::path& file) {
  Descriptor log(open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.is_open()) {
    fail(Exit::environment, text("cannot write ", file.string(), ": ", std::strerror(errno)),
         "free space or make the run folder writable");
  }
  return log;
}

/// A second descriptor for our stdout or stderr, out of the way of the standard three.
Descriptor duplicate(int number) { return Descriptor(fcntl(number, F_DUPFD_CLOEXEC, 10)); }

/// What all ranks of one start share.
struct Group {
  const Plan& plan;
  const LaunchOptions& options;
  StoreSocket store;
  StatusBoard board;
  Descriptor console_out, console_error;  // closed when rank 0 may not speak
};

void hand_over(ProcessOptions& process, const std::string& name, const Descriptor& descriptor) {
  if (!descriptor.is_open()) return;
  process.environment[name] = text(descriptor.number());
  process.keep_open.push_back(descriptor.number());
}

ProcessOptions options_for(const Group& group, int rank) {
  const std::string count = text(group.plan.world_size());
  const std::string threads = text(group.plan.threads_per_rank);
  ProcessOptions process;
  process.program = group.options.program.empty() ? own_program() : group.options.program;
  process.arguments = group.options.arguments;
  process.cores = group.plan.ranks[static_cast<size_t>(rank)].cores;
  process.unset = {"LARMOR_STORE_FD", "LARMOR_CONSOLE_OUT", "LARMOR_CONSOLE_ERR"};
  process.environment = {{"LARMOR_RANK", text(rank)},
                         {"LARMOR_WORLD_SIZE", count},
                         {"LARMOR_LOCAL_RANK", text(rank)},
                         {"LARMOR_LOCAL_WORLD_SIZE", count},
                         {"LARMOR_MASTER_ADDR", "127.0.0.1"},
                         {"LARMOR_MASTER_PORT", text(group.store.port)},
                         {"LARMOR_GENERATION", text(group.options.generation)},
                         {"LARMOR_STATUS_FD", text(group.board.descriptor())},
                         // GPUs under the numbers that NVML gives them.
                         {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
                         {"OMP_NUM_THREADS", threads},
                         {"MKL_NUM_THREADS", threads}};
  process.keep_open = {group.board.descriptor()};
  if (rank == 0) {
    process.unset.clear();
    hand_over(process, "LARMOR_STORE_FD", group.store.descriptor);
    hand_over(process, "LARMOR_CONSOLE_OUT", group.console_out);
    hand_over(process, "LARMOR_CONSOLE_ERR", group.console_error);
  }
  return process;
}

RankProcess start_rank(const Group& group, int rank, LauncherLog& log) {
  const std::filesystem::path file = group.options.log_folder / text("rank-", rank, ".log");
  const Descriptor output = open_log(file);
  const uint64_t log_start = std::filesystem::file_size(file);
  ProcessOptions options = options_for(group, rank);
  options.standard_out = options.standard_error = output.number();
  Process process = Process::start(options);
  std::string cores;
  for (const int core : options.cores) cores += text(cores.empty() ? ", cores " : " ", core);
  log.line(text("rank ", rank, " of ", group.plan.world_size(), " started as process ", process.id(), cores));
  return {std::move(process), file, log_start};
}

}  // namespace

GroupEnding run_ranks(const Plan& plan, const LaunchOptions& options) {
  assert(plan.world_size() > 0);
  DiskStorage().create_folders(options.log_folder);
  LauncherLog log(options.log_folder / "launcher.log");
  SignalPipe signals;
  Group group{plan, options, listen_on_loopback(), StatusBoard(plan.world_size()), {}, {}};
  if (options.console) {
    group.console_out = duplicate(1);
    group.console_error = duplicate(2);
  }
  std::vector<RankProcess> ranks;
  for (int rank = 0; rank < plan.world_size(); ++rank) ranks.push_back(start_rank(group, rank, log));
  // Rank 0 alone listens now: when it is gone, a late rank is refused at once instead of waiting.
  group.store.descriptor = Descriptor();
  Supervisor supervisor(std::move(ranks), group.board, signals, log, options.grace_seconds);
  GroupEnding ending = supervisor.run();
  log.line(text("generation ", options.generation, " ended with status ", ending.raw_status,
                ending.message.empty() ? "" : ": ", ending.message));
  return ending;
}

}  // namespace larmor
