#include "larmor/config/load.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

#include "tests/config/support/made_up_workload.h"

namespace larmor {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(LoadConfig, LetsLaterSourcesWin) {
  const ConfigFile first("run: {seed: 1}\ntrain: {length: 1ep, early_stopping: 1, validate_every: 1st}\n");
  const ConfigFile second("train: {length: 2ep, early_stopping: 2, validate_every: 2st}\n", "more.yaml");
  Sources sources;
  sources.files = {first.path(), second.path()};
  sources.environment = {{"LARMOR_TRAIN__LENGTH", "3ep"}, {"LARMOR_TRAIN__EARLY_STOPPING", "3"}};
  sources.overrides = {"train.length=4ep"};
  const LoadedConfig loaded = load(sources);
  EXPECT_EQ(to_text(loaded.config.train.length), "4ep");
  EXPECT_EQ(loaded.config.train.early_stopping, 3);
  EXPECT_EQ(to_text(loaded.config.train.validate_every), "2st");
  EXPECT_EQ(loaded.config.run.seed, 1);
  EXPECT_EQ(origin_of(loaded, "train.length").origin, "command line");
  EXPECT_EQ(origin_of(loaded, "train.early_stopping").origin, "environment LARMOR_TRAIN__EARLY_STOPPING");
  EXPECT_EQ(origin_of(loaded, "train.validate_every").origin, "more.yaml:1");
  EXPECT_EQ(origin_of(loaded, "run.seed").origin, "default.yaml:1");
  EXPECT_EQ(origin_of(loaded, "train.length").overrode, "environment LARMOR_TRAIN__LENGTH");
}

TEST(LoadConfig, TakesASectionThatIsCalledAfterAStageForThatStageAlone) {
  const ConfigFile first(
      "run: {seed: 1}\nfirst: {train: {length: 1ep}}\ntrain: {length: 2ep, early_stopping: 2}\n");
  const ConfigFile later("second: {train: {length: 3ep, no_such_key: 1}}\ntrain: {early_stopping: 4}\n",
                         "more.yaml");
  Sources sources;
  sources.files = {first.path(), later.path()};
  sources.stages = {"first", "second"};
  const LoadedConfig loaded = load(sources);
  EXPECT_EQ(to_text(loaded.config.train.length), "1ep") << "of its own section";
  EXPECT_EQ(loaded.config.train.early_stopping, 4) << "of all stages, by the later file";
  EXPECT_EQ(origin_of(loaded, "train.length").origin, "default.yaml:2");
  EXPECT_EQ(origin_of(loaded, "train.length").overrode, "default.yaml:3");
  MadeUpWorkload workload;
  EXPECT_THROW(load_config(sources, "made_up", "second", workload.fields()), Error)
      << "a fault in its section";
}

TEST(LoadConfig, RefusesAStageThatIsNoSection) {
  const ConfigFile file("first: 3\n");
  Sources sources;
  sources.files = {file.path()};
  sources.stages = {"first"};
  EXPECT_THROW(load(sources), Error);
}

TEST(LoadConfig, MergesSectionsAndReplacesLists) {
  const ConfigFile first(
      "data: {include: [a, b], exclude: [c], transforms: [{Orientation: {axcodes: RAS}}]}\n");
  const ConfigFile second("data: {include: [d], transforms: []}\n");
  const LoadedConfig loaded =
      load({.files = {first.path(), second.path()}, .environment = {}, .overrides = {}});
  EXPECT_EQ(loaded.config.data.include, std::vector<std::string>{"d"});
  EXPECT_EQ(loaded.config.data.exclude, std::vector<std::string>{"c"});
  EXPECT_EQ(loaded.config.data.transforms, Json::array());
}

TEST(LoadConfig, ReadsDeepKeysFromTheEnvironment) {
  Sources sources;
  sources.environment = {{"LARMOR_DATA__SPLIT__VAL", "[p1, p2]"},
                         {"LARMOR_OPTIM__DISCRIMINATOR__SCHEDULE__START", "0.5"},
                         {"LARMOR_LIBTORCH", "/opt/libtorch"},
                         {"LARMOR_STORE_FD", "7"},
                         {"PATH", "/bin"},
                         {"OTHER__THING", "1"}};
  const LoadedConfig loaded = load(sources);
  EXPECT_EQ(loaded.config.data.split.val, Json::parse(R"(["p1", "p2"])"));
  EXPECT_EQ(loaded.config.optim_of("discriminator").schedule.start, 0.5);
}

TEST(LoadConfig, RefusesUnknownNamesInTheEnvironment) {
  Sources sources;
  sources.environment = {
      {"LARMOR_TRAIN__LENGHT", "3ep"}, {"LARMOR_NOWHERE__AT_ALL", "1"}, {"LARMOR___X", "1"}};
  const std::string refusal = refusal_of(sources);
  EXPECT_THAT(
      refusal,
      HasSubstr("environment LARMOR_TRAIN__LENGHT: train.lenght is not a key; did you mean train.length?"));
  EXPECT_THAT(refusal, HasSubstr("environment LARMOR_NOWHERE__AT_ALL: nowhere.at_all is not a key"));
  EXPECT_THAT(refusal, HasSubstr("environment LARMOR___X"));
}

TEST(LoadConfig, RefusesAKeyGivenTwiceOnTheCommandLine) {
  EXPECT_THAT(refusal_of_overrides({"train.length=1ep", "train.length=1ep"}),
              HasSubstr("command line: train.length is given twice"));
  EXPECT_THAT(refusal_of_overrides({"optim.schedule={steps: 5, start: 0.2}", "optim.schedule.steps=6"}),
              HasSubstr("optim.schedule.steps is given twice"));
  EXPECT_EQ(refusal_of_overrides({"optim.schedule={steps: 5}", "optim.schedule.start=0.2"}), "");
}

TEST(LoadConfig, RefusesWordsThatAssignNothing) {
  EXPECT_THAT(refusal_of_overrides({"train.length"}), HasSubstr("\"train.length\" is no key=value"));
  EXPECT_THAT(refusal_of_overrides({"=5"}), HasSubstr("\"=5\" is no key=value"));
  EXPECT_NE(refusal_of_overrides({".=5"}), "");
  EXPECT_NE(refusal_of_overrides({"train.=5"}), "");
}

TEST(LoadConfig, ClearsATextWithNothingAfterTheSign) {
  const ConfigFile file("data: {folder: /data}\n");
  Sources sources = file.sources();
  sources.overrides = {"data.folder="};
  EXPECT_EQ(load(sources).config.data.folder, "");
  EXPECT_THAT(refusal_of_overrides({"train.micro_batch="}), HasSubstr("train.micro_batch has to be"));
}

TEST(LoadConfig, ListsEveryProblemOfEverySource) {
  const ConfigFile bad_syntax("train: [\n", "broken.yaml");
  const ConfigFile file("run: {seed: -1}\ntrain:\n  length: 5\n  length: 6ep\n  lenth: 5ep\n");
  Sources sources;
  sources.files = {bad_syntax.path(), file.path(), "/nowhere/at/all.yaml"};
  sources.environment = {{"LARMOR_DATA__KIND", "nifty"}};
  sources.overrides = {"optim.betas=[2, 0.5]", "track.tensorboard=3", "checkpoint.mode=mid"};
  const std::string refusal = refusal_of(sources);
  EXPECT_THAT(refusal,
              AllOf(HasSubstr("the configuration has 10 faults:"), HasSubstr("broken.yaml:"),
                    HasSubstr("default.yaml:1: run.seed has to be a whole number of at least 0; got -1"),
                    HasSubstr("default.yaml:3: train.length has to be a length"),
                    HasSubstr("default.yaml:4: train.length is given twice; first on line 3"),
                    HasSubstr("default.yaml:5: train.lenth is not a key; did you mean train.length?"),
                    HasSubstr("/nowhere/at/all.yaml")));
  EXPECT_THAT(refusal, AllOf(HasSubstr("environment LARMOR_DATA__KIND: data.kind has to be one of"),
                             HasSubstr("did you mean nifti?"),
                             HasSubstr("command line: optim.betas has to be a list, each entry a number from "
                                       "0 to 1; got 2 at position 1"),
                             HasSubstr("command line: track.tensorboard has to be true or false; got 3"),
                             HasSubstr("command line: checkpoint.mode has to be one of min, max; got mid")));
}

TEST(LoadConfig, ReportsAWrongValueEvenWhenALaterSourceReplacesIt) {
  const ConfigFile file("train: {micro_batch: many}\n");
  Sources sources = file.sources();
  sources.overrides = {"train.micro_batch=2"};
  EXPECT_THAT(refusal_of(sources), HasSubstr("default.yaml:1: train.micro_batch has to be"));
}

TEST(LoadConfig, BoundsWhatItPrints) {
  std::string content;
  for (int i = 0; i < 20000; ++i) content += text("key_", i, ": 1\n");
  const ConfigFile file(content);
  const std::string refusal = refusal_of(file.sources());
  EXPECT_LT(refusal.size(), 20000U);
  EXPECT_THAT(refusal, HasSubstr("and 19950 more"));
}

TEST(LoadConfig, RefusesFilesThatAreTooLarge) {
  const ConfigFile file("# " + std::string(size_t{1} << 20, 'x') + "\n");
  EXPECT_THAT(refusal_of(file.sources()), HasSubstr("default.yaml"));
}

TEST(LoadConfig, ReadsJsonAndYamlToTheSameConfig) {
  const ConfigFile yaml(
      "run: {seed: 7}\n"
      "data:\n  include: ['*.nii', b]\n  split: {train: 0.5, val: [p1, '010'], test: 0}\n"
      "  transforms:\n    - Spacing: {pixdim: [1.1, 2, 1.0e-3], mode: bilinear}\n"
      "train: {length: 10ep, micro_batch: auto}\nloss: {kl_weight: 1.0e-9}\n");
  const ConfigFile json(R"(// the same
{ "run": {"seed": 7}, /* a
comment */ "data": {"include": ["*.nii", "b"], "split": {"train": 0.5, "val": ["p1", "010"], "test": 0},
  "transforms": [{"Spacing": {"pixdim": [1.1, 2, 1e-3], "mode": "bilinear"}}]},
	"train": {"length": "10ep", "micro_batch": "auto"}, // tab before
  "loss": {"kl_weight": 1E-9}, }
)",
                        "default.json");
  const LoadedConfig from_yaml = load(yaml.sources()), from_json = load(json.sources());
  EXPECT_EQ(from_yaml.sha256(), from_json.sha256());
  EXPECT_EQ(from_yaml.to_yaml(false), from_json.to_yaml(false));
  EXPECT_EQ(from_json.config.data.transforms, from_yaml.config.data.transforms);
  EXPECT_EQ(origin_of(from_json, "train.length").origin, "default.json:5");
}

TEST(LoadConfig, TakesAnEmptyFileForSilence) {
  for (const char* content : {"", "\n\n", "# only a comment\n", "{}", "// only a comment\n{}"}) {
    const ConfigFile file(content);
    EXPECT_EQ(load(file.sources()).sha256(), load({}).sha256()) << content;
  }
}

TEST(LoadConfig, GivesAHintThatLeadsOn) {
  try {
    load_overrides({"train.lenght=1ep"});
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    EXPECT_EQ(error.message(), "command line: train.lenght is not a key; did you mean train.length?");
    EXPECT_THAT(error.hint(), HasSubstr("larmor config explain made_up"));
  }
}

}  // namespace
}  // namespace larmor
