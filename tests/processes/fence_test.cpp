// A rank that stood still while the run went on without it, and then wakes up.
#include <csignal>
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/small_training.h"
#include "tests/processes/support/trained_state.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int rank_lost = 8;
constexpr double seconds_to_come = 240;

bool is_stopped(int process) {
  std::ifstream file(text("/proc/", process, "/stat"));
  std::string line;
  std::getline(file, line);
  return line.find(") T ") != std::string::npos;
}

/// Every path below the folder with its content; of a link, where it points.
std::map<std::string, std::string> tree_of(const fs::path& folder) {
  std::map<std::string, std::string> tree;
  for (const auto& item : fs::recursive_directory_iterator(folder)) {
    auto& content = tree[item.path().string()];
    if (item.is_symlink())
      content = fs::read_symlink(item.path());
    else if (item.is_regular_file())
      content = read_text(item.path());
  }
  return tree;
}

class Fence : public ::testing::Test {
 protected:
  fs::path run() const { return scratch_.path() / "runs" / "run"; }
  ProgramOptions here() const { return {.folder = scratch_.path()}; }

  /// The words of a rank of generation 0 that nobody watches, and that stops where `fault` says.
  Running lone_rank(const std::string& fault) {
    ProgramOptions options = here();
    options.environment = {{"LARMOR_RANK", "0"},        {"LARMOR_WORLD_SIZE", "1"},
                           {"LARMOR_LOCAL_RANK", "0"},  {"LARMOR_LOCAL_WORLD_SIZE", "1"},
                           {"LARMOR_GENERATION", "0"},  {"LARMOR_MASTER_ADDR", "127.0.0.1"},
                           {"LARMOR_MASTER_PORT", "9"}, {"LARMOR_FAULT", fault},
                           {"OMP_NUM_THREADS", "1"}};
    return Running({"train", run().string(), "--resume", (run() / "checkpoints" / "step-00000001").string()},
                   options);
  }

  /// The run goes on and ends while its rank of generation 0 stands still there.
  void expect_that_it_changes_nothing(const std::string& where) {
    auto words = small_training("run", 1, 12);
    words.insert(words.end(), {"--steps", "1"});
    ASSERT_EQ(larmor_program(words, here()).status, 0);
    auto old = lone_rank("rank=0 do=stop " + where);
    ASSERT_TRUE(becomes_true([&] { return is_stopped(old.id()); }, seconds_to_come)) << old.err();

    const auto next = larmor_program({"train", "run"}, here());
    ASSERT_EQ(next.status, 0) << next.err;
    EXPECT_TRUE(fs::exists(run() / "DONE"));
    const auto before = tree_of(run());
    old.send(SIGCONT);
    ASSERT_TRUE(old.ends_within(seconds_to_come)) << old.err();
    const auto end = old.wait();
    EXPECT_EQ(end.status, rank_lost) << end.err;
    EXPECT_THAT(end.err,
                AllOf(HasSubstr("this rank belongs to generation 0 of the run, which is at 1 by now"),
                      HasSubstr("hint: ")));
    EXPECT_EQ(tree_of(run()), before) << "the old rank changed the run's folder";
  }

  ScratchFolder scratch_;
};

TEST_F(Fence, ARankThatWakesUpInAStepChangesNothing) {
  expect_that_it_changes_nothing("phase=computing step=6");
}

TEST_F(Fence, ARankThatWakesUpInASaveChangesNothing) {
  expect_that_it_changes_nothing("phase=saving step=4");
}

TEST_F(Fence, ARankThatWakesUpInAValidationChangesNothing) {
  expect_that_it_changes_nothing("phase=validating step=10");
}

TEST_F(Fence, ARankThatWakesUpBeforeItsFirstStepChangesNothing) {
  expect_that_it_changes_nothing("phase=starting");
}

/// As where a network file system has lost the lock of a run.
TEST_F(Fence, ALeaderThatAnotherStartHasOvertakenEndsAndLeavesTheFolderToIt) {
  auto words = small_training("run", 1, 5000);
  words.insert(words.end(), {"--max-restarts", "3"});
  Running overtaken(words, here());
  ASSERT_TRUE(becomes_true([&] { return fs::exists(run() / "checkpoints" / "last"); }, seconds_to_come))
      << overtaken.err();
  std::ofstream(run() / ".generation") << "7\n";
  ASSERT_TRUE(overtaken.ends_within(seconds_to_come)) << overtaken.err();
  const auto end = overtaken.wait();
  EXPECT_EQ(end.status, rank_lost) << end.err;
  EXPECT_THAT(end.err,
              AllOf(HasSubstr("another start has taken over"), HasSubstr("at generation 7 of the run")));
  EXPECT_FALSE(fs::exists(run() / "FAILED")) << "the run is the other's";
  EXPECT_EQ(read_text(run() / ".generation"), "7\n");
}

TEST_F(Fence, AFaultThatIsMalformedIsRefused) {
  auto words = small_training("run", 1, 12);
  words.insert(words.end(), {"--steps", "1"});
  auto options = here();
  options.environment = {{"LARMOR_FAULT", "rank=0 phase=dreaming do=kill"}};
  const auto end = larmor_program(words, options);
  EXPECT_EQ(end.status, 2) << end.err;
  EXPECT_THAT(end.err, HasSubstr("there is no phase dreaming"));
}

}  // namespace
}  // namespace larmor::testing
