#include "larmor/device/trial_record.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/build_id.h"
#include "larmor/base/files/file.h"

namespace larmor::testing {
namespace {

using ::testing::ExitedWithCode;
using ::testing::HasSubstr;

/// What a process with its cache in this folder finds kept: 0 nothing, 1 its word. It keeps one where there
/// was none.
int status_of_start(const std::filesystem::path& cache) {
  ::setenv("XDG_CACHE_HOME", cache.c_str(), 1);
  start_trial_record();
  if (trial_record()->outcome("a form")) return 1;
  trial_record()->keep("a form", "columns");
  return trial_record()->outcome("a form") ? 0 : 2;
}

std::filesystem::path only_record(const std::filesystem::path& cache) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(cache / "larmor" / "trials"))
    files.push_back(entry.path());
  EXPECT_EQ(files.size(), 1U);
  return files.front();
}

TEST(TrialRecordOfProcess, IsBelievedByTheSameBuildAlone) {
  const ScratchFolder scratch;
  EXPECT_EXIT(std::_Exit(status_of_start(scratch.path())), ExitedWithCode(0), "") << "nothing was kept";
  EXPECT_EXIT(std::_Exit(status_of_start(scratch.path())), ExitedWithCode(1), "") << "by the same program";
  const auto file = only_record(scratch.path());
  std::string lines = read_text(file);
  ASSERT_THAT(lines, HasSubstr(build_id()));
  std::string other = build_id();
  other.back() = other.back() == '0' ? '1' : '0';
  std::ofstream(file) << lines.replace(lines.find(build_id()), other.size(), other);
  EXPECT_EXIT(std::_Exit(status_of_start(scratch.path())), ExitedWithCode(0), "") << "of another build";
  EXPECT_EXIT(std::_Exit(status_of_start(scratch.path())), ExitedWithCode(1), "") << "which it has replaced";
  only_record(scratch.path());
}

}  // namespace
}  // namespace larmor::testing
