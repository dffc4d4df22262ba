// Starts of runs that come between one another, and starts that fail before their run has begun.
#include <algorithm>
#include <functional>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/process/system_error.h"
#include "larmor/base/text.h"
#include "larmor/run/run_setup.h"

#include "tests/contract/trial_run.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const StageName coder{"toy", "coder"};

// Of the operations of a start each of the first ones is tried, up to the lock and beyond, and then some.
constexpr size_t first_ones = 4, stride = 5;

class Start : public ::testing::Test {
 protected:
  fs::path runs() const { return scratch_.path() / "runs"; }

  PreparedRun start(const std::vector<std::string>& words, Storage& storage, StartOptions options = {}) {
    const auto workload = workload_named(coder.workload);
    auto sources = tiny_sources(coder);
    for (const auto& word : {"run.folder=" + runs().string(), std::string("parallel.ranks=1"),
                             std::string("data.phantom_size=[8,8,8]"), std::string("train.precision=fp32")})
      sources.overrides.push_back(word);
    sources.overrides.insert(sources.overrides.end(), words.begin(), words.end());
    auto asked = load_stage(sources, workload, coder.stage);
    const ManualClock clock;  // all of one second
    return prepare_run(workload, std::move(asked), std::nullopt, std::move(options), storage, clock);
  }
  PreparedRun start(const std::vector<std::string>& words) { return start(words, disk_); }

  /// As the leader ends a run.
  void finish(PreparedRun run) {
    write_text(disk_, run.folder.checkpoints() / "learned", run.folder.root.string());
    mark_ended(disk_, ManualClock(), run.folder, 0, "length reached");
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    std::error_code none;
    for (const auto& item : fs::directory_iterator(runs(), none)) {
      if (!item.is_symlink()) names.push_back(item.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }
  static std::map<std::string, std::string> files_in(const fs::path& folder) {
    std::map<std::string, std::string> files;
    for (const auto& item : fs::recursive_directory_iterator(folder)) {
      if (item.is_regular_file() && item.path().filename() != ".lock")
        files[item.path().string()] = read_text(item.path());
    }
    return files;
  }

  /// Starts with `words`, and whole other starts with `others`, which end well, before each operation on the
  /// disk in turn. `judge` gets the first one, or how it failed, and the other's folder, if it had one.
  using Judge =
      std::function<void(std::optional<PreparedRun>, std::optional<Error>, std::optional<fs::path>)>;
  void with_another_between(const std::vector<std::string>& words, const std::vector<std::string>& others,
                            const Judge& judge) {
    size_t at = 0;
    for (bool is_reached = true; is_reached; at += at < first_ones ? 1 : stride) {
      SCOPED_TRACE(text("another start before operation ", at));
      std::optional<fs::path> other;
      size_t counted = 0;
      std::map<std::string, std::string> before;
      FaultyStorage storage([&](const FaultyStorage::Operation&) {
        if (counted++ != at) return;
        try {
          auto between = start(others);
          other = between.folder.root;
          finish(std::move(between));
          before = files_in(*other);
        } catch (const Error& error) {
          EXPECT_EQ(error.exit(), Exit::environment) << error.message();
          EXPECT_THAT(error.message(), HasSubstr("is held by process"));
        }
      });
      std::optional<PreparedRun> first;
      std::optional<Error> failure;
      try {
        first.emplace(start(words, storage));
      } catch (const Error& error) {
        failure = error;
      }
      is_reached = counted > at;
      if (is_reached) judge(std::move(first), failure, other);
      if (other) {
        EXPECT_EQ(files_in(*other), before) << "something of the other was touched";
      }
      fs::remove_all(runs());
    }
    EXPECT_GT(at, 20U);
  }

  ScratchFolder scratch_;
  DiskStorage disk_;
};

TEST_F(Start, TakesOverNoRunOfItsNameWhereverTheOtherComesBetween) {
  int lost = 0, won = 0;
  with_another_between({"run.name=x", "run.seed=1"}, {"run.name=x", "run.seed=2"},
                       [&](std::optional<PreparedRun> first, const std::optional<Error>& failure,
                           const std::optional<fs::path>& other) {
                         ASSERT_NE(first.has_value(), failure.has_value());
                         if (failure) {
                           ++lost;
                           EXPECT_TRUE(other) << failure->message();
                           EXPECT_EQ(failure->exit(), Exit::usage) << "as a second later";
                           EXPECT_THAT(failure->message(), HasSubstr("run.seed"));
                         } else {
                           ++won;
                           EXPECT_FALSE(other) << "two starts had one folder";
                           EXPECT_EQ(first->config.config.run.seed, 1);
                         }
                       });
  EXPECT_GT(lost, 0);
  EXPECT_GT(won, 0);
}

TEST_F(Start, IsARunOfItsOwnWithoutANameWhereverAnotherComesBetween) {
  with_another_between({"run.seed=1"}, {"run.seed=2"},
                       [&](std::optional<PreparedRun> first, const std::optional<Error>& failure,
                           const std::optional<fs::path>& other) {
                         ASSERT_FALSE(failure) << failure->message();
                         ASSERT_TRUE(other);
                         EXPECT_NE(first->folder.root, *other);
                         EXPECT_THAT(read_text(first->folder.config()), HasSubstr("seed: 1 "));
                         EXPECT_THAT(read_text(*other / "config.yaml"), HasSubstr("seed: 2 "));
                       });
}

TEST_F(Start, ThatFailsBeforeItsRunHasBegunLeavesNoFolder) {
  const std::vector<std::string> no_data{"data.kind=nifti",
                                         "data.folder=" + (scratch_.path() / "none").string()},
      no_plan{"train.global_batch=3", "train.micro_batch=2"};
  for (const auto* name : {"auto", "x"}) {
    for (auto words : {no_data, no_plan}) {
      words.push_back(text("run.name=", name));
      EXPECT_THROW(start(words), Error) << words.front();
      EXPECT_THAT(names(), IsEmpty()) << words.front();
    }
  }
  // And wherever the disk fails; what it could not take away then is no run.
  size_t at = 0;
  for (bool is_reached = true; is_reached; at += at < first_ones ? 1 : stride) {
    SCOPED_TRACE(at);
    size_t counted = 0;
    FaultyStorage storage([&](const FaultyStorage::Operation& operation) {
      if (counted++ == at) fail_errno(EIO, operation.name, operation.path);
    });
    try {
      const auto run = start({"run.name=x"}, storage);
      EXPECT_TRUE(counted <= at || !run.notes.empty()) << "a disk that has failed was not noticed";
    } catch (const Error&) {
      EXPECT_TRUE(names().empty() || RunFolder{runs() / "x"}.is_run());
    }
    is_reached = counted > at;
    finish(start({"run.name=x"}));
    fs::remove_all(runs());
  }
  EXPECT_GT(at, 20U);
}

TEST_F(Start, OfARequeuedJobFindsItsRunBesideBrokenOnes) {
  const auto mine = start({}, disk_, {.job = "slurm 7"}).folder.root;
  for (const auto* name : {"99990101-000000-a", "99990101-000000-b", "99990101-000000-c"}) {
    disk_.create_folders(runs() / name);
    write_text(disk_, runs() / name / "config.yaml", "");
  }
  write_text(disk_, runs() / "99990101-000000-b" / "environment.json", R"({"job": 7)");
  write_text(disk_, runs() / "99990101-000000-c" / "environment.json", R"({"job": 7, "asked": []})");
  EXPECT_EQ(start({}, disk_, {.job = "slurm 7", .again = true}).folder.root, mine);
}

TEST_F(Start, GoesOnWhereTheLinkToTheNewestIsAnothers) {
  FaultyStorage storage([](const FaultyStorage::Operation& operation) {
    if (operation.name == "link") fail_errno(EPERM, "replace the link", operation.path);
  });
  const auto run = start({"run.name=x"}, storage);
  EXPECT_TRUE(run.folder.is_run());
  EXPECT_THAT(run.notes, Contains(HasSubstr("latest does not lead to this run")));
}

TEST_F(Start, OfARunThatIsOverSaysSoWhereNothingCanBeLocked) {
  finish(start({"run.name=x"}));
  const FileLock held(runs() / "x" / ".lock");
  EXPECT_TRUE(start({"run.name=x"}).already_done);
  EXPECT_THROW(start({"run.name=x", "run.seed=2"}), Error);
}

}  // namespace
}  // namespace larmor::testing
