#include "larmor/checkpoint/data_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/checkpoint/manifest.h"

#include "tests/checkpoint/support/small_snapshot.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;

class CheckpointOfFormat : public ::testing::Test {
 protected:
  CheckpointEntry of_format(int64_t format) {
    const auto solo = make_solo();
    CheckpointWriter(scratch_.path(), disk_, *solo, saved_at_once()).save(small_snapshot(12), false);
    const auto folder = scratch_.path() / "step-00000012";
    Json manifest = open_manifest(folder);
    manifest["format"] = format;
    write_text(disk_, folder / manifest_name, seal(manifest));
    return verify_checkpoint(folder);
  }
  ScratchFolder scratch_;
  DiskStorage disk_;
};

TEST_F(CheckpointOfFormat, TwoIsGoneOnFrom) {
  const auto entry = of_format(2);
  ASSERT_TRUE(entry.ok) << entry.reason;
  EXPECT_NO_THROW(require_current_order(entry));
}

TEST_F(CheckpointOfFormat, OneIsReadAndNotGoneOnFrom) {
  const auto entry = of_format(1);
  ASSERT_TRUE(entry.ok) << entry.reason;
  try {
    require_current_order(entry);
    FAIL() << "its position means nothing in today's order";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::checkpoint);
    EXPECT_THAT(error.message(), HasSubstr("has format 1"));
    EXPECT_THAT(error.hint(), HasSubstr("model.safetensors"));
  }
}

TEST_F(CheckpointOfFormat, ThreeIsNotRead) {
  const auto entry = of_format(3);
  EXPECT_FALSE(entry.ok);
  EXPECT_THAT(entry.reason, HasSubstr("this program reads formats 1 and 2"));
}

}  // namespace
}  // namespace larmor::testing
