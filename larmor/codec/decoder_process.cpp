#include "larmor/codec/decoder_process.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <unistd.h>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/process/system_error.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {

constexpr bool is_sanitized = LARMOR_IS_SANITIZED;
constexpr int decoder_socket = 3;  // in the decoder
constexpr double greeting_seconds = 30;

/// What posix_spawn does in the child before the program begins.
class SpawnPlan {
 public:
  explicit SpawnPlan(int socket) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, socket, decoder_socket);
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, decoder_socket + 1);
    ::posix_spawnattr_init(&attributes_);
    // What is sent to the whole group or job is for its ranks: a decoder that ended of it would blame a good
    // file.
    sigset_t blocked, defaults;
    ::sigemptyset(&blocked);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM})
      ::sigaddset(&blocked, signal);
    ::sigfillset(&defaults);
    ::posix_spawnattr_setsigmask(&attributes_, &blocked);
    ::posix_spawnattr_setsigdefault(&attributes_, &defaults);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

/// Where libraries are found, and how memory is made and checked. No key or name of ours goes along.
std::vector<std::string> decoder_environment() {
  std::vector<std::string> entries;
  for (const char* name : {"LD_LIBRARY_PATH", "MALLOC_PERTURB_", "GLIBC_TUNABLES", "ASAN_OPTIONS",
                           "UBSAN_OPTIONS", "TSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name)) entries.push_back(text(name, '=', value));
  }
  return entries;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Whether something can be read (also that the other side is gone) within so many seconds.
bool wait_for_word(int socket, double seconds) {
  const SystemClock clock;
  const double end = clock.steady_seconds() + seconds;
  while (true) {
    const double left = std::max(0.0, end - clock.steady_seconds());
    pollfd entry{socket, POLLIN, 0};
    const int count = ::poll(&entry, 1, static_cast<int>(std::min(left * 1000 + 1, 1e9)));
    if (count > 0) return true;
    if (count == 0 && clock.steady_seconds() >= end) return false;
    if (count < 0 && errno != EINTR) return false;
  }
}

double processor_seconds_of(pid_t process) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// The hard limit stays as it is, so that the soft one can be raised again for the next request. Throws Error
/// (environment): nothing is decoded without limits.
void set_limit(pid_t process, __rlimit_resource resource, rlim_t most) {
  rlimit limit{};
  if (::prlimit(process, resource, nullptr, &limit) == 0) {
    limit.rlim_cur = std::min(limit.rlim_max, most);
    if (::prlimit(process, resource, &limit, nullptr) == 0) return;
  }
  fail(Exit::environment, text("cannot limit what a decoder takes: ", std::strerror(errno)),
       "see what confines this process: it may not set limits of its own children");
}

DecodeRequest request_of(const EncodedPixels& encoded) {
  DecodeRequest request;
  request.rows = encoded.rows;
  request.columns = encoded.columns;
  request.frames = encoded.frames;
  request.samples = encoded.samples;
  request.bits_allocated = encoded.bits_allocated;
  request.bits_stored = encoded.bits_stored;
  request.high_bit = encoded.high_bit;
  request.is_signed = encoded.is_signed ? 1 : 0;
  request.by_plane = encoded.by_plane ? 1 : 0;
  put_text(request.transfer_syntax, encoded.transfer_syntax);
  put_text(request.photometric, encoded.photometric);
  return request;
}

/// Whether a decoder may have given that.
bool is_possible(const Unpacked& unpacked, Packing packing, std::size_t packed, std::size_t room) {
  if (unpacked.end > Unpacked::End::damaged || unpacked.taken > packed || unpacked.given > room) return false;
  if (!is_picture(packing)) return true;
  const auto is_within = [](int64_t number, int64_t most) { return number > 0 && number <= most; };
  constexpr int64_t most_pixels = int64_t{1} << 31;  // of a side
  if (unpacked.end == Unpacked::End::damaged || !is_within(unpacked.columns, most_pixels) ||
      !is_within(unpacked.rows, most_pixels) || !is_within(unpacked.samples, 4) ||
      !is_within(unpacked.sample_bytes, 2))
    return false;
  uint64_t bytes = static_cast<uint64_t>(unpacked.columns * unpacked.samples * unpacked.sample_bytes);
  const bool is_too_much = __builtin_mul_overflow(bytes, static_cast<uint64_t>(unpacked.rows), &bytes);
  return unpacked.end == Unpacked::End::full || (!is_too_much && bytes == unpacked.given);
}

}  // namespace

DecoderProcess::DecoderProcess(const DecoderOptions& options) : options_(options) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    fail(Exit::environment, text("cannot make sockets for a decoder: ", std::strerror(errno)),
         "raise the limit of open files (ulimit -n)");
  socket_.reset(ends[0]);
  {
    const Descriptor theirs(ends[1]);
    spawn(theirs.number());
  }
  const bool greets = wait_for_word(socket_.number(), greeting_seconds) &&
                      receive_packet(socket_.number(), as_packet(greeting_)) &&
                      greeting_.protocol == decode_protocol;
  if (greets && (is_confined() || options_.may_be_unconfined)) return;
  const Ending ending = end();
  if (greets)
    fail(Exit::environment,
         text("this kernel has neither seccomp nor Landlock, so nothing would confine ",
              options_.program.string(), ", and a file that takes it over could do what you can do"),
         "set LARMOR_DECODER=unconfined where all files are trusted");
  fail(Exit::environment,
       text(options_.program.string(), " does not decode: it began with no greeting of ours, and ended with ",
            ending.describe()),
       "install larmor and larmor-decode of one build together");
}

DecoderProcess::~DecoderProcess() { end(); }

void DecoderProcess::spawn(int socket) {
  const SpawnPlan plan(socket);
  std::vector<std::string> words = {options_.program.string()}, environment = decoder_environment();
  words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
  const int code = ::posix_spawn(&id_, options_.program.c_str(), plan.actions(), plan.attributes(),
                                 pointers_to(words).data(), pointers_to(environment).data());
  if (code != 0)
    fail(Exit::environment, text("cannot start ", options_.program.string(), ": ", std::strerror(code)),
         "install larmor and larmor-decode of one build together");
}

std::string DecoderProcess::confinement() const {
  std::vector<std::string> means;
  if (greeting_.has_seccomp != 0) means.emplace_back("seccomp");
  if (greeting_.landlock_version > 0) means.push_back(text("Landlock ", greeting_.landlock_version));
  return join(means, " and ");
}

bool DecoderProcess::is_running() const {
  pollfd entry{socket_.number(), POLLIN, 0};  // it says nothing unasked, so a word is its end
  return id_ > 0 && ::poll(&entry, 1, 0) == 0;
}

void DecoderProcess::set_limits(const DecodeRequest& request) {
  constexpr double bytes_per_second = 8 << 20;
  processor_limit_ =
      options_.processor_seconds + static_cast<double>(request.output_bytes) / bytes_per_second;
  wait_limit_ = options_.wait_seconds + 6 * processor_limit_;
  memory_limit_ = std::max(options_.memory, 64 * request.output_begin);
  if (is_sanitized) return;
  set_limit(id_, RLIMIT_CPU, static_cast<rlim_t>(std::ceil(processor_seconds_of(id_) + processor_limit_)));
  set_limit(id_, RLIMIT_AS, greeting_.address_space + request.memory_bytes + memory_limit_);
}

std::optional<int> DecoderProcess::share(DecodeRequest& request,
                                         std::span<const std::span<const std::byte>> pieces,
                                         std::size_t output_bytes) {
  constexpr std::size_t least = std::size_t{1} << 20;
  std::size_t input = pieces.size() * sizeof(uint64_t);
  for (const auto piece : pieces) input += piece.size();
  request.fragments = pieces.size();
  request.output_begin = (input + 63) / 64 * 64;
  request.output_bytes = output_bytes;
  const std::size_t needed = request.output_begin + output_bytes;
  if (!memory_ || memory_->view().size() < needed) {
    memory_.reset();
    memory_.emplace(SharedMemory::create(is_kept(needed) ? std::bit_ceil(std::max(needed, least)) : needed));
  }
  request.memory_bytes = memory_->view().size();
  std::byte* at = memory_->view().data();
  for (const auto piece : pieces) {
    const uint64_t length = piece.size();
    std::memcpy(at, &length, sizeof length);
    at += sizeof length;
  }
  for (const auto piece : pieces) at = std::copy(piece.begin(), piece.end(), at);
  return memory_->is_open() ? std::optional(memory_->descriptor()) : std::nullopt;
}

/// Large memory is not kept, on either side.
void DecoderProcess::end_sharing() {
  if (memory_ && !is_kept(memory_->view().size())) memory_.reset();
}

std::optional<DecodeOutcome> DecoderProcess::ask(DecodeRequest& request,
                                                 std::span<const std::span<const std::byte>> pieces,
                                                 std::size_t output_bytes, DecodeReply& reply) {
  const std::optional<int> descriptor = share(request, pieces, output_bytes);
  set_limits(request);
  if (!send_packet(socket_.number(), as_packet(std::as_const(request)), descriptor)) {
    DecodeOutcome outcome = lose(nullptr);
    outcome.was_killed = true;  // by whatever it was, not by a file that it never saw
    return outcome;
  }
  memory_->close_descriptor();
  if (!wait_for_word(socket_.number(), wait_limit_)) return lose("gave no answer");
  if (!receive_packet(socket_.number(), as_packet(reply))) return lose(nullptr);
  DecodeOutcome outcome{.kind = DecodeOutcome::Kind::refused};
  switch (reply.status) {
    case DecodeReply::Status::decoded:
      return std::nullopt;
    case DecodeReply::Status::refused:
      outcome.message = text_in(reply.message);
      outcome.hint = text_in(reply.hint);
      return outcome;
    case DecodeReply::Status::out_of_memory:
      memory_.reset();  // it may have had none to map this
      outcome.message = text("decoding its compressed data takes more than ", human_bytes(memory_limit_),
                             " of memory beyond the data themselves");
      outcome.hint = "fetch the file again, or leave it out";
      return outcome;
    case DecodeReply::Status::other_protocol:
      break;
  }
  return lose("gave an answer that means nothing");
}

DecodeOutcome DecoderProcess::decode(const EncodedPixels& encoded, std::span<std::byte> out) {
  DecodeRequest request = request_of(encoded);
  DecodeReply reply;
  auto outcome = ask(request, encoded.fragments, out.size(), reply);
  if (!outcome) {
    outcome = DecodeOutcome{.form = {text_in(reply.photometric), reply.by_plane != 0}};
    memory_->move_out(request.output_begin, out);
  }
  end_sharing();
  return *outcome;
}

DecodeOutcome DecoderProcess::unpack(Packing packing, std::span<const std::byte> packed,
                                     std::span<std::byte> out) {
  DecodeRequest request{.packing = static_cast<uint32_t>(packing)};
  DecodeReply reply;
  auto outcome = ask(request, std::span(&packed, 1), out.size(), reply);
  if (!outcome && !is_possible(reply.unpacked, packing, packed.size(), out.size()))
    outcome = lose("gave an answer that means nothing");
  if (!outcome) {
    outcome = DecodeOutcome{.unpacked = reply.unpacked};
    const bool is_beginning = packing == Packing::gzip || packing == Packing::deflate_beginning;
    const bool is_all = is_beginning && reply.unpacked.end == Unpacked::End::full;
    memory_->move_out(request.output_begin, is_all ? out : out.first(reply.unpacked.given));
  }
  end_sharing();
  return *outcome;
}

DecodeOutcome DecoderProcess::lose(const char* reason_of_ours) {
  const Ending ending = end();
  DecodeOutcome outcome;
  outcome.kind = DecodeOutcome::Kind::lost;
  outcome.hint = "fetch the file again, or leave it out";
  if (reason_of_ours != nullptr) {
    outcome.message =
        text("the decoder of its compressed data ", reason_of_ours, " within ", human_seconds(wait_limit_));
  } else if (ending.signal == SIGXCPU) {
    outcome.message = text("its compressed data kept the decoder busy for more than ",
                           human_seconds(processor_limit_), " of processor time");
  } else {
    outcome.message = text("its compressed data crashed the decoder (", ending.describe(), ")");
    outcome.was_killed = ending.signal == SIGKILL;
  }
  return outcome;
}

/// Kills it where it still runs. Its own ending counts when it came first.
Ending DecoderProcess::end() {
  socket_.reset();
  memory_.reset();
  if (id_ <= 0) return {};
  int status = 0;
  pid_t ended = ::waitpid(id_, &status, WNOHANG);
  if (ended == 0) {
    static_cast<void>(::kill(id_, SIGKILL));  // not yet reaped, so there is one of that number
    ended = after_signals([&] { return ::waitpid(id_, &status, 0); });
  }
  const bool is_known = ended == std::exchange(id_, -1);  // not where somebody ignores SIGCHLD
  if (is_known && WIFSIGNALED(status)) return {.status = 0, .signal = WTERMSIG(status)};
  return {.status = is_known ? WEXITSTATUS(status) : 1, .signal = 0};
}

}  // namespace larmor
