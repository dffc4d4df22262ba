#include "larmor/base/process/memory_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/process/process.h"
#include "larmor/base/text.h"

namespace larmor::testing {
namespace {

TEST(MemoryFile, HoldsWhatWasWritten) {
  const std::string bytes(100000, 'x');
  const auto file = memory_file(bytes, "a test");
  EXPECT_EQ(read_memory_file(file.number(), "X"), bytes);
  EXPECT_EQ(read_memory_file(file.number(), "X"), bytes) << "as often as it is asked for";
}

TEST(MemoryFile, ReachesThoseProgramsAloneThatAreToHaveIt) {
  const auto file = memory_file("written once", "a test");
  const auto reads_it = [&](bool is_kept) {
    ProcessOptions options;
    options.program = "/bin/sh";
    options.arguments = {"-c", text("exec cat <&", file.number(), " | grep -q 'written once'")};
    if (is_kept) options.keep_open = {file.number()};
    return Process::start(options).wait().ok();
  };
  EXPECT_TRUE(reads_it(true));
  EXPECT_FALSE(reads_it(false));
}

TEST(MemoryFile, WhatIsNoneIsRefusedUnderTheNameOfTheVariable) {
  try {
    read_memory_file(12345, "LARMOR_X_FD");
    FAIL() << "it was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    EXPECT_THAT(error.message(), ::testing::HasSubstr("LARMOR_X_FD=12345"));
  }
}

}  // namespace
}  // namespace larmor::testing
