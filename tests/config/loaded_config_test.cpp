// A resolved config: printed and read again, hashed, compared, frozen.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

#include "tests/config/support/made_up_workload.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

LoadedConfig made_up_run() {
  const ConfigFile file(
      "data:\n  exclude: ['*lesion*', \"a  # b\"]\n"
      "  transforms:\n"
      "    - Orientation: {axcodes: RAS}\n"
      "    - Spacing: {pixdim: [1.1, 1.1, 1.1], mode: bilinear}\n"
      "    - ScaleIntensityRangePercentiles: {lower: 0, upper: 99.5, b_min: 0, b_max: 1, clip: true}\n"
      "train: {length: 500st}\n");
  Sources sources = file.sources();
  sources.overrides = {"run.name='a b'", "optim.discriminator.learning_rate=3e-4"};
  return load(sources);
}

LoadedConfig saved_and_loaded(const LoadedConfig& config, bool with_origins) {
  const ConfigFile file(config.to_yaml(with_origins), "config.yaml");
  return load(file.sources());
}

std::string origins_text(const LoadedConfig& config) {
  std::string lines;
  for (const Origin& origin : config.origins)
    lines += text(origin.key, "=", origin.value, " (", origin.origin, ")\n");
  return lines;
}

TEST(LoadedConfig, ReadsBackWhatItWrote) {
  const LoadedConfig first = made_up_run();
  for (const bool with_origins : {true, false}) {
    const LoadedConfig second = saved_and_loaded(first, with_origins);
    EXPECT_EQ(second.sha256(), first.sha256());
    EXPECT_EQ(second.config.data.transforms, first.config.data.transforms);
    EXPECT_EQ(second.config.data.exclude, first.config.data.exclude);
    EXPECT_EQ(second.config.run.name, "a b");
    EXPECT_EQ(second.config.optim_of("discriminator").learning_rate, 3e-4);
    EXPECT_THAT(first.differing_keys(second), IsEmpty());
  }
}

TEST(LoadedConfig, KeepsOriginsThroughASavedFile) {
  const LoadedConfig first = made_up_run();
  const LoadedConfig second = saved_and_loaded(first, true);
  EXPECT_EQ(origins_text(second), origins_text(first));
  EXPECT_EQ(second.to_yaml(true), first.to_yaml(true)) << "saving again changes nothing";
  EXPECT_EQ(origin_of(second, "data.transforms").origin, "default.yaml:3");
  EXPECT_EQ(origin_of(second, "run.seed").origin, "built-in");
}

TEST(LoadedConfig, TakesCommentsForOriginsOnlyInASavedFile) {
  const ConfigFile file("train:\n  micro_batch: 2  # plan\n");
  EXPECT_EQ(origin_of(load(file.sources()), "train.micro_batch").origin, "default.yaml:2");
}

TEST(LoadedConfig, AlignsOriginsBehindTheValues) {
  const std::string yaml = made_up_run().to_yaml(true);
  EXPECT_THAT(yaml, HasSubstr("\n  seed: 42  "));
  EXPECT_THAT(yaml, HasSubstr("\n    - Orientation: {axcodes: RAS}\n"));
  size_t column = 0;
  for (const std::string& line : split(yaml, '\n')) {
    const size_t mark = line.rfind("  # built-in");
    if (mark == std::string::npos) continue;
    if (column == 0) column = mark;
    EXPECT_EQ(mark, column) << line;
  }
}

TEST(LoadedConfig, LeavesInheritedValuesOutOfTheYaml) {
  const std::string yaml = made_up_run().to_yaml(false);
  EXPECT_THAT(yaml, HasSubstr("  discriminator:\n    learning_rate: 3.0e-04\n"));
  EXPECT_THAT(yaml, Not(HasSubstr("generator")));
  EXPECT_THAT(yaml, Not(HasSubstr("# default")));
}

TEST(LoadedConfig, FreezesWhatStoodAsAuto) {
  LoadedConfig frozen = made_up_run();
  frozen.freeze("train.micro_batch", "2");
  frozen.freeze("train.precision", "bf16");
  frozen.freeze("run.deterministic", "true");
  EXPECT_EQ(frozen.config.train.micro_batch, 2);
  EXPECT_EQ(frozen.config.train.precision, "bf16");
  EXPECT_EQ(frozen.config.run.deterministic, true);
  EXPECT_EQ(frozen.config.optim_of("discriminator").learning_rate, 3e-4) << "nothing else moves";
  EXPECT_EQ(origin_of(frozen, "train.micro_batch").origin, "plan");
  EXPECT_EQ(origin_of(frozen, "train.micro_batch").overrode, "built-in");

  const LoadedConfig again = saved_and_loaded(frozen, true);
  EXPECT_EQ(origin_of(again, "train.micro_batch").origin, "plan");
  EXPECT_EQ(again.sha256(), frozen.sha256());
  EXPECT_THAT(again.differing_keys(made_up_run()), IsEmpty()) << "auto equals what it was frozen to";
  EXPECT_THAT(made_up_run().differing_keys(again), IsEmpty());
}

TEST(LoadedConfig, DoesNotFreezeWhatSomebodyChose) {
  LoadedConfig loaded = load_overrides({"train.micro_batch=4"});
  loaded.freeze("train.micro_batch", "2");
  EXPECT_EQ(loaded.config.train.micro_batch, 4);
  EXPECT_EQ(origin_of(loaded, "train.micro_batch").origin, "command line");
}

TEST(LoadedConfig, RefusesToFreezeNonsense) {
  LoadedConfig loaded = load({});
  EXPECT_THROW(loaded.freeze("train.precision", "fp12"), Error);
  EXPECT_THROW(loaded.freeze("train.nothing", "1"), Error);
  EXPECT_EQ(origin_of(loaded, "train.precision").value, "auto");
}

TEST(LoadedConfig, ComparesWhatDefinesTheRun) {
  const LoadedConfig one = load({});
  const LoadedConfig elsewhere = load_overrides(
      {"run.folder=/other", "run.name=x", "parallel.ranks=2", "parallel.device=cpu", "parallel.threads=3",
       "parallel.strategy=zero3", "train.activation_checkpointing=blocks"});
  EXPECT_EQ(one.sha256(), elsewhere.sha256());
  EXPECT_THAT(one.differing_keys(elsewhere), IsEmpty());

  const LoadedConfig other =
      load_overrides({"run.seed=7", "parallel.compression=bf16", "loss.discriminator.channels=9"});
  EXPECT_NE(one.sha256(), other.sha256());
  EXPECT_THAT(one.differing_keys(other),
              ElementsAre("run.seed", "loss.discriminator.channels", "parallel.compression"));
  EXPECT_THAT(one.differing_keys(load_overrides({"train.micro_batch=2"})), ElementsAre("train.micro_batch"))
      << "a person's 2 is another wish than auto";
}

TEST(LoadedConfig, HashesValuesAndNotHowTheyWereWritten) {
  EXPECT_EQ(
      load_overrides({"train.length=60min", "optim.schedule.steps=5", "optim.learning_rate=1e-4"}).sha256(),
      load_overrides({"train.length=1h", "optim.schedule.steps=5", "optim.learning_rate=0.0001"}).sha256());
  EXPECT_EQ(load_overrides({"optim.generator.eps=1e-8"}).sha256(), load({}).sha256());
  MadeUpWorkload workload;
  const auto begun = load_overrides({"from.run=other"});
  EXPECT_NE(begun.sha256(), load({}).sha256());
  EXPECT_NE(begun.sha256(), load_overrides({"from.run=other", "from.optimizer=true"}).sha256());
  EXPECT_NE(load_config({}, "made_up", "second", workload.fields()).sha256(), load({}).sha256());
  EXPECT_THAT(load_config({}, "other", "second", workload.fields()).differing_keys(load({})),
              ElementsAre("workload", "stage"));
}

TEST(LoadedConfig, HashesKeysThatCameLaterOnlyWhereTheyChangeWhatARunDoes) {
  const std::vector<std::pair<std::string, std::string>> later = {{"data.layout", "none"},
                                                                  {"data.patient_pattern", "(p[0-9]+)"},
                                                                  {"data.allow_copies", "true"},
                                                                  {"data.exclude_list", "out.txt"},
                                                                  {"data.dicom.class", "[dose]"},
                                                                  {"data.dicom.modality", "[CT]"},
                                                                  {"data.dicom.series", "[3]"},
                                                                  {"data.dicom.echo", "[1]"},
                                                                  {"data.dicom.description", "[t1]"},
                                                                  {"data.dicom.min_slices", "2"}};
  const LoadedConfig one = load_overrides({"data.kind=dicom"});
  for (const auto& [key, value] : later) {
    LoadedConfig before = one;
    ASSERT_EQ(std::erase_if(before.origins, [&](const Origin& origin) { return origin.key == key; }), 1U)
        << key;
    EXPECT_EQ(before.sha256(), one.sha256()) << key;
    EXPECT_NE(load_overrides({"data.kind=dicom", text(key, '=', value)}).sha256(), one.sha256()) << key;
  }
}

/// Of xray_vqa alone.
TEST(LoadedConfig, KeepsTheHashOfRunsFromBeforeScenesWereLeftOut) {
  const auto hash = [](bool is_offered, const std::vector<std::string>& overrides) {
    MadeUpWorkload workload;
    double without_scene = 0;
    auto fields = workload.fields();
    if (is_offered) fields.train = [&](Fields& f) { f.field("without_scene", without_scene, "a share"); };
    return load_config({.files = {}, .environment = {}, .overrides = overrides}, "made_up", "first", fields)
        .sha256();
  };
  EXPECT_EQ(hash(true, {}), hash(false, {}));
  EXPECT_NE(hash(true, {"train.without_scene=0.25"}), hash(false, {}));
}

/// Runs from before there was the section have the hashes that they had.
TEST(LoadedConfig, HashesTheSectionOfValidationWhereItIsOnAlone) {
  const auto hash = [](bool is_offered, const std::vector<std::string>& overrides) {
    MadeUpWorkload workload;
    ValidationConfig validation;
    auto fields = workload.fields();
    if (is_offered) fields.validation = [&](Fields& f) { validation.describe(f); };
    return load_config({.files = {}, .environment = {}, .overrides = overrides}, "made_up", "first", fields)
        .sha256();
  };
  const auto without = hash(false, {});
  EXPECT_EQ(hash(true, {}), without);
  EXPECT_EQ(hash(true, {"validation.overlap=0.5"}), without);
  const auto on = hash(true, {"validation.roi_size=[96,96,96]"});
  EXPECT_NE(on, without);
  EXPECT_NE(hash(true, {"validation.roi_size=[96,96,96]", "validation.overlap=0.5"}), on);
  EXPECT_THAT(refusal_of_overrides({"validation.roi_size=[96,96,96]"}), HasSubstr("validation"));
}

}  // namespace
}  // namespace larmor
