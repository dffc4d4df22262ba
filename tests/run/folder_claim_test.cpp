#include "larmor/run/folder_claim.h"

#include <algorithm>
#include <barrier>
#include <mutex>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FolderClaims : public ::testing::Test {
 protected:
  fs::path runs() const { return scratch_.path() / "runs"; }
  RunFolder run(const std::string& name) const { return {runs() / name}; }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& item : fs::directory_iterator(runs())) names.push_back(item.path().filename().string());
    std::ranges::sort(names);
    return names;
  }
  void begin(const RunFolder& folder) { write_text(disk_, folder.config(), "{}\n"); }

  ScratchFolder scratch_;
  DiskStorage disk_;
};

TEST_F(FolderClaims, OfOneSecondHaveNamesOfTheirOwn) {
  auto first = FolderClaim::of_new(runs(), "now", disk_), second = FolderClaim::of_new(runs(), "now", disk_),
       third = FolderClaim::of_new(runs(), "now", disk_);
  EXPECT_THAT(names(), ElementsAre("now", "now-2", "now-3"));
  EXPECT_EQ(third.folder().root, runs() / "now-3");
}

TEST_F(FolderClaims, ThatAreGivenUpLeaveNothingUnlessTheRunHasBegun) {
  {
    const FolderClaim claim(run("given"), disk_), automatic = FolderClaim::of_new(runs(), "now", disk_);
  }
  EXPECT_FALSE(fs::exists(runs())) << "the folder of runs was made by the first of the two";
  {
    const FolderClaim claim(run("begun"), disk_);
    begin(claim.folder());
  }
  fs::create_directory(runs() / "mine");
  {
    const FolderClaim claim(run("mine"), disk_);
  }
  EXPECT_THAT(names(), ElementsAre("begun", "mine")) << "what was there before stays";
}

TEST_F(FolderClaims, ThatAnotherHoldsAreRefusedAndNothingIsTouched) {
  const FolderClaim held(run("x"), disk_);
  try {
    const FolderClaim second(run("x"), disk_);
    FAIL() << "two claims of one folder";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::environment);
    EXPECT_THAT(error.message(), HasSubstr("is held by process"));
  }
  EXPECT_THAT(names(), ElementsAre("x"));
}

TEST_F(FolderClaims, OfARunThatIsOverCanBeAskedAboutWhileAnotherHoldsIt) {
  disk_.create_folders(run("x").root);
  begin(run("x"));
  const FileLock held(run("x").lock());
  EXPECT_THROW(FolderClaim(run("x"), disk_), Error);
  mark_ended(disk_, ManualClock(), run("x"), 0, "length reached");
  const FolderClaim claim(run("x"), disk_);
  EXPECT_TRUE(claim.folder().is_done());
  EXPECT_THROW(claim.require_lock(), Error);
}

TEST_F(FolderClaims, AreRefusedWhereTheNameIsAFiles) {
  disk_.create_folders(runs());
  write_text(disk_, run("x").root, "");
  EXPECT_THROW(FolderClaim(run("x"), disk_), Error);
  EXPECT_EQ(FolderClaim::of_new(runs(), "x", disk_).folder().root, runs() / "x-2");
}

TEST_F(FolderClaims, OfRunsToComeAreTakenAwayOnlyWhereNoneHasBegun) {
  for (const auto* name : {"begun", "held", "empty"}) disk_.create_folders(run(name).root);
  begin(run("begun"));
  const FolderClaim held(run("held"), disk_);
  for (const auto* name : {"begun", "held", "empty", "absent"}) remove_unbegun(run(name), disk_);
  EXPECT_THAT(names(), ElementsAre("begun", "held"));
}

// Each round a name that all want, and one for whoever comes. Half of the claims are given up.
TEST_F(FolderClaims, AreOneEachHoweverManyCome) {
  constexpr int rounds = 20, threads = 6;
  std::barrier together(threads);
  std::vector<std::vector<fs::path>> got(threads);
  std::vector<int> given(rounds, 0);
  std::mutex mutex;
  const auto start = [&](int thread) {
    DiskStorage disk;
    for (int round = 0; round < rounds; ++round) {
      together.arrive_and_wait();
      const auto name = "round-" + std::to_string(round);
      auto claim = FolderClaim::of_new(runs(), name, disk);
      if ((thread + round) % 2 == 0) {
        write_text(disk, claim.folder().config(), std::to_string(thread));
        got[static_cast<size_t>(thread)].push_back(claim.folder().root);
      }
      try {
        const FolderClaim named(run("given-" + std::to_string(round)), disk);
        if (named.folder().is_run()) continue;
        write_text(disk, named.folder().config(), std::to_string(thread));
        const std::lock_guard lock(mutex);
        ++given[static_cast<size_t>(round)];
      } catch (const Error& error) {
        EXPECT_THAT(error.message(), HasSubstr("is held by"));
      }
    }
  };
  std::vector<std::thread> all;
  for (int thread = 0; thread < threads; ++thread) all.emplace_back(start, thread);
  for (auto& thread : all) thread.join();
  EXPECT_THAT(given, ::testing::Each(1));
  size_t runs_there = 0;
  for (int thread = 0; thread < threads; ++thread) {
    for (const auto& root : got[static_cast<size_t>(thread)]) {
      EXPECT_EQ(read_text(root / "config.yaml"), std::to_string(thread)) << root;
      ++runs_there;
    }
  }
  EXPECT_EQ(names().size(), runs_there + rounds) << "a claim that was given up has left its folder";
}

}  // namespace
}  // namespace larmor::testing
