#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One of everything, in the order of a checkpoint.
void use_all(Storage& storage, const std::filesystem::path& folder) {
  storage.create_folders(folder / "new");
  static_cast<void>(storage.free_bytes(folder));
  const auto file = storage.create(folder / "new/file");
  file->write(std::string_view("x"));
  file->sync();
  file->close();
  storage.append(folder / "new/log")->close();
  storage.stream("/dev/null")->close();
  storage.point("manifest.written");
  storage.sync_folder(folder / "new");
  storage.rename(folder / "new", folder / "done");
  storage.replace_link(folder / "last", "done");
  storage.remove_all(folder / "done");
}

std::vector<std::string> names(const FaultyStorage& storage) {
  std::vector<std::string> out;
  for (const auto& operation : storage.operations()) out.push_back(operation.name);
  return out;
}

TEST(FaultyStorage, RecordsEveryOperationInOrder) {
  const ScratchFolder scratch;
  FaultyStorage storage({});
  use_all(storage, scratch.path());
  EXPECT_THAT(names(storage), ElementsAre("create_folders", "free_bytes", "create", "write", "sync", "close",
                                          "append", "close", "stream", "close", "manifest.written",
                                          "sync_folder", "rename", "link", "remove_all"));
  EXPECT_EQ(storage.operations()[2].path, scratch.path() / "new/file");
  EXPECT_EQ(storage.operations()[12].path, scratch.path() / "done");
  EXPECT_TRUE(storage.operations()[10].path.empty());
}

TEST(FaultyStorage, CanMakeEveryOperationFailAndThenDoesNotDoIt) {
  constexpr size_t operations = 15;
  for (size_t broken = 0; broken < operations; ++broken) {
    const ScratchFolder scratch;
    size_t seen = 0;
    FaultyStorage storage([&](const FaultyStorage::Operation&) {
      if (seen++ == broken) fail(Exit::environment, "on purpose");
    });
    EXPECT_THROW(use_all(storage, scratch.path()), Error) << broken;
    EXPECT_EQ(storage.operations().size(), broken + 1);
    EXPECT_EQ(std::filesystem::exists(scratch.path() / "new"), broken > 0 && broken <= 12) << broken;
  }
}

class FailPoint : public ::testing::Test {
 protected:
  ~FailPoint() override { ::unsetenv("LARMOR_FAIL_POINT"); }

  static std::unique_ptr<Storage> storage_with(const char* setting) {
    ::setenv("LARMOR_FAIL_POINT", setting, 1);
    return make_storage();
  }

  // Which of five passes through the point fail.
  static std::string failures(const char* setting) {
    const std::unique_ptr<Storage> storage = storage_with(setting);
    std::string out;
    for (int i = 0; i < 5; ++i) {
      try {
        storage->point("here");
        storage->point("elsewhere");
        out += '.';
      } catch (const Error& error) {
        EXPECT_EQ(error.exit(), Exit::environment);
        out += error.hint().find("free space") == 0 ? 'f' : 'i';
      }
    }
    return out;
  }
};

TEST_F(FailPoint, LeavesTheDiskAloneWhenNotSet) {
  ::unsetenv("LARMOR_FAIL_POINT");
  EXPECT_NE(dynamic_cast<DiskStorage*>(make_storage().get()), nullptr);
}

TEST_F(FailPoint, FailsTheTimeThatWasAskedFor) {
  EXPECT_EQ(failures("here:io"), "i....");
  EXPECT_EQ(failures("here:3:full"), "..f..");
  EXPECT_EQ(failures("here:3+:full"), "..fff");
  EXPECT_EQ(failures("nowhere:io"), ".....");
}

TEST_F(FailPoint, KnowsTheErrorsThatStorageHas) {
  const std::map<std::string, int> errors = {{"full", ENOSPC},    {"io", EIO},       {"quota", EDQUOT},
                                             {"readonly", EROFS}, {"files", EMFILE}, {"stale", ESTALE}};
  for (const auto& [word, error] : errors) {
    try {
      storage_with(("here:" + word).c_str())->point("here");
      ADD_FAILURE() << word;
    } catch (const Error& thrown) {
      EXPECT_THAT(thrown.message(), HasSubstr(std::strerror(error)));
    }
  }
}

TEST_F(FailPoint, FailsRealOperationsByTheirName) {
  const ScratchFolder scratch;
  const auto storage = storage_with("rename:full");
  EXPECT_NO_THROW(storage->create(scratch.path() / "a")->close());
  try {
    storage->rename(scratch.path() / "a", scratch.path() / "b");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("No space left on device"));
  }
  EXPECT_TRUE(std::filesystem::exists(scratch.path() / "a"));
}

TEST_F(FailPoint, KillsTheProcessUnlessToldOtherwise) {
  EXPECT_EXIT(storage_with("here")->point("here"), ::testing::KilledBySignal(SIGKILL), "");
  EXPECT_EXIT(storage_with("here:1:kill")->point("here"), ::testing::KilledBySignal(SIGKILL), "");
}

TEST_F(FailPoint, RefusesASettingItDoesNotUnderstand) {
  for (const char* setting : {":io", "a:b", "a:0", "a:-1:io", "a:1x", "a:io:1", "a:1:2", "a:io:io", "a:"}) {
    try {
      storage_with(setting);
      ADD_FAILURE() << setting;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::usage);
    }
  }
}

}  // namespace
}  // namespace larmor
