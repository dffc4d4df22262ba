#include "larmor/base/process/system_error.h"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Error error_of(int code) {
  try {
    fail_errno(code, "write", "/run/a");
  } catch (const Error& error) {
    return error;
  }
}

TEST(FailErrno, NamesActionPathAndReasonAsAnErrorOfTheEnvironment) {
  const Error error = error_of(ENOSPC);
  EXPECT_EQ(error.exit(), Exit::environment);
  EXPECT_EQ(error.message(), "cannot write /run/a: No space left on device");
}

TEST(FailErrno, SaysWhatToDoForTheCommonReasons) {
  EXPECT_EQ(error_of(ENOSPC).hint(), "free space, or write to another place (run.folder=, --output)");
  EXPECT_EQ(error_of(EDQUOT).message(), "cannot write /run/a: Disk quota exceeded");
  EXPECT_THAT(error_of(EDQUOT).hint(), HasSubstr("quota -s"));
  for (const int code : {EROFS, EACCES, EPERM, ENOENT, EMFILE, ENOTDIR, EIO, EFBIG, EPIPE}) {
    EXPECT_FALSE(error_of(code).hint().empty()) << code;
  }
  EXPECT_THAT(error_of(EROFS).hint(), HasSubstr("run.folder"));
  EXPECT_THAT(error_of(EINTR).message(), Not(HasSubstr("hint")));
}

}  // namespace
}  // namespace larmor
