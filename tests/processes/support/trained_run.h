// One trained run for all tests of a suite: whoever changes a run has a copy of it.
#pragma once

#include <gtest/gtest.h>

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/small_training.h"

namespace larmor::testing {

class TrainedRun : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new ScratchFolder;
    const auto end = larmor_program(small_training("run", /*ranks=*/1, /*steps=*/12), here());
    ASSERT_EQ(end.status, 0) << end.err;
  }
  static void TearDownTestSuite() {
    delete scratch_;
    scratch_ = nullptr;
  }

  static std::filesystem::path folder() { return scratch_->path(); }
  static std::filesystem::path run() { return folder() / "runs" / "run"; }
  static ProgramOptions here() { return {.folder = folder()}; }
  /// larmor, started in folder().
  static Finished call(std::vector<std::string> words) { return larmor_program(std::move(words), here()); }
  /// runs/<name>, a copy of the run.
  static std::filesystem::path copy_of_run(const std::string& name) {
    using std::filesystem::copy_options;
    std::filesystem::copy(run(), folder() / "runs" / name,
                          copy_options::recursive | copy_options::copy_symlinks);
    return folder() / "runs" / name;
  }

 private:
  static inline ScratchFolder* scratch_ = nullptr;
};

}  // namespace larmor::testing
