#include "larmor/codec/decoder_process.h"

#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/text.h"

#include "tests/codec/support/compressed_frames.h"
#include "tests/support/cases.h"
#include "tests/support/encoded_pixels.h"
#include "tests/support/faults/process_call_watch.h"
#include "tests/support/picture_files.h"

namespace larmor {
namespace {

using testing::CompressedFrames;
using ::testing::HasSubstr;
using Kind = DecodeOutcome::Kind;

DecoderOptions decoder_program() {
  const char* const program = std::getenv("LARMOR_DECODER");
  return {.program = program != nullptr ? program : "larmor-decode", .arguments = {}};
}

/// A decoder of which a test of the name below does the work, in a process of this test program.
DecoderOptions double_of_decoder(const std::string& name) {
  return {
      .program = "/proc/self/exe",
      .arguments = {text("--gtest_filter=DecoderDouble.DISABLED_", name), "--gtest_also_run_disabled_tests"}};
}

/// Sanitizers have no limits of memory and processor time.
bool is_sanitized() {
  return ::dlsym(RTLD_DEFAULT, "__asan_init") != nullptr || ::dlsym(RTLD_DEFAULT, "__tsan_init") != nullptr;
}

std::string file_of_process(pid_t process, const std::string& name) {
  std::ifstream file(text("/proc/", process, "/", name));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool has_ended(pid_t process) {
  const SystemClock clock;
  for (const double end = clock.steady_seconds() + 5; clock.steady_seconds() < end;) {
    const std::string status = file_of_process(process, "status");
    if (status.empty() || status.find("State:\tZ") != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

struct Answer {
  DecodeOutcome outcome;
  std::string samples;
};

Answer ask(DecoderProcess& decoder, const CompressedFrames& frames) {
  std::vector<std::byte> out(frames.bytes(), std::byte{0xaa});
  Answer answer{.outcome = decoder.decode(frames.encoded(), out), .samples = ""};
  answer.samples = testing::text_of(out);
  return answer;
}

const CompressedFrames& good_frames() {
  static const CompressedFrames frames = testing::lossless_jpeg(17, 13, 12);
  return frames;
}
const std::string& good_samples() {
  static const std::string samples = testing::as_words(testing::uneven_values(17, 13, 12));
  return samples;
}

/// What the decoder does while it waits for a request that has been sent: it is stopped, then `signal`
/// reaches it.
DecodeOutcome outcome_of_signal(int signal) {
  DecoderProcess decoder(decoder_program());
  ::kill(decoder.id(), SIGSTOP);
  DecodeOutcome outcome;
  {
    const std::jthread asker([&] { outcome = ask(decoder, good_frames()).outcome; });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ::kill(decoder.id(), signal);
    ::kill(decoder.id(), SIGCONT);
  }
  EXPECT_EQ(decoder.is_running(), outcome.kind != Kind::lost);
  return outcome;
}

TEST(DecoderProcess, GivesWhatDecodingHereGives) {
  DecoderProcess decoder(decoder_program());
  for (int i = 0; i < 3; ++i) {
    const Answer answer = ask(decoder, good_frames());
    EXPECT_EQ(answer.outcome.kind, Kind::decoded) << answer.outcome.message;
    EXPECT_EQ(answer.outcome.form.photometric, "MONOCHROME2");
    EXPECT_EQ(answer.samples, good_samples());
  }
  EXPECT_TRUE(decoder.is_running());
}

TEST(DecoderProcess, RefusesDamageInTheWordsOfDecodingHere) {
  DecoderProcess decoder(decoder_program());
  CompressedFrames frames(testing::jpeg_lossless, 17, 13, 12);
  frames.piece("\xff\xd8\xff\xd9");
  const Answer answer = ask(decoder, frames);
  EXPECT_EQ(answer.outcome.kind, Kind::refused);
  EXPECT_THAT(answer.outcome.message, HasSubstr("do not say their size"));
  EXPECT_EQ(answer.outcome.hint, "fetch the file again");
  EXPECT_EQ(ask(decoder, good_frames()).samples, good_samples()) << "it goes on";
}

TEST(DecoderProcess, IsConfined) {
  const DecoderProcess decoder(decoder_program());
  const std::string status = file_of_process(decoder.id(), "status");
  EXPECT_THAT(status, HasSubstr("NoNewPrivs:\t1"));
  EXPECT_THAT(status, HasSubstr(text("Seccomp:\t", decoder.greeting().has_seccomp != 0 ? 2 : 0)));
  EXPECT_TRUE(decoder.greeting().has_seccomp != 0 || decoder.greeting().landlock_version > 0);
  std::vector<std::string> links;
  for (const auto& entry : std::filesystem::directory_iterator(text("/proc/", decoder.id(), "/fd")))
    links.push_back(entry.path().filename().string());
  EXPECT_THAT(links, ::testing::UnorderedElementsAre("0", "1", "2", "3"));
  EXPECT_EQ(file_of_process(decoder.id(), "environ").find("HOME="), std::string::npos);
}

TEST(DecoderProcess, ThatCrashesIsTheFilesFault) {
  const DecodeOutcome outcome = outcome_of_signal(SIGSEGV);
  EXPECT_EQ(outcome.kind, Kind::lost);
  EXPECT_THAT(outcome.message, HasSubstr("crashed the decoder (killed by SIGSEGV)"));
  EXPECT_FALSE(outcome.was_killed);
}

TEST(DecoderProcess, ThatIsKilledIsNot) {
  EXPECT_TRUE(outcome_of_signal(SIGKILL).was_killed);
  DecoderProcess decoder(decoder_program());
  ::kill(decoder.id(), SIGKILL);
  ASSERT_TRUE(has_ended(decoder.id()));
  EXPECT_FALSE(decoder.is_running());
  EXPECT_TRUE(ask(decoder, good_frames()).outcome.was_killed);
}

TEST(DecoderProcess, DoesNotHearWhatIsMeantForTheRank) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1})
    EXPECT_EQ(outcome_of_signal(signal).kind, Kind::decoded);
}

TEST(DecoderProcess, ThatHangsIsEnded) {
  DecoderOptions options = decoder_program();
  options.processor_seconds = 0.01;
  options.wait_seconds = 0.2;
  DecoderProcess decoder(options);
  const pid_t process = decoder.id();
  ::kill(process, SIGSTOP);
  const DecodeOutcome outcome = ask(decoder, good_frames()).outcome;
  EXPECT_EQ(outcome.kind, Kind::lost);
  EXPECT_THAT(outcome.message, HasSubstr("gave no answer within"));
  EXPECT_EQ(::kill(process, 0), -1) << "it was not reaped";
}

TEST(DecoderProcess, HasALimitOfProcessorTime) {
  if (is_sanitized()) GTEST_SKIP() << "sanitizers have no limit of processor time";
  DecoderOptions options = double_of_decoder("Spins");
  options.processor_seconds = 0.1;
  DecoderProcess decoder(options);
  const DecodeOutcome outcome = ask(decoder, good_frames()).outcome;
  EXPECT_EQ(outcome.kind, Kind::lost);
  EXPECT_THAT(outcome.message, HasSubstr("of processor time"));
  EXPECT_FALSE(outcome.was_killed);
}

TEST(DecoderProcess, HasALimitOfMemory) {
  if (is_sanitized()) GTEST_SKIP() << "sanitizers have no limit of memory";
  // A progressive picture is decoded by way of its 18 MB of coefficients.
  CompressedFrames frames("1.2.840.10008.1.2.4.55", 3000, 3000, 8);
  frames.allocated(8).piece(testing::jpeg_of(3000, 3000, 1, 1, true));
  DecoderProcess roomy(decoder_program());
  EXPECT_EQ(ask(roomy, frames).outcome.kind, Kind::decoded);
  DecoderOptions options = decoder_program();
  options.memory = 0;
  DecoderProcess decoder(options);
  const DecodeOutcome outcome = ask(decoder, frames).outcome;
  EXPECT_EQ(outcome.kind, Kind::refused);
  EXPECT_THAT(outcome.message, HasSubstr("of memory beyond the data themselves"));
  EXPECT_TRUE(decoder.is_running());
}

TEST(DecoderProcess, IsNotBelieved) {
  DecoderProcess liar(double_of_decoder("Lies"));
  const DecodeOutcome outcome = ask(liar, good_frames()).outcome;
  EXPECT_EQ(outcome.kind, Kind::refused);
  EXPECT_EQ(outcome.message, "\\u001b[2Jall is well\\n");
  DecoderProcess other_program(double_of_decoder("SpeaksOtherwise"));
  EXPECT_EQ(ask(other_program, good_frames()).outcome.kind, Kind::lost);
}

TEST(DecoderProcess, ThatDoesNotGreetCannotBeUsed) {
  const auto error = testing::error_of([] { DecoderProcess({.program = "/bin/true", .arguments = {}}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::environment);
  EXPECT_THAT(error->message(), HasSubstr("no greeting"));
  const auto absent =
      testing::error_of([] { DecoderProcess({.program = "/nowhere/larmor-decode", .arguments = {}}); });
  ASSERT_TRUE(absent);
  EXPECT_THAT(absent->message(), HasSubstr("cannot start /nowhere/larmor-decode: No such file"));
}

TEST(DecoderProcess, IsNotUsedWhereNothingConfinesItUnlessThePersonSaysSo) {
  DecoderOptions options = double_of_decoder("GreetsUnconfined");
  const auto error = testing::error_of([&] { DecoderProcess{options}; });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::environment);
  EXPECT_THAT(error->message(), HasSubstr("neither seccomp nor Landlock"));
  EXPECT_THAT(error->hint(), HasSubstr("LARMOR_DECODER=unconfined"));
  options.may_be_unconfined = true;
  EXPECT_TRUE(DecoderProcess(options).is_running());
}

TEST(DecoderProcess, LeavesNothingBehind) {
  testing::signalled_after_reaping();
  const std::size_t before = open_descriptors();
  pid_t process = 0;
  {
    DecoderProcess decoder(decoder_program());
    process = decoder.id();
    EXPECT_EQ(open_descriptors(), before + 1);
    ask(decoder, good_frames());
    EXPECT_EQ(open_descriptors(), before + 1);
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(::waitpid(process, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  EXPECT_THAT(testing::signalled_after_reaping(), ::testing::IsEmpty());
}

TEST(DecoderProcess, EndsWithTheProcessThatStartedIt) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const pid_t starter = ::fork();
  if (starter == 0) {
    const DecoderProcess decoder(decoder_program());
    const pid_t process = decoder.id();
    ::kill(::write(ends[1], &process, sizeof process) > 0 ? ::getpid() : 0, SIGKILL);
  }
  pid_t process = 0;
  ::close(ends[1]);
  ASSERT_EQ(::read(ends[0], &process, sizeof process), static_cast<ssize_t>(sizeof process));
  ::close(ends[0]);
  ::waitpid(starter, nullptr, 0);
  EXPECT_TRUE(has_ended(process));
}

// The doubles: what a decoder that has been taken over might do.
constexpr int decoder_socket = 3;

DecodeRequest greet_and_receive() {
  const DecodeGreeting greeting{.has_seccomp = 1, .address_space = uint64_t{4} << 30};
  EXPECT_TRUE(send_packet(decoder_socket, as_packet(greeting)));
  DecodeRequest request;
  Descriptor shared;
  receive_packet(decoder_socket, as_packet(request), &shared);
  return request;
}

TEST(DecoderDouble, DISABLED_Spins) {
  greet_and_receive();
  for (volatile bool goes_on = true; goes_on;) {
  }
}

TEST(DecoderDouble, DISABLED_GreetsUnconfined) {
  EXPECT_TRUE(send_packet(decoder_socket, as_packet(DecodeGreeting{})));
  ::pause();
}

TEST(DecoderDouble, DISABLED_Lies) {
  greet_and_receive();
  DecodeReply reply;
  reply.status = DecodeReply::Status::refused;
  put_text(reply.message, "\033[2Jall is well\n");
  send_packet(decoder_socket, as_packet(std::as_const(reply)));
  greet_and_receive();
}

TEST(DecoderDouble, DISABLED_SpeaksOtherwise) {
  greet_and_receive();
  send_packet(decoder_socket, as_packet(DecodeGreeting{}));
  ::pause();
}

}  // namespace
}  // namespace larmor
