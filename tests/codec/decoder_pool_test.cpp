#include "larmor/codec/decoder_pool.h"

#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "tests/codec/support/compressed_frames.h"
#include "tests/support/cases.h"

namespace larmor {
namespace {

using ::testing::AllOf;
using testing::CompressedFrames;
using ::testing::HasSubstr;
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

TEST_F(DecoderPoolTest, DecodesHereWhereNoneCanBeStartedAndSaysSoOnce) {
  DecoderPool pool({.program = "/nowhere/larmor-decode", .arguments = {}}, 2);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(decoded_by(pool), expected_);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("decoded in this process"), HasSubstr("/nowhere/larmor-decode")));
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(decoded_by(pool), expected_);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(DecoderPoolTest, IsDescribedForPeople) {
  EXPECT_THAT(describe_decoder(), AllOf(HasSubstr("larmor-decode, confined by"), HasSubstr("seccomp")));
}

}  // namespace
}  // namespace larmor
