// The configuration file of a guide: what it becomes, and that no key of it is dropped in silence. What the
// files of the guides say stands in tests/contract/guide_files_test.cpp.
#include "larmor/config/foreign/guide_translation.h"

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

namespace larmor::guide_file {
namespace {

using enum GuideKey::Way;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ValueMap = std::map<std::string, std::string>;

constexpr GuideKey keys[] = {
    {"training.batch", "train.micro_batch"},
    {"training.accumulate", "train.accumulation"},
    {"training.epochs", "train.length", counted, "ep"},
    {"training.drops", "optim.schedule.milestones", counted, "ep"},
    {"training.drops", "optim.schedule.name", placed, "multistep"},
    {"training.half", "train.precision", chosen, "true=auto|false=fp32"},
    {"training.average", "optim.ema_decay", chosen, "true=|false=0.0"},
    {"training.rate", "optim.learning_rate"},
    {"optim.rate", "optim.learning_rate"},
    {"training.workers", "the plan chooses it", unneeded},
    {"training.tricks", "there are none", missing},
    {"net.dims", "volumes have three dimensions", fixed, "3|three"},
    {"net.patch", "data.transforms", placed, "[{Crop: {roi_size: {}}}]"},
    {"net.width", "second:model.width"},
    {"share.on", "share.level says it", unneeded},
    {"share.level", "parallel.strategy", chosen, "0=ddp|2=zero2", "on"},
    {"steps[].size", "model.size", edge},
    {"steps[].depth", "model.depth"},
    {"steps[].blocks", "model.blocks", listed},
};
const GuideFile file{.name = "the file of a guide", .known_by = {"training", "net"}, .keys = keys};

struct Translated {
  explicit Translated(const std::string& content)
      : root(parse_config(content, source, problems)),
        translation(translate_guide_file(root, file, {"first", "second"}, problems)) {
    add(translation.tree, "");
  }
  void add(const Node& node, const std::string& key) {
    for (const Entry& entry : node.entries)
      add(entry.value, key.empty() ? entry.key : text(key, '.', entry.key));
    if (node.kind == Node::Kind::list) values[key] = text("list of ", node.items.size());
    if (node.kind == Node::Kind::plain || node.kind == Node::Kind::quoted) values[key] = node.text;
  }
  std::string problem() const { return problems.size() == 1 ? problems[0].key + " " + problems[0].what : ""; }

  Source source{.name = "guide.yaml", .short_name = "guide.yaml", .is_file = true};
  Problems problems;
  Node root;
  Translation translation;
  ValueMap values;
};

TEST(GuideFile, SaysInOurKeysWhatTheGuideSays) {
  const Translated translated(
      R"({"training": {"batch": 4, "accumulate": 2, "epochs": 20, "drops": [10, 15], // twice
      "half": true, "average": false, "rate": 1e-4}, "net": {"patch": [64, 64, 32], "width": 8},
      "share": {"on": true, "level": 2}})");
  EXPECT_THAT(translated.problems, IsEmpty());
  EXPECT_EQ(translated.values, (ValueMap{{"train.micro_batch", "4"},
                                         {"train.accumulation", "2"},
                                         {"train.global_batch", "auto"},
                                         {"train.length", "20ep"},
                                         {"optim.schedule.milestones", "list of 2"},
                                         {"optim.schedule.name", "multistep"},
                                         {"train.precision", "auto"},
                                         {"optim.ema_decay", "0.0"},
                                         {"optim.learning_rate", "1e-4"},
                                         {"data.transforms", "list of 1"},
                                         {"second.model.width", "8"},
                                         {"parallel.strategy", "zero2"}}));
}

TEST(GuideFile, HasALineForEachKeyThatMeansNothingHere) {
  const Translated translated(
      "training:\n  workers: 12\n  tricks: [a]\n  average: true\n  _why: it is so\nnet: {dims: 3}\n"
      "share: {on: False, level: 2}\n");
  EXPECT_THAT(translated.problems, IsEmpty());
  EXPECT_THAT(translated.translation.notes,
              ElementsAre("guide.yaml:2: training.workers has no meaning here: the plan chooses it",
                          "guide.yaml:3: training.tricks is not supported: there are none",
                          "guide.yaml:4: training.average: optim.ema_decay stays as it is",
                          "guide.yaml:5: training._why is a comment",
                          "guide.yaml:6: net.dims has no meaning here: volumes have three dimensions",
                          "guide.yaml:7: share.on has no meaning here: share.level says it",
                          "guide.yaml:7: share.level has no meaning here: on is false"));
  EXPECT_THAT(translated.values, IsEmpty());
}

TEST(GuideFile, RefusesWhatCannotBeAndWhatItDoesNotKnow) {
  const std::map<std::string, std::string> told{
      {"training: {epochs: many}", "training.epochs has to be a number above 0"},
      {"training: {half: perhaps}", "training.half has to be true or false"},
      {"net: {dims: 2}", "net.dims is 2, and not 3 or three: volumes have three dimensions"},
      {"training: {epoch: 3}",
       "training.epoch is not known in the file of a guide; did you mean training.epochs"},
      {"training: {length: 3ep}", "our section is `train`, not `training`"},
      {"steps: [{size: 64}]", "steps has an item, number 1, without a name"},
      {"steps: [{name: third, size: 64}]",
       "steps has an item for a stage third; the stages are first, second"},
      {"steps: [{name: first, size: [64, 64, 32]}]", "steps.first.size is [64, 64, 32], and a volume here"},
      {"training: {rate: 1.0e-4}\noptim: {rate: 2.0e-4}",
       "optim.rate asks for optim.learning_rate=2.0e-4, and training.rate for optim.learning_rate=1.0e-4"},
      {"training: {rate: '@nothing'}",
       "training.rate is \"@nothing\", which names no number or word of this file"},
      {"training: {rate: '@net', batch: 3}\nnet: {dims: 3}",
       "training.rate is \"@net\", which names no number"},
      {"training: {rate: '$1 / 2'}", "write the value itself"}};
  for (const auto& [content, what] : told)
    EXPECT_THAT(Translated(content).problem(), HasSubstr(what)) << content;
}

TEST(GuideFile, MaySayTheSameTwice) {
  const Translated translated("training: {rate: 1.0e-4}\noptim: {rate: 0.0001}");
  EXPECT_THAT(translated.problems, IsEmpty());
  EXPECT_EQ(translated.values, (ValueMap{{"optim.learning_rate", "1.0e-4"}}));
}

TEST(GuideFile, GivesEachStageWhatItsItemSays) {
  const Translated translated(
      "steps: [{name: second, size: [64, 64, 64], depth: 3}, {name: first, size: 32, blocks: 2}]");
  EXPECT_THAT(translated.problems, IsEmpty());
  EXPECT_EQ(translated.values, (ValueMap{{"second.model.size", "64"},
                                         {"second.model.depth", "3"},
                                         {"first.model.size", "32"},
                                         {"first.model.blocks", "list of 1"}}));
}

TEST(GuideFile, FollowsTheReferencesOfMonaisBundles) {
  const Translated translated(
      R"({"net": {"dims": 3, "width": "$@training#batch"}, "training": {"batch": 16}})");
  EXPECT_THAT(translated.problems, IsEmpty());
  EXPECT_EQ(translated.values, (ValueMap{{"second.model.width", "16"}, {"train.micro_batch", "16"}}));
}

TEST(GuideFile, IsToldFromOurs) {
  const auto is_one = [](const char* yaml) {
    Problems problems;
    const Source source{.name = "a.yaml", .short_name = "a.yaml", .is_file = true};
    const GuideFiles files{file};
    return guide_file_of(parse_config(yaml, source, problems), files) == &files[0];
  };
  EXPECT_TRUE(is_one("training: {epochs: 3}\nmodel: {}"));
  EXPECT_TRUE(is_one("training: {epochs: 3}\noptim: {rate: 1.0}")) << "the guide has a section of that name";
  EXPECT_FALSE(is_one("train: {length: 3ep}\nmodel: {}"));
  EXPECT_FALSE(is_one("training: {epochs: 3}\ntrain: {length: 3ep}"));
  EXPECT_FALSE(is_one("[1, 2]"));
}

}  // namespace
}  // namespace larmor::guide_file
