// The YAML of a guide given as a config: what it becomes, and that no key of it is dropped in silence.
#include "larmor/config/foreign/guide_yaml.h"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

namespace larmor {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// What the guide gives for four cards of 24 GB, and the rest of such a file in words of this test.
constexpr const char* guides_file = R"(
training:
  batch_size_per_gpu: 16
  gradient_accumulation_steps: 4
  fp16: true
  gradient_checkpointing: true
  dataloader_num_workers: 12
  epochs: 20
  learning_rate: 5.0e-5
  warmup_ratio: 0.1
  save_steps: 5000
  patience_of_somebody: 3
deepspeed:
  enabled: true
  stage: 2
data:
  quality_grade: A
  max_question_length: 128
wandb: {project: chest, entity: nobody}
)";

struct Translated {
  explicit Translated(const std::string& yaml)
      : root(parse_config(yaml, source, problems)), translation(translate_guide_yaml(root, problems)) {
    add(translation.tree, "");
  }
  void add(const Node& node, const std::string& key) {
    for (const Entry& entry : node.entries)
      add(entry.value, key.empty() ? entry.key : text(key, '.', entry.key));
    if (node.kind == Node::Kind::plain || node.kind == Node::Kind::quoted) values[key] = node.text;
  }

  Source source{.name = "guide.yaml", .short_name = "guide.yaml", .is_file = true};
  Problems problems;
  Node root;
  Translation translation;
  std::map<std::string, std::string> values;
};

TEST(GuideYaml, SaysInOurKeysWhatTheGuideSays) {
  const Translated translated(guides_file);
  EXPECT_THAT(translated.problems, IsEmpty());
  EXPECT_EQ(translated.values,
            (std::map<std::string, std::string>{{"train.micro_batch", "16"},
                                                {"train.accumulation", "4"},
                                                {"train.global_batch", "auto"},
                                                {"train.precision", "auto"},
                                                {"train.activation_checkpointing", "blocks"},
                                                {"train.length", "20ep"},
                                                {"optim.learning_rate", "5.0e-5"},
                                                {"optim.schedule.rise", "0.1"},
                                                {"checkpoint.every", "5000st"},
                                                {"parallel.strategy", "zero2"},
                                                {"data.quality_grade", "A"},
                                                {"data.question_length", "128"}}));
}

TEST(GuideYaml, HasALineForEveryKeyUnknownOnesAmongThem) {
  const auto notes = Translated(guides_file).translation.notes;
  EXPECT_THAT(notes, SizeIs(15));
  EXPECT_THAT(notes, Contains(AllOf(HasSubstr("guide.yaml:7"), HasSubstr("dataloader_num_workers"))));
  EXPECT_THAT(notes, Contains(HasSubstr("training.patience_of_somebody is not known here")));
  EXPECT_THAT(notes, Contains(HasSubstr("wandb has no meaning here")));
}

TEST(GuideYaml, RefusesWhatCannotBe) {
  for (const char* const wrong :
       {"training: {epochs: many}", "training: {fp16: perhaps}", "training: {}\ndeepspeed: {stage: 5}"})
    EXPECT_THAT(Translated(wrong).problems, SizeIs(1)) << wrong;
  const Translated off("training: {fp16: false}\ndeepspeed: {enabled: false, stage: 2}");
  EXPECT_EQ(off.values, (std::map<std::string, std::string>{{"train.precision", "fp32"}}));
}

TEST(GuideYaml, IsToldFromOurs) {
  const auto is_one = [](const char* yaml) {
    Problems problems;
    const Source source{.name = "a.yaml", .short_name = "a.yaml", .is_file = true};
    return is_guide_yaml(parse_config(yaml, source, problems));
  };
  EXPECT_TRUE(is_one("training: {epochs: 3}\nmodel: {}"));
  EXPECT_FALSE(is_one("train: {length: 3ep}\nmodel: {}"));
  EXPECT_FALSE(is_one("training: {epochs: 3}\ntrain: {length: 3ep}"));
  EXPECT_FALSE(is_one("[1, 2]"));
}

}  // namespace
}  // namespace larmor
