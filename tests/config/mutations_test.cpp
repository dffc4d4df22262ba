// Many spoilt configs: every one is refused, naming the right key. And many good ones: every one reads back.
#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/config/reader.h"

#include "tests/config/support/made_up_workload.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string>& all_keys() {
  static const std::vector<std::string> keys = [] {
    MadeUpWorkload workload;
    return list_keys(workload.fields()).leaves;
  }();
  return keys;
}

// One insertion, deletion, substitution or swap in the last word of a key.
std::string misspelt(const std::string& key, std::mt19937& generator) {
  const size_t start = key.rfind('.') + 1;
  std::string out = key;
  const size_t at = start + generator() % (key.size() - start);
  const char letter = static_cast<char>('a' + generator() % 26);
  switch (generator() % 4) {
    case 0:
      out.insert(at, 1, letter);
      break;
    case 1:
      out.erase(at, 1);
      break;
    case 2:
      out[at] = letter;
      break;
    default:
      if (at + 1 < out.size()) std::swap(out[at], out[at + 1]);
  }
  return out;
}

bool is_known(const std::string& key) {
  return std::find(all_keys().begin(), all_keys().end(), key) != all_keys().end();
}

TEST(Mutations, AMisspeltKeyIsRefusedWithTheRightOneSuggested) {
  std::mt19937 generator(17);
  int tried = 0, right = 0;
  std::string wrong;
  for (const std::string& key : all_keys()) {
    for (int i = 0; i < 12; ++i) {
      const std::string typo = misspelt(key, generator);
      if (is_known(typo) || typo.back() == '.') continue;
      const std::string refusal = refusal_of_overrides({typo + "=1"});
      ASSERT_THAT(refusal, HasSubstr(text("command line: ", typo, " is not a key"))) << key;
      ++tried;
      const bool is_right = refusal.ends_with(text("did you mean ", key, "?"));
      right += is_right ? 1 : 0;
      if (!is_right) wrong += refusal + "\n";
    }
  }
  EXPECT_GT(tried, 800);
  EXPECT_GE(right, 0.95 * tried) << right << " of " << tried << "\n" << wrong;
}

TEST(Mutations, AMisspeltSectionIsRefusedWithTheRightKeySuggested) {
  for (const std::string& key : all_keys()) {
    const std::string typo = "x" + key;
    EXPECT_THAT(refusal_of_overrides({typo + "=1"}), HasSubstr(text("did you mean ", key, "?")));
  }
}

TEST(Mutations, AValueOfTheWrongTypeIsRefusedForEveryKey) {
  for (const std::string& key : all_keys()) {
    // Free values take anything at first; a mapping is right for none of them either.
    const std::string refusal = refusal_of_overrides({key + "={surely: {quite: wrong}}"});
    EXPECT_THAT(refusal, HasSubstr(key + " has to be")) << key;
  }
}

TEST(Mutations, ANumberOutOfRangeIsRefused) {
  for (const char* override : {"run.seed=-1",
                               "data.workers=-1",
                               "data.prefetch=0",
                               "data.bad_files=-1",
                               "train.global_batch=0",
                               "train.micro_batch=-2",
                               "train.accumulation=0",
                               "train.early_stopping=-1",
                               "train.non_finite_budget=-1",
                               "optim.learning_rate=-1e-4",
                               "optim.betas=[-0.1, 0.9]",
                               "optim.eps=-1",
                               "optim.weight_decay=-1",
                               "optim.momentum=1.1",
                               "optim.clip_norm=-0.5",
                               "optim.ema_decay=1",
                               "optim.schedule.start=1.5",
                               "optim.schedule.final_rate=-1",
                               "optim.schedule.steps=-1",
                               "checkpoint.keep_last=0",
                               "checkpoint.keep_best=-1",
                               "data.phantom_cases=0",
                               "data.phantom_size=[8, 0, 8]",
                               "model.channels=[0]",
                               "optim.generator.momentum=2",
                               "run.seed=9223372036854775808",
                               "optim.learning_rate=1e999"}) {
    const std::string key = split(override, '=').front();
    EXPECT_THAT(refusal_of_overrides({override}), HasSubstr(key + " has to be")) << override;
  }
}

TEST(Mutations, AWordInPlaceOfANumberIsRefused) {
  for (const char* key : {"run.seed", "train.micro_batch", "optim.learning_rate", "optim.betas",
                          "train.length", "track.tensorboard", "checkpoint.async", "model.channels",
                          "model.memory_limit", "data.phantom_size"}) {
    for (const char* value : {"several", "'1'x", "0x10", "1_0", "yes"}) {
      EXPECT_NE(refusal_of_overrides({text(key, "=", value)}), "") << key << "=" << value;
    }
  }
}

// A value that the key takes.
std::string random_value(const std::string& key, std::mt19937& generator) {
  const auto below = [&](uint32_t bound) { return static_cast<int64_t>(generator() % bound); };
  const auto word = [&](std::initializer_list<const char*> words) {
    return std::string(words.begin()[generator() % words.size()]);
  };
  const std::string last = key.substr(key.rfind('.') + 1);
  if (last == "learning_rate" || last == "eps" || last == "kl_weight" || last == "weight_decay")
    return text(below(1000) * 1e-7);
  if (last == "betas") return text("[0.", below(9), ", ", 0.999, "]");
  if (last == "length") return text(101 + below(500), word({"ep", "st"}));
  if (last == "warmup") return text(below(100), word({"ep", "st"}));
  if (last == "every" || last == "validate_every" || last == "pictures_every")
    return text(below(50), word({"ep", "st", "s", "min", "h"}));
  if (last == "micro_batch" || last == "workers" || last == "global_batch")
    return generator() % 3 == 0 ? "auto" : text(1 + below(64));
  if (last == "include" || last == "exclude")
    return word({"[]", "['*.nii', \"a  # b\"]", "[\"x: y\", '010', 'true']", "[plain, '*']"});
  if (last == "folder" || last == "weights")
    return word({"\"\"", "/a/b", "'with space'", "\"tab\\t quote\\\"\"", "'#1'", "caf\xc3\xa9"}) + "";
  if (last == "channels" && key.starts_with("model"))
    return text("[", 1 + below(64), ", ", 1 + below(64), "]");
  if (last == "attention_levels") return word({"[true, false]", "[]", "[false]"});
  if (last == "val") return word({"0.1", "[p1, '7', \"010\"]", "0"});
  if (last == "memory_limit") return word({"auto", "3GiB", "1000", "1.5MiB"});
  if (last == "transforms")
    return word({"[]", "[{Flip: {prob: 0.5, axes: [0, 1]}}]",
                 "[{A: {x: [1.5, -2.0e-3, 'a b'], y: {z: null}}}, {B: {}}]"});
  if (last == "strategy") return word({"auto", "single", "ddp"});
  return "";
}

TEST(Mutations, EveryGoodConfigReadsBackToItself) {
  std::mt19937 generator(23);
  for (int i = 0; i < 60; ++i) {
    std::vector<std::string> overrides;
    for (const std::string& key : all_keys()) {
      if (generator() % 4 != 0) continue;
      std::string value = random_value(key, generator);
      if (value.empty() || (key == "run.folder" && value == "\"\"")) continue;
      overrides.push_back(text(key, "=", value));
    }
    const LoadedConfig first = load_overrides(overrides);
    for (const bool with_origins : {true, false}) {
      const ConfigFile file(first.to_yaml(with_origins), "config.yaml");
      const LoadedConfig second = load(file.sources());
      ASSERT_EQ(second.sha256(), first.sha256()) << first.to_yaml(true);
      ASSERT_EQ(second.to_yaml(false), first.to_yaml(false));
      ASSERT_TRUE(first.differing_keys(second).empty());
      if (with_origins) {
        ASSERT_EQ(second.to_yaml(true), first.to_yaml(true));
      }
    }
  }
}

}  // namespace
}  // namespace larmor
