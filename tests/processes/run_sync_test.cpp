// What a run records, as a tracking server gets it: while the run is trained, and later by `larmor sync`.
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/trained_run.h"
#include "tests/services/support/small_mlflow.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int usage = 2, environment = 4;

class Sync : public TrainedRun {
 protected:
  /// The names, steps and values of the log.
  static std::set<std::string> recorded(const fs::path& run) {
    std::set<std::string> all;
    for (const auto& line : split(read_text(run / "events.jsonl"), '\n')) {
      if (line.empty()) continue;
      const auto event = Json::parse(line);
      for (const auto& [name, value] : event.at("values").items())
        all.insert(text(name, '@', event.at("step").dump(), '=', value.dump()));
    }
    return all;
  }
  static std::set<std::string> received(const SmallMlflow& mlflow) {
    std::set<std::string> all;
    for (const auto& one : mlflow.metrics) {
      const auto value = one.at("value").is_string() ? std::string("null") : one.at("value").dump();
      all.insert(text(one.at("key").get<std::string>(), '@', one.at("step").dump(), '=', value));
    }
    return all;
  }
  static std::vector<std::string> tracked_training(const std::string& name, const SmallMlflow& mlflow) {
    auto words = small_training(name, /*ranks=*/1, /*steps=*/12);
    words.push_back("track.mlflow.uri=" + mlflow.server.address());
    return words;
  }
};

TEST_F(Sync, SendsARunWhileItIsTrained) {
  SmallMlflow mlflow;
  const auto end = call(tracked_training("sent", mlflow));
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("MLflow shows the run at http://127.0.0.1"));
  EXPECT_EQ(received(mlflow), recorded(folder() / "runs" / "sent"));
  EXPECT_EQ(mlflow.status, "FINISHED");
  EXPECT_FALSE(mlflow.pictures.empty());
  EXPECT_FALSE(mlflow.params.empty());
  const auto again = call({"sync", "sent", "--to", "mlflow"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("0 events and 0 pictures sent to MLflow"));
  EXPECT_EQ(mlflow.runs.size(), 1U);
}

TEST_F(Sync, LosesNothingToAServerThatFailsAndLeavesTheRunAlone) {
  SmallMlflow mlflow;
  mlflow.failures = 1'000'000;
  const auto end = call(tracked_training("unsent", mlflow));
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("MLflow does not take the run for now"), HasSubstr("answers 503"),
                             HasSubstr("larmor sync"), HasSubstr("--to mlflow sends the rest")));
  EXPECT_TRUE(fs::exists(folder() / "runs" / "unsent" / "DONE"));
  EXPECT_TRUE(mlflow.metrics.empty());
  EXPECT_THAT(call({"sync", "unsent", "--to", "mlflow"}).err, HasSubstr("is held by process"))
      << "the training has left its sender behind, which goes on trying";
  mlflow.failures = 0;
  while (call({"sync", "unsent", "--to", "mlflow"}).status != 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(received(mlflow), recorded(folder() / "runs" / "unsent"));
  EXPECT_EQ(mlflow.runs.size(), 1U) << "there is no second run of it";
}

TEST_F(Sync, SendsAnOldRunAndTheRestOfItOnceItHasGoneOn) {
  SmallMlflow mlflow;
  copy_of_run("old");
  const auto uri = "track.mlflow.uri=" + mlflow.server.address();
  const auto look = call({"sync", "old", "--to", "mlflow", uri, "--dry-run"});
  EXPECT_THAT(look.out, HasSubstr("pictures are to be sent to MLflow"));
  EXPECT_TRUE(mlflow.server.asked().empty());
  ASSERT_EQ(call({"sync", "old", "--to", "mlflow", uri}).status, 0);
  EXPECT_EQ(received(mlflow), recorded(folder() / "runs" / "old"));
  ASSERT_EQ(call({"train", "old", "train.length=18st"}).status, 0);
  fs::rename(folder() / "runs" / "old", folder() / "moved");
  ASSERT_EQ(call({"sync", "moved", "--to", "mlflow", uri}).status, 0);
  EXPECT_EQ(received(mlflow), recorded(folder() / "moved"));
  EXPECT_EQ(mlflow.runs.size(), 1U);
}

TEST_F(Sync, RefusesWhatCannotBeMeant) {
  EXPECT_EQ(call({"sync", "run", "--to", "mlflo"}).status, usage);
  EXPECT_THAT(call({"sync", "run", "--to", "mlflow"}).err, HasSubstr("track.mlflow.uri=http://HOST:PORT"));
  const auto secret = call({"sync", "run", "--to", "mlflow", "track.mlflow.uri=http://me:secret@host"});
  EXPECT_EQ(secret.status, usage);
  EXPECT_THAT(secret.err, Not(HasSubstr("secret@")));
  auto words = small_training("never", 1, 12);
  words.push_back("track.mlflow.uri=mlruns");
  EXPECT_EQ(call(words).status, usage);
  EXPECT_FALSE(fs::exists(folder() / "runs" / "never"));
  const auto nobody = call({"sync", "run", "--to", "trackio", "track.trackio.uri=http://127.0.0.1:9"});
  EXPECT_EQ(nobody.status, environment);
  EXPECT_THAT(nobody.err, HasSubstr("http://127.0.0.1:9 gives no answer"));
}

TEST_F(Sync, IsNoWordToARunThatIsSentNowhere) {
  const auto end = call(small_training("quiet", 1, 12));
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err,
              AllOf(Not(HasSubstr("MLflow")), Not(HasSubstr("Trackio")), Not(HasSubstr("Weights &"))));
}

TEST_F(Sync, LeavesATrialAlone) {
  SmallMlflow mlflow;
  auto words = small_training("tried", 1, 12);
  words.insert(words.end(), {"--try", "track.mlflow.uri=" + mlflow.server.address()});
  const auto end = call(words);
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_TRUE(mlflow.server.asked().empty());
}

TEST_F(Sync, OfWandbSaysWhatIsMissingAndTheRunGoesOn) {
  auto words = small_training("lonely", 1, 12);
  words.insert(words.end(), {"track.wandb.enabled=true", "track.wandb.mode=offline"});
  const auto end =
      larmor_program(words, {.folder = folder(), .environment = {{"LARMOR_PYTHON", "no-such-python"}}});
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("Weights & Biases"));
}

}  // namespace
}  // namespace larmor::testing
