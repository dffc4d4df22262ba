// DeepSpeed's JSON given as a config: what it becomes, and that no key of it is dropped in silence.
#include "larmor/config/foreign/deepspeed.h"

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/config/foreign/deepspeed_keys.h"

#include "tests/config/support/deepspeed_file.h"

namespace larmor {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// What a person brings who trained a network of this kind before.
constexpr const char* brought = R"({
  "train_batch_size": 64,
  "train_micro_batch_size_per_gpu": 4,
  "gradient_accumulation_steps": "auto",
  "gradient_clipping": 0.5,
  "steps_per_print": 100,
  "zero_optimization": {
    "stage": 2,
    "overlap_comm": true,
    "offload_optimizer": {"device": "cpu", "pin_memory": true}
  },
  "fp16": {"enabled": true, "initial_scale_power": 16},
  "activation_checkpointing": {"partition_activations": true},
  "optimizer": {"type": "Adam", "params": {"lr": 2e-4, "betas": [0.9, 0.95], "eps": 1e-6, "weight_decay": 0.01}},
  "scheduler": {
    "type": "WarmupCosineLR",
    "params": {"total_num_steps": 5000, "warmup_num_steps": 200, "cos_min_ratio": 0.1}
  }
})";

TEST(DeepSpeed, IsToldFromOurConfigsByItsKeys) {
  const auto is_recognised = [](const std::string& content) {
    Problems problems;
    const Source source{.name = "x", .short_name = "x"};
    return is_deepspeed(content, parse_config(content, source, problems));
  };
  EXPECT_TRUE(is_recognised(R"({"zero_optimization": {"stage": 1}})"));
  EXPECT_TRUE(is_recognised(R"({"train_batch_size": 8, "somebody's": 1})"));
  EXPECT_TRUE(is_recognised(R"(// with a comment
    {"fp16": {"enabled": true}, "checkpoint": {"load_universal": true}})"));
  EXPECT_FALSE(is_recognised(R"({"train": {"global_batch": 8}})"));
  EXPECT_FALSE(is_recognised(R"({"train": {"global_batch": 8}, "fp16": {"enabled": true}})"));
  EXPECT_FALSE(is_recognised(R"({"checkpoint": {"every": "1ep"}})")) << "a section of ours";
  EXPECT_FALSE(is_recognised("train_batch_size: 8\n")) << "YAML";
  EXPECT_FALSE(is_recognised("{}"));
}

TEST(DeepSpeed, SaysOurKeysWithItsOwnLinesAsTheirOrigins) {
  const LoadedConfig loaded = load_json(brought);
  const RunConfig& config = loaded.config;
  EXPECT_EQ(config.train.global_batch, 64);
  EXPECT_EQ(config.train.micro_batch, 4);
  EXPECT_EQ(config.train.accumulation, std::nullopt);
  EXPECT_EQ(config.train.precision, "fp16");
  EXPECT_EQ(config.train.activation_checkpointing, "blocks");
  EXPECT_EQ(config.parallel.strategy, "zero2");
  EXPECT_EQ(config.parallel.offload, "optimizer");
  EXPECT_EQ(config.optim.clip_norm, 0.5);
  EXPECT_EQ(config.optim.name, "adamw");
  EXPECT_EQ(config.optim.learning_rate, 2e-4);
  EXPECT_THAT(config.optim.betas, ElementsAre(0.9, 0.95));
  EXPECT_EQ(config.optim.eps, 1e-6);
  EXPECT_EQ(config.optim.weight_decay, 0.01);
  EXPECT_EQ(config.optim.schedule.name, "warmup_cosine");
  EXPECT_EQ(config.optim.schedule.steps, 5000);
  EXPECT_EQ(config.optim.schedule.warmup, (Length{200, Length::Unit::steps}));
  EXPECT_DOUBLE_EQ(config.optim.schedule.final_rate, 2e-5);
  EXPECT_EQ(config.optim_of("generator").learning_rate, 2e-4);
  EXPECT_EQ(origin_of(loaded, "train.global_batch").origin, "ds.json:2");
  EXPECT_EQ(origin_of(loaded, "parallel.offload").origin, "ds.json:10");
  EXPECT_EQ(origin_of(loaded, "train.accumulation").origin, "built-in");
}

TEST(DeepSpeed, AnswersEveryKeyOnceInTheOrderOfTheFile) {
  const auto notes = notes_of(brought);
  EXPECT_THAT(notes, SizeIs(22));
  EXPECT_TRUE(std::is_sorted(notes.begin(), notes.end(), [](const auto& a, const auto& b) {
    const auto line = [](const std::string& note) { return std::stoi(note.substr(8)); };
    return line(a) < line(b);
  }));
  EXPECT_THAT(
      notes,
      AllOf(Contains("ds.json:2: train_batch_size: train.global_batch=64"),
            Contains("ds.json:4: gradient_accumulation_steps is auto: train.accumulation stays as it is"),
            Contains("ds.json:8: zero_optimization.stage 2: parallel.strategy=zero2"),
            Contains("ds.json:9: zero_optimization.overlap_comm has no meaning here: gradients always "
                     "travel while backward runs"),
            Contains("ds.json:10: zero_optimization.offload_optimizer.device cpu: "
                     "parallel.offload=optimizer"),
            Contains("ds.json:13: activation_checkpointing: train.activation_checkpointing=blocks"),
            Contains("ds.json:13: activation_checkpointing.partition_activations is not supported: what a "
                     "rank keeps of a block stays on it whole"),
            Contains("ds.json:14: optimizer.type Adam: optim.name=adamw")));
}

TEST(DeepSpeed, LosesNoKeyThatItKnows) {
  for (const std::string& key : deepspeed_keys()) {
    std::string content = "1";
    const auto words = split(key, '.');
    for (size_t i = words.size(); i-- > 0;) content = text("{\"", words[i], "\": ", content, "}");
    // Whatever a value of 1 means: somebody hears of the key, in a note or in a refusal.
    Problems problems;
    const Source source{.name = "ds.json", .short_name = "ds.json", .is_file = true};
    const Node root = parse_config(content, source, problems);
    const Translation translation = translate_deepspeed(root, problems);
    std::string heard = join(translation.notes, "\n");
    for (const Problem& problem : problems) heard += problem.key;
    EXPECT_NE(heard.find(key == "bfloat16" ? "bfloat16" : key), std::string::npos) << key << ": " << heard;
  }
}

TEST(DeepSpeed, LeavesOursWhereItSaysAutoOrNothing) {
  const std::string open =
      R"({"train_batch_size": "auto", "gradient_clipping": "auto", "bf16": {"enabled": "auto"},
    "zero_optimization": {"stage": "auto", "offload_optimizer": {"device": null}}, "activation_checkpointing": null,
    "optimizer": {"type": "auto", "params": {"lr": "auto", "betas": "auto"}},
    "scheduler": {"type": "auto", "params": {"warmup_num_steps": "auto"}}})";
  const LoadedConfig loaded = load_json(open);
  for (const Origin& origin : loaded.origins)
    EXPECT_THAT(origin.origin, ::testing::AnyOf("built-in", "optim")) << origin.key;
  EXPECT_THAT(loaded.notes, SizeIs(11));
  for (const std::string& note : loaded.notes) EXPECT_THAT(note, EndsWith(" as it is"));
}

TEST(DeepSpeed, NamesTheNearestOfAKeyThatNobodyKnows) {
  EXPECT_THAT(
      notes_of(R"({"train_batch_size": 8, "gradient_acumulation_steps": 2,
 "zero_optimization": {"overlap_com": true}, "zzz": 1})"),
      ElementsAre("ds.json:1: train_batch_size: train.global_batch=8",
                  "ds.json:1: gradient_acumulation_steps has no meaning here: DeepSpeed has no such key that "
                  "is known here; did you mean gradient_accumulation_steps?",
                  "ds.json:2: zero_optimization.overlap_com has no meaning here: DeepSpeed has no such key "
                  "that is known here; did you mean zero_optimization.overlap_comm?",
                  "ds.json:2: zzz has no meaning here: DeepSpeed has no such key that is known here"));
}

TEST(DeepSpeed, KnowsFourStages) {
  const auto strategy = [](int stage) {
    return load_json(text(R"({"zero_optimization": {"stage": )", stage, "}}")).config.parallel.strategy;
  };
  EXPECT_EQ(strategy(0), "ddp");
  EXPECT_EQ(strategy(1), "zero1");
  EXPECT_EQ(strategy(2), "zero2");
  EXPECT_EQ(strategy(3), "zero3");
  EXPECT_THAT(refusal_of_json("{\n\"zero_optimization\": {\"stage\": 4}}"),
              HasSubstr("ds.json:2: zero_optimization.stage has to be 0, 1, 2 or 3; got 4"));
  EXPECT_THAT(refusal_of_json(R"({"zero_optimization": {"stage": 1.5}})"), HasSubstr("got 1.5"));
  EXPECT_THAT(refusal_of_json(R"({"zero_optimization": true})"),
              HasSubstr("zero_optimization has to be a section with keys of its own; got true"));
}

TEST(DeepSpeed, OffloadsTheOptimizerToTheHostAlone) {
  const auto offload = [](const char* section) {
    return load_json(text(R"({"zero_optimization": {)", section, "}}")).config.parallel.offload;
  };
  EXPECT_EQ(offload(R"("offload_optimizer": {"device": "cpu"})"), "optimizer");
  EXPECT_EQ(offload(R"("offload_optimizer": {"device": "none"})"), "none");
  EXPECT_EQ(offload(R"("cpu_offload": true)"), "optimizer");
  EXPECT_THAT(
      refusal_of_json(R"({"zero_optimization": {"offload_optimizer": {"device": "nvme"}}})"),
      HasSubstr(
          "ds.json:1: zero_optimization.offload_optimizer.device is nvme, and nothing is offloaded to a "
          "disk here: say cpu"));
  EXPECT_THAT(refusal_of_json(R"({"zero_optimization": {"offload_param": {"device": "nvme"}}})"),
              HasSubstr("zero_optimization.offload_param.device is nvme"));
  EXPECT_THAT(refusal_of_json(R"({"zero_optimization": {"offload_optimizer": {"device": "gpu"}}})"),
              HasSubstr("has to be cpu or none; got \"gpu\""));
  EXPECT_THAT(
      notes_of(R"({"zero_optimization": {"offload_param": {"device": "cpu"}}})"),
      ElementsAre("ds.json:1: zero_optimization.offload_param is not supported: weights stay on the device; "
                  "zero3 cuts them"));
  EXPECT_THAT(notes_of(R"({"zero_optimization": {"offload_param": {"device": "none"}}})"),
              ElementsAre(HasSubstr("offload_param has no meaning here: ")));
}

TEST(DeepSpeed, ChoosesThePrecision) {
  const auto precision = [](const std::string& content) { return load_json(content).config.train.precision; };
  EXPECT_EQ(precision(R"({"fp16": {"enabled": true}})"), "fp16");
  EXPECT_EQ(precision(R"({"bf16": {"enabled": true}, "fp16": {"enabled": false}})"), "bf16");
  EXPECT_EQ(precision(R"({"bfloat16": {"enabled": true}})"), "bf16");
  EXPECT_EQ(precision(R"({"fp16": {"enabled": false}})"), "fp32");
  EXPECT_EQ(precision(R"({"fp16": {"enabled": false}, "bf16": {"enabled": false}})"), "fp32");
  EXPECT_EQ(precision(R"({"fp16": {"enabled": false}, "bf16": {"enabled": "auto"}})"), "auto");
  EXPECT_EQ(precision(R"({"train_batch_size": 4})"), "auto");
  EXPECT_THAT(refusal_of_json("{\"fp16\": {\"enabled\": true},\n\"bf16\": {\"enabled\": true}}"),
              HasSubstr("ds.json:2: bf16.enabled is true, and so is fp16.enabled on line 1"));
  EXPECT_THAT(refusal_of_json(R"({"fp16": {"enabled": "yes"}})"),
              HasSubstr("fp16.enabled has to be true or false; got \"yes\""));
}

TEST(DeepSpeed, ComputesBlocksAgainWhereItsSectionAsksForAnything) {
  const auto recomputed = [](const char* entries) {
    return load_json(text(R"({"activation_checkpointing": {)", entries, "}}"))
        .config.train.activation_checkpointing;
  };
  EXPECT_EQ(recomputed(R"("number_checkpoints": 4)"), "blocks");
  EXPECT_EQ(recomputed(R"("cpu_checkpointing": true)"), "blocks");
  // Otherwise the planner decides, as without the section.
  EXPECT_EQ(recomputed(R"("partition_activations": false, "number_checkpoints": null, "profile": true)"),
            "auto");
  EXPECT_EQ(recomputed(""), "auto");
}

TEST(DeepSpeed, TakesTheOptimizersThatThereAre) {
  const auto name = [](const char* type, const char* parameters = "") {
    return load_json(text(R"({"optimizer": {"type": ")", type, R"(", "params": {)", parameters, "}}}"))
        .config.optim.name;
  };
  EXPECT_EQ(name("AdamW"), "adamw");
  EXPECT_EQ(name("Adam"), "adamw") << "as DeepSpeed understands it";
  EXPECT_EQ(name("Adam", R"("adam_w_mode": false)"), "adam");
  EXPECT_EQ(name("SGD", R"("momentum": 0.9)"), "sgd");
  const LoadedConfig lamb = load_json(R"({"optimizer": {"type": "Lamb", "params": {"lr": 0.5}}})");
  EXPECT_NE(lamb.config.optim.learning_rate, 0.5);
  EXPECT_THAT(lamb.notes,
              ElementsAre(EndsWith("optimizer.type Lamb is not supported: optim stays as it is; there are "
                                   "adamw, adam and sgd"),
                          EndsWith("optimizer.params.lr has no meaning here: it is of an optimizer that "
                                   "is not supported")));
}

TEST(DeepSpeed, RefusesValuesThatOurKeysRefuse) {
  EXPECT_THAT(refusal_of_json("{\n\n\"train_batch_size\": \"many\"}"),
              HasSubstr("ds.json:3: train.global_batch has to be a whole number of at least 1, or auto"));
  EXPECT_THAT(refusal_of_json(R"({"train_batch_size": 8, "train_batch_size": 9})"),
              HasSubstr("is given twice"));
  EXPECT_THAT(refusal_of_json(R"({"gradient_clipping": -1})"), HasSubstr("optim.clip_norm"));
}

TEST(DeepSpeed, SpoiltAnywhereIsReadOrRefused) {
  std::mt19937 generator(5);
  int read = 0, refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string content = brought;
    for (unsigned changes = 1 + generator() % 3; changes > 0; --changes) {
      const size_t at = generator() % content.size();
      constexpr std::string_view letters = "{}[]\",:x0-";
      const char letter = letters[generator() % letters.size()];
      generator() % 2 == 0 ? content.replace(at, 1, 1, letter) : content.erase(at, 1 + generator() % 20);
    }
    refusal_of_json(content).empty() ? ++read : ++refused;
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 100);
}

TEST(DeepSpeed, GivesWayToTheCommandLine) {
  const ConfigFile file(brought, "ds.json");
  Sources sources = file.sources();
  sources.overrides = {"parallel.strategy=zero3"};
  const LoadedConfig loaded = load(sources);
  EXPECT_EQ(loaded.config.parallel.strategy, "zero3");
  EXPECT_EQ(origin_of(loaded, "parallel.strategy").overrode, "ds.json:8");
}

TEST(DeepSpeed, IsNothingThatOurOwnFilesHearOf) {
  EXPECT_THAT(load_json(R"({"train": {"global_batch": 8}})").notes, IsEmpty());
  EXPECT_THAT(
      refusal_of_json(R"({"train": {"global_batch": 8}, "zero_optimization": {"stage": 1}})"),
      HasSubstr(
          "zero_optimization.stage is not a key; DeepSpeed's keys stand in a JSON file of their own, for "
          "-c"));
}

}  // namespace
}  // namespace larmor
