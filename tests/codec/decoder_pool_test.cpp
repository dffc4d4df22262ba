#include "larmor/codec/decoder_pool.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

#include "tests/codec/support/compressed_frames.h"
#include "tests/support/cases.h"
#include "tests/support/faults/process_call_watch.h"

namespace larmor {
namespace {

using ::testing::AllOf;
using testing::CompressedFrames;
using ::testing::HasSubstr;
using testing::refuse_spawns;
using ::testing::SizeIs;

DecoderOptions real_decoder() {
  const char* const program = std::getenv("LARMOR_DECODER");
  return {.program = program != nullptr ? program : "larmor-decode", .arguments = {}};
}

class DecoderPoolTest : public ::testing::Test {
 protected:
  std::string decoded_by(DecoderPool& pool) const {
    std::vector<std::byte> out(frames_.bytes(), std::byte{0xaa});
    pool.decode(frames_.encoded(), out);
    return testing::text_of(out);
  }

  const CompressedFrames frames_ = testing::lossless_jpeg(17, 13, 12);
  const std::string expected_ = testing::as_words(testing::uneven_values(17, 13, 12));
};

TEST_F(DecoderPoolTest, StartsOneDecoderWhenItIsNeededAndKeepsIt) {
  DecoderPool pool(real_decoder(), 4);
  EXPECT_THAT(pool.idle(), SizeIs(0));
  EXPECT_EQ(decoded_by(pool), expected_);
  const std::vector<pid_t> first = pool.idle();
  EXPECT_THAT(first, SizeIs(1));
  EXPECT_EQ(decoded_by(pool), expected_);
  EXPECT_EQ(pool.idle(), first);
  pool.end_idle();
  EXPECT_EQ(::kill(first.front(), 0), -1);
  EXPECT_EQ(decoded_by(pool), expected_) << "and starts another";
}

TEST_F(DecoderPoolTest, ServesManyThreadsByAsManyDecodersAsItMay) {
  DecoderPool pool(real_decoder(), 2);
  std::vector<int> same(5);
  {
    std::vector<std::jthread> threads;
    for (int& count : same) {
      threads.emplace_back([&] {
        for (int i = 0; i < 40; ++i) count += decoded_by(pool) == expected_ ? 1 : 0;
      });
    }
  }
  EXPECT_THAT(same, ::testing::Each(40));
  EXPECT_LE(pool.idle().size(), 2U);
}

TEST_F(DecoderPoolTest, StartsAnotherForOneThatHasEnded) {
  DecoderPool pool(real_decoder(), 1);
  decoded_by(pool);
  ::kill(pool.idle().front(), SIGKILL);
  EXPECT_EQ(decoded_by(pool), expected_);
}

TEST_F(DecoderPoolTest, TriesAFileAgainWhoseDecoderWasKilled) {
  DecoderPool pool(real_decoder(), 1);
  decoded_by(pool);
  const pid_t process = pool.idle().front();
  ::kill(process, SIGSTOP);
  std::string again;
  {
    const std::jthread asker([&] { again = decoded_by(pool); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ::kill(process, SIGKILL);
  }
  EXPECT_EQ(again, expected_);
}

TEST_F(DecoderPoolTest, BlamesAFileThatCrashesItAndGoesOn) {
  DecoderPool pool(real_decoder(), 1);
  decoded_by(pool);
  const pid_t process = pool.idle().front();
  ::kill(process, SIGSTOP);
  {
    const std::jthread asker([&] {
      const auto error = testing::error_of([&] { decoded_by(pool); });
      ASSERT_TRUE(error);
      EXPECT_EQ(error->exit(), Exit::data);
      EXPECT_THAT(error->message(), HasSubstr("crashed the decoder (killed by SIGSEGV)"));
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ::kill(process, SIGSEGV);
    ::kill(process, SIGCONT);
  }
  EXPECT_EQ(decoded_by(pool), expected_);
}

constexpr int attempts = 6;

TEST_F(DecoderPoolTest, TriesAgainWhereNoneCanBeStartedForAMoment) {
  for (const int code : {EAGAIN, ENOMEM}) {
    for (int times = 1; times < attempts; ++times) {
      DecoderPool pool(real_decoder(), 1);
      refuse_spawns(times, code);
      EXPECT_EQ(decoded_by(pool), expected_);
      EXPECT_EQ(refuse_spawns(0, 0), times);
    }
  }
}

TEST_F(DecoderPoolTest, RefusesTheFileWhereNoneCanBeStartedAndDecodesNothingHere) {
  DecoderPool pool(real_decoder(), 1);
  refuse_spawns(1000, EAGAIN);
  for (const int expected_attempts : {attempts, 1, 1}) {
    std::vector<std::byte> out(frames_.bytes(), std::byte{0xaa});
    const auto error = testing::error_of([&] { pool.decode(frames_.encoded(), out); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->exit(), Exit::data);
    EXPECT_THAT(error->message(), AllOf(HasSubstr("have no decoder: cannot start"),
                                        HasSubstr("Resource temporarily unavailable")));
    EXPECT_THAT(out, ::testing::Each(std::byte{0xaa}));
    EXPECT_EQ(refuse_spawns(1000, EAGAIN), expected_attempts) << "later files are not kept waiting";
  }
  refuse_spawns(0, 0);
  EXPECT_EQ(decoded_by(pool), expected_) << "but asked for again";
  pool.end_idle();
  refuse_spawns(attempts - 1, EAGAIN);
  EXPECT_EQ(decoded_by(pool), expected_) << "with as much patience as before";
  refuse_spawns(0, 0);
}

TEST_F(DecoderPoolTest, LetsThreadsThatWaitForADecoderHearOfTheFailureToo) {
  DecoderPool pool(real_decoder(), 1);
  refuse_spawns(1000, EAGAIN);
  std::vector<int> exits(4);
  {
    std::vector<std::jthread> threads;
    for (int& exit : exits) {
      threads.emplace_back([&] {
        const auto error = testing::error_of([&] { decoded_by(pool); });
        exit = error ? static_cast<int>(error->exit()) : -1;
      });
    }
  }
  refuse_spawns(0, 0);
  EXPECT_THAT(exits, ::testing::Each(static_cast<int>(Exit::data)));
}

/// The exit status, or 0 where it decodes, of a process that decodes where LARMOR_DECODER has this value.
int status_of_decoding_with(const char* decoder, const CompressedFrames& frames) {
  ::setenv("LARMOR_DECODER", decoder, 1);
  std::vector<std::byte> out(frames.bytes());
  const auto error = testing::error_of([&] { decode_apart(frames.encoded(), out); });
  if (error) std::fputs(text(error->message(), "; ", error->hint()).c_str(), stderr);
  return error ? static_cast<int>(error->exit()) : 0;
}

TEST_F(DecoderPoolTest, IsDoneWithoutByThePersonsWishAlone) {
  // There is no larmor-decode beside this test.
  for (const char* const decoder : {"", "unconfined"}) {
    EXPECT_EXIT(std::_Exit(status_of_decoding_with(decoder, frames_)),
                ::testing::ExitedWithCode(static_cast<int>(Exit::environment)),
                "there is no .*/larmor-decode, which decodes compressed files; .*LARMOR_DECODER=none");
  }
  EXPECT_EXIT(std::_Exit(status_of_decoding_with("none", frames_)), ::testing::ExitedWithCode(0), "");
  const std::string program = real_decoder().program.string();
  EXPECT_EXIT(std::_Exit(status_of_decoding_with(program.c_str(), frames_)), ::testing::ExitedWithCode(0),
              "");
}

TEST_F(DecoderPoolTest, IsDescribedForPeople) {
  EXPECT_THAT(describe_decoder(), AllOf(HasSubstr("larmor-decode, confined by"), HasSubstr("seccomp")));
}

}  // namespace
}  // namespace larmor
