#include "larmor/run/kept_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"

#include "tests/support/strangers.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::UnorderedElementsAre;

TEST(KeptFiles, AreReadBackAsTheyWereWritten) {
  const ScratchFolder scratch;
  DiskStorage disk;
  EXPECT_TRUE(kept_files(scratch.path()).empty());
  keep_files({{"vocabulary", "[PAD]\n[UNK]\n"}, {"counts.json", "{}"}}, scratch.path(), disk);
  const auto files = kept_files(scratch.path());
  ASSERT_THAT(files, UnorderedElementsAre(Key("vocabulary"), Key("counts.json")));
  EXPECT_EQ(read_text(files.at("vocabulary").path), "[PAD]\n[UNK]\n");
  EXPECT_NE(files.at("vocabulary").sha256, files.at("counts.json").sha256);
}

TEST(KeptFiles, OfAStartThatWasKilledGo) {
  const ScratchFolder scratch;
  DiskStorage disk;
  keep_files({{"one", "1"}, {"two", "2"}}, scratch.path(), disk);
  keep_files({{"two", "2"}}, scratch.path(), disk);
  EXPECT_THAT(kept_files(scratch.path()), UnorderedElementsAre(Key("two")));
  keep_files({}, scratch.path(), disk);
  EXPECT_FALSE(fs::exists(scratch.path() / "kept"));
}

TEST(KeptFiles, GoWithoutWhatOthersHavePutThere) {
  const ScratchFolder scratch;
  DiskStorage disk;
  const auto place = scratch.path() / "run";
  fs::create_directory(place);
  keep_files({{"one", "1"}}, place, disk);
  const Strangers strangers(scratch.path() / "outside", {place / "kept" / "notes"});
  keep_files({{"two", "2"}}, place, disk);
  keep_files({}, place, disk);
  EXPECT_FALSE(fs::exists(place / "kept" / "two"));
  strangers.expect_there();
}

TEST(KeptFiles, ThatHaveChangedAreRefused) {
  const ScratchFolder scratch;
  DiskStorage disk;
  keep_files({{"vocabulary", "[PAD]\n"}}, scratch.path(), disk);
  const auto file = kept_files(scratch.path()).at("vocabulary").path;
  const auto refusal = [&] {
    try {
      kept_files(scratch.path());
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::checkpoint);
      return error.message();
    }
    return std::string();
  };
  write_text(disk, file, "[MASK]\n");
  EXPECT_THAT(refusal(), HasSubstr("vocabulary"));
  fs::remove(file);
  EXPECT_THAT(refusal(), HasSubstr("vocabulary"));
}

}  // namespace
}  // namespace larmor::testing
