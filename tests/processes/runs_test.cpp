// Runs as things that take room: listed, taken away, their checkpoints pinned, and read where nothing can be
// written.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/process/process.h"
#include "larmor/base/text.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/small_disk.h"
#include "tests/processes/support/trained_run.h"
#include "tests/processes/support/trained_state.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int usage = 2, environment = 4;

class Runs : public TrainedRun {
 protected:
  static fs::path at(const std::string& name) { return folder() / "runs" / name; }
  static Json row_of(const std::string& name) {
    const Json rows = call({"runs", "--json"}).json();
    for (const auto& row : rows) {
      if (row["run"] == name) return row;
    }
    return nullptr;
  }
};

TEST_F(Runs, AreListedWithWhatEachTakes) {
  const auto row = row_of("run");
  EXPECT_EQ(row["workload"], "latent_diffusion");
  EXPECT_EQ(row["stage"], "autoencoder");
  EXPECT_EQ(row["state"], "done");
  EXPECT_EQ(row["step"], 12);
  EXPECT_EQ(row["last_step"], 12);
  EXPECT_EQ(row["steps"], 12);
  EXPECT_GT(row["bytes"], fs::file_size(run() / "checkpoints" / "last" / "model.safetensors"));
  EXPECT_EQ(row["needed_by"], Json::array());
  EXPECT_THAT(call({"runs"}).out, AllOf(HasSubstr("run  done, step 12 of 12, "), Not(HasSubstr("latest"))));
  EXPECT_THAT(call({"runs", "--folder", "none"}).out, HasSubstr("no runs in none"));
}

TEST_F(Runs, TellWhetherTheyAreTrainedAndHowTheyEnded) {
  const auto rows_while = [&](const std::string& name, int signal) {
    Running training(small_training(name, /*ranks=*/1, /*steps=*/4000), here());
    EXPECT_TRUE(reaches_step(at(name), 5)) << training.err();
    const auto row = row_of(name);
    EXPECT_EQ(row["state"], "training");
    EXPECT_EQ(row["held_by"], text("process ", training.id(), " on ", host_name()));
    EXPECT_GE(row["last_step"], 5);
    EXPECT_EQ(row["steps"], 4000);
    EXPECT_TRUE(fs::exists(at(name) / ".heartbeat"));
    EXPECT_THAT(call({"runs"}).out, HasSubstr(name + "  training, step "));
    training.send(signal);
    training.wait();
    return row_of(name);
  };
  const auto stopped = rows_while("stopped", SIGTERM);
  EXPECT_EQ(stopped["state"], "stopped");
  EXPECT_EQ(stopped["step"], stopped["last_step"]) << "its last step is saved";
  EXPECT_TRUE(stopped["held_by"].is_null());
  EXPECT_FALSE(fs::exists(at("stopped") / ".heartbeat"));
  const auto killed = rows_while("killed", SIGKILL);
  EXPECT_EQ(killed["state"], "interrupted");
  EXPECT_TRUE(killed["held_by"].is_null());
  EXPECT_EQ(call({"runs", "--remove", "stopped", "killed"}).status, 0);
}

TEST_F(Runs, AreRemovedOnceItHasBeenSaidWhatThatFrees) {
  copy_of_run("one");
  copy_of_run("two");
  const auto dry = call({"runs", "--remove", "one", "two", "--dry-run"});
  EXPECT_EQ(dry.status, 0) << dry.err;
  EXPECT_THAT(dry.out,
              AllOf(HasSubstr("to be removed: "), HasSubstr("runs/two, done, "), HasSubstr("in all")));
  EXPECT_TRUE(fs::exists(at("one") / "config.yaml"));
  const auto end = call({"runs", "--remove", "one", "runs/two", "--json"});
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("to be removed: "));
  EXPECT_EQ(end.json().size(), 2U);
  EXPECT_GT(end.json()[0]["bytes"], 1000);
  EXPECT_FALSE(fs::exists(at("one")) || fs::exists(at("two")));
  EXPECT_EQ(fs::read_symlink(at("latest")), "run");
  EXPECT_EQ(call({"runs", "--remove", "one"}).status, usage) << "it is gone";
}

TEST_F(Runs, StayAllOfThemWhereOneIsHeld) {
  copy_of_run("free");
  const auto held = copy_of_run("held");
  const FileLock training(held / ".lock");
  const auto end = call({"runs", "--remove", "free", "held", "--force"});
  EXPECT_EQ(end.status, environment);
  EXPECT_THAT(end.err, HasSubstr("is held by process"));
  EXPECT_TRUE(fs::exists(at("free") / "config.yaml"));
  EXPECT_TRUE(fs::exists(held / "config.yaml"));
}

TEST_F(Runs, ThatOthersGoOnFromAreRemovedByForceAlone) {
  copy_of_run("source");
  auto words = small_training("next", 1, 24);
  words.insert(words.end(), {"--resume", "runs/source/checkpoints/last", "--steps", "12"});
  ASSERT_EQ(call(words).status, 0);
  EXPECT_EQ(row_of("source")["needed_by"], Json::array({"next"}));
  const auto end = call({"runs", "--remove", "source"});
  EXPECT_EQ(end.status, usage);
  EXPECT_THAT(end.err, AllOf(HasSubstr("source is needed by next"), HasSubstr("--force")));
  EXPECT_TRUE(fs::exists(at("source")));
  EXPECT_EQ(call({"runs", "--remove", "source", "next", "--dry-run"}).status, 0) << "neither needs the other";
  EXPECT_EQ(call({"runs", "--remove", "source", "--force"}).status, 0);
  EXPECT_FALSE(fs::exists(at("source")));
}

TEST_F(Runs, KeepCheckpointsThatArePinned) {
  const auto pinned = copy_of_run("pinned");
  const auto names = checkpoint_names(pinned);
  const auto config = read_text(pinned / "config.yaml");
  auto one = config;
  one.replace(one.find("keep_last: 2"), 12, "keep_last: 1");
  one.replace(one.find("keep_best: 1"), 12, "keep_best: 0");
  put_file(pinned / "config.yaml", one);
  const auto pin = call({"checkpoint", "pin", "pinned", "--checkpoint", names.front(), "--json"});
  EXPECT_EQ(pin.status, 0) << pin.err;
  EXPECT_EQ(pin.json()["pinned"], true);
  EXPECT_THAT(call({"checkpoint", "list", "pinned"}).out, HasSubstr("pinned"));
  EXPECT_EQ(call({"checkpoint", "prune", "pinned", "--json"}).json(), Json::array());
  put_file(pinned / "config.yaml", config);
  ASSERT_EQ(call({"train", "pinned", "train.length=20st", "checkpoint.keep_last=1", "checkpoint.keep_best=0"})
                .status,
            0);
  EXPECT_EQ(checkpoint_names(pinned).front(), names.front()) << "later saves leave it";
  EXPECT_EQ(row_of("pinned")["pinned"], Json::array({names.front()}));
  const auto kept = call({"runs", "--remove", "pinned"});
  EXPECT_EQ(kept.status, usage);
  EXPECT_THAT(kept.err, HasSubstr("has checkpoints that are pinned: " + names.front()));
  EXPECT_EQ(call({"checkpoint", "unpin", "pinned", "--checkpoint", names.front()}).status, 0);
  EXPECT_EQ(call({"checkpoint", "prune", "pinned", "--json"}).json(), Json::array({names.front()}));
  EXPECT_EQ(call({"runs", "--remove", "pinned"}).status, 0);
}

TEST_F(Runs, ArePredictedFromEvaluatedAndExportedOnADiskThatCannotBeWritten) {
  const auto writable = copy_of_run("writable");
  const SmallDisk disk(folder() / "archive", "size=64m");
  if (!disk.is_there()) GTEST_SKIP() << "mounting a small disk takes root";
  fs::copy(writable, folder() / "archive" / "old",
           fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  disk.make_read_only();
  put_file(folder() / "head.nii", nifti_bytes());
  const auto same = [&](const std::vector<std::string>& before, const std::vector<std::string>& after) {
    const auto of_run = [&](const std::string& name) {
      auto words = before;
      words.push_back(name);
      words.insert(words.end(), after.begin(), after.end());
      return call(words);
    };
    const auto here = of_run("runs/writable"), there = of_run("archive/old");
    EXPECT_EQ(there.status, 0) << there.err;
    EXPECT_EQ(there.out, here.out);
    return there;
  };
  const auto evaluated = same({"evaluate"}, {"--json"});
  EXPECT_THAT(evaluated.err, HasSubstr("pictures"));
  same({"predict"}, {"--input", "head.nii", "--output", "out.nii", "--json"});
  same({"export"}, {"--output", "out.safetensors", "--json"});
  same({"checkpoint", "list"}, {"--json"});
  same({"checkpoint", "verify"}, {"--json"});
  EXPECT_EQ(call({"runs", "--folder", "archive"}).status, 0);
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"train", "archive/old", "train.length=20st"},
                                             {"runs", "--folder", "archive", "--remove", "old"},
                                             {"checkpoint", "pin", "archive/old"},
                                             {"checkpoint", "prune", "archive/old"}}) {
    const auto end = call(words);
    EXPECT_EQ(end.status, environment) << words[0] << " " << end.err;
    EXPECT_THAT(end.err, HasSubstr("Read-only file system"));
  }
}

}  // namespace
}  // namespace larmor::testing
