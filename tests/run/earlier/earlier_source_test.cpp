#include "larmor/run/earlier/earlier_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/checkpoint/checkpoint.h"
#include "larmor/run/earlier/earlier_run.h"
#include "larmor/run/kept_files.h"

#include "tests/checkpoint/support/small_snapshot.h"
#include "tests/support/strangers.h"
#include "tests/task/support/made_up_stage.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::UnorderedElementsAre;

/// Four stages: the second keeps the first, the third keeps the second, and the fourth starts from the third.
Workload four_stages() {
  const auto make = [] { return std::make_unique<MadeUpStage>(); };
  using Use = Need::Use;
  return {"made_up",
          {{.name = "first", .make = make},
           {.name = "second", .make = make, .needs = {{"first", Use::keeps}}},
           {.name = "third", .make = make, .needs = {{"second", Use::keeps}, {"first", Use::keeps}}},
           {.name = "fourth", .make = make, .needs = {{"third", Use::starts_from}}}}};
}

class EarlierSourceOf : public ::testing::Test {
 protected:
  RunFolder run(const std::string& name) const { return {scratch_.path() / name}; }

  LoadedConfig config_of(const std::string& stage, std::vector<std::string> words) const {
    words.push_back("run.folder=" + scratch_.path().string());
    return load_stage({.files = {}, .environment = {}, .overrides = std::move(words)}, workload_, stage)
        .config;
  }

  /// A run with checkpoints of these steps, of which the later ones are the better ones.
  void put_run(const std::string& name, const std::string& stage, const std::vector<int64_t>& steps,
               const std::vector<std::string>& words = {}) {
    disk_.create_folders(run(name).checkpoints());
    auto config = config_of(stage, words);
    Index index{.kind = "npz", .folder = "/data", .cases = {}, .patients_by = "each its own"};
    index.cases.push_back({.files = {{"image", "v.npy"}}, .patient = "trained " + name});
    write_text(disk_, run(name).index(), to_text(to_json(index)));
    write_text(disk_, run(name).environment(), to_text(Json{{"workload", "made_up"}, {"stage", stage}}));
    if (const auto earlier = earlier_of_config(workload_, config.config)) {
      keep_earlier(earlier->sources(), run(name), disk_);
      freeze_earlier(config, *earlier, Json::object());
    }
    write_text(disk_, run(name).config(), config.to_yaml(/*with_origins=*/true));
    const auto solo = make_solo();
    auto options = saved_at_once();
    options.keep_last = 9;
    CheckpointWriter writer(run(name).checkpoints(), disk_, *solo, options);
    for (const auto step : steps) {
      auto snapshot = small_snapshot(step, 0, 1.0 / static_cast<double>(step));
      snapshot.state["task"] = Json{{"scale", step}};
      writer.save(snapshot, false);
    }
  }
  EarlierSource found(const std::string& words) const {
    return find_earlier(workload_, "first", words, scratch_.path()).at("first");
  }
  std::string refusal(const std::string& stage, const std::vector<std::string>& words) const {
    try {
      earlier_of_config(workload_, config_of(stage, words).config)->sources();
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::usage);
      return error.message();
    }
    return "";
  }

  const Workload workload_ = four_stages();
  ScratchFolder scratch_;
  DiskStorage disk_;
};

TEST_F(EarlierSourceOf, ARunIsItsBestCheckpointUnlessAnotherIsNamed) {
  put_run("run", "first", {1, 2, 3});
  EXPECT_EQ(found("run").checkpoint, "step-00000003");
  EXPECT_EQ(found("run#best").checkpoint, "step-00000003");
  EXPECT_EQ(found(run("run").root.string() + "#last").checkpoint, "step-00000003");
  EXPECT_EQ(found("run#step-00000001").checkpoint, "step-00000001");
  EXPECT_EQ(found("run#step-00000001").task_values["scale"], 1);
}

TEST_F(EarlierSourceOf, WithEqualWeightsHasOneHashWhereverTheyLie) {
  put_run("run", "first", {1, 2});
  put_run("copy", "first", {2});
  put_run("other", "first", {2}, {"model.width=3"});
  EXPECT_EQ(found("run").hash(), found("copy").hash());
  EXPECT_NE(found("run").hash(), found("run#step-00000001").hash());
  EXPECT_NE(found("run").hash(), found("other").hash()) << "of another configuration";
}

TEST_F(EarlierSourceOf, WhatARunHasKeptIsWhatWasFound) {
  put_run("run", "first", {1, 2});
  put_run("later", "second", {1}, {"from.first=run"});
  const auto expected = found("run");
  fs::remove_all(run("run").root);
  const auto kept = kept_earlier(run("later"));
  ASSERT_THAT(kept, UnorderedElementsAre(Key("first")));
  EXPECT_EQ(kept.at("first").hash(), expected.hash());
  EXPECT_EQ(kept.at("first").checkpoint, "step-00000002");
  EXPECT_THAT(kept.at("first").trained_on.people, UnorderedElementsAre("trained run"));
  EXPECT_THAT(trained_on_by(run("later")).people, UnorderedElementsAre("trained run", "trained later"));
  const auto again = load_run_stage(run("later"), workload_);
  EXPECT_EQ(again.config.config.from.at("first"), expected.hash());
  EXPECT_EQ(again.stage->earlier()->stage("first").config.config.stage, "first");
}

TEST_F(EarlierSourceOf, AStartThatWasKilledGoesWithoutWhatOthersHavePutThere) {
  put_run("run", "first", {1});
  put_run("later", "second", {1}, {"from.first=run"});
  const auto from = run("later").from();
  const Strangers strangers(scratch_.path() / "outside", {from / "notes", from / "first" / "notes"});
  keep_earlier({}, run("later"), disk_);
  EXPECT_TRUE(kept_earlier(run("later")).empty());
  EXPECT_FALSE(fs::exists(from / "first" / "model.safetensors"));
  strangers.expect_there();
}

TEST_F(EarlierSourceOf, WhatItHasKeptIsHandedOnFlat) {
  put_run("one", "first", {1});
  put_run("two", "second", {1}, {"from.first=one"});
  put_run("three", "third", {1}, {"from.second=two"});
  EXPECT_THAT(kept_earlier(run("three")), UnorderedElementsAre(Key("first"), Key("second")));
  EXPECT_TRUE(fs::exists(run("three").from() / "first" / "model.safetensors"));
  put_run("another", "first", {2});
  EXPECT_THAT(refusal("third", {"from.second=two", "from.first=another"}),
              HasSubstr("build on two runs of the stage first"));
  EXPECT_EQ(refusal("third", {"from.second=two", "from.first=one"}), "");
  EXPECT_THAT(refusal("third", {"from.first=one"}), HasSubstr("needs a run of the stage second"));
}

TEST_F(EarlierSourceOf, WhatTheRunItselfHasKeptIsHandedOnAndPartOfTheHash) {
  put_run("run", "first", {1});
  const auto without = found("run").hash();
  keep_files({{"vocabulary", "a"}}, run("run").root, disk_);
  const auto expected = found("run").hash();
  EXPECT_NE(expected, without);
  put_run("later", "second", {1}, {"from.first=run"});
  fs::remove_all(run("run").root);
  EXPECT_EQ(kept_earlier(run("later")).at("first").hash(), expected);
  const auto before = load_run_stage(run("later"), workload_).stage->earlier()->stage("first");
  EXPECT_EQ(read_text(before.stage->kept_files().at("vocabulary")), "a");
}

TEST_F(EarlierSourceOf, ARunThatIsMerelyStartedFromKeepsItsHash) {
  put_run("one", "first", {1});
  put_run("two", "second", {1}, {"from.first=one"});
  put_run("three", "third", {1}, {"from.second=two"});
  put_run("four", "fourth", {1}, {"from.third=three"});
  const auto hash = kept_earlier(run("four")).at("third").hash();
  forget_starting_weights(workload_.named("fourth").needs, run("four"), disk_);
  EXPECT_FALSE(fs::exists(run("four").from() / "third" / "model.safetensors"));
  EXPECT_EQ(kept_earlier(run("four")).at("third").hash(), hash);
  const auto loaded = load_run_stage(run("four"), workload_);
  EXPECT_EQ(loaded.config.config.from.at("third"), hash);
  EXPECT_THROW(loaded.stage->earlier()->read("third"), Error);
  // The third run still needs what it keeps.
  forget_starting_weights(workload_.named("third").needs, run("three"), disk_);
  EXPECT_TRUE(fs::exists(run("three").from() / "second" / "model.safetensors"));
}

TEST_F(EarlierSourceOf, ARunThatIsGoneIsTheOneThatWasKeptWhereTheWordsAreTheSame) {
  put_run("one", "first", {1});
  auto config = config_of("second", {"from.first=one"});
  const auto runs = earlier_of_config(workload_, config.config);
  const auto record = record_of_earlier(config, *runs);
  const auto hash = runs->sources().at("first").hash();
  fs::remove_all(run("one").root);
  auto again = config_of("second", {"from.first=one"});
  freeze_earlier(again, *earlier_of_config(workload_, again.config), record);
  EXPECT_EQ(again.config.from.at("first"), hash);
  auto other = config_of("second", {"from.first=two"});
  EXPECT_THROW(freeze_earlier(other, *earlier_of_config(workload_, other.config), record), Error);
}

}  // namespace
}  // namespace larmor::testing
