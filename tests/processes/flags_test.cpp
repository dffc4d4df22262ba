// The same flags for the same things in every verb, and the nearest name for everything that has one.
#include <algorithm>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/trained_run.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

constexpr int usage = 2;

/// The names below "Subcommands:" in a help text.
Words verbs_in(const std::string& help) {
  Words verbs;
  std::istringstream lines(help.substr(std::min(help.find("Subcommands:"), help.size())));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line) && line.starts_with("  ")) {
    const auto name = line.substr(2, line.find(' ', 2) - 2);
    if (!name.empty()) verbs.push_back(name);
  }
  return verbs;
}

class Flags : public ::testing::Test {
 protected:
  Finished call(Words words) const { return larmor_program(std::move(words), {.folder = folder()}); }
  std::filesystem::path folder() const { return scratch_.path(); }

  struct Verb {
    Words words;
    std::string help;
    bool has(const std::string& flag) const { return help.find(flag + " ") != std::string::npos; }
  };
  /// All that the program says it has, families opened.
  std::vector<Verb> all_verbs() const {
    std::vector<Verb> all;
    for (const auto& verb : verbs_in(call({"--help"}).out)) {
      auto help = call({"help", verb}).out;
      const auto below = verbs_in(help);
      if (below.empty()) all.push_back({{verb}, std::move(help)});
      for (const auto& name : below) all.push_back({{verb, name}, call({"help", verb, name}).out});
    }
    return all;
  }

 private:
  ScratchFolder scratch_;
};

TEST_F(Flags, AreThoseOfAllVerbsOfTheirKind) {
  const auto verbs = all_verbs();
  ASSERT_GE(verbs.size(), 20U);
  int of_workloads = 0;
  for (const auto& verb : verbs) {
    SCOPED_TRACE(join(verb.words, " "));
    for (const auto* flag : {"--json", "--quiet", "--no-color"}) EXPECT_TRUE(verb.has(flag)) << flag;
    const bool takes_workload = verb.help.find("WORKLOAD") != std::string::npos;
    of_workloads += takes_workload ? 1 : 0;
    const bool has_ranks = verb.has("--ranks");
    if (takes_workload) {
      for (const auto* flag : {"-c,--config", "--stage", "--ranks", "--device", "--threads"})
        EXPECT_TRUE(verb.has(flag)) << flag;
    } else if (has_ranks && verb.words != Words{"bench", "collectives"}) {
      for (const auto* flag : {"--device", "--threads"}) EXPECT_TRUE(verb.has(flag)) << flag;
    }
  }
  EXPECT_EQ(of_workloads, 14)
      << "init doctor plan prepare train predict, config's and job's three each, bench's two";
}

TEST_F(Flags, ThatAreMistypedAreAnsweredWithTheNearestInEveryVerb) {
  std::set<std::string> answered;
  for (const auto& verb : all_verbs()) {
    for (const auto& [flag, mistyped] : {std::pair{"--json", "--jsno"},
                                         {"--quiet", "--queit"},
                                         {"--stage", "--stge"},
                                         {"--ranks", "--rnaks"},
                                         {"--device", "--devcie"},
                                         {"--threads", "--thread"},
                                         {"--checkpoint", "--chekpoint"},
                                         {"--output", "--outptu"}}) {
      // One flag of every verb, and every flag of one: each call is a process.
      const bool is_for_all = std::string(flag) == "--json";
      if (!verb.has(flag) || (!is_for_all && !answered.insert(flag).second)) continue;
      auto words = verb.words;
      words.emplace_back(mistyped);
      const auto end = call(words);
      SCOPED_TRACE(join(words, " "));
      EXPECT_EQ(end.status, usage);
      EXPECT_THAT(end.err,
                  AllOf(HasSubstr(text(mistyped, " is not a flag of larmor ", join(verb.words, " "))),
                        HasSubstr(text("did you mean ", flag, "?"))));
    }
  }
}

TEST_F(Flags, OfThePlaceAreKeysWhereverThereIsAWorkload) {
  for (const Words& verb : std::vector<Words>{{"config", "show"}, {"config", "explain"}}) {
    auto words = verb;
    words.insert(words.end(), {"latent_diffusion", "-c", "tiny", "--device", "cpu", "--ranks", "3",
                               "--threads", "2", "--json"});
    const auto shown = call(words);
    ASSERT_EQ(shown.status, 0) << shown.err;
    std::map<std::string, std::string> values;
    for (const auto& row : shown.json()) values[row["key"]] = row["value"];
    EXPECT_EQ(values["parallel.device"], "cpu");
    EXPECT_EQ(values["parallel.ranks"], "\"3\"") << "a text, which may name GPUs: 0,2";
    EXPECT_EQ(values["parallel.threads"], "2");
  }
  EXPECT_THAT(call({"plan", "latent_diffusion", "-c", "tiny", "--device", "cdua"}).err,
              HasSubstr("did you mean cuda?"));
  EXPECT_THAT(call({"job", "slurm", "latent_diffusion", "-c", "tiny", "--ranks", "2", "--nodes", "1",
                    "--cpus-per-task", "2", "--time", "60"})
                  .out,
              HasSubstr("parallel.ranks=2"));
  EXPECT_EQ(call({"doctor", "data.folder=x"}).status, usage) << "of no workload";
}

/// Without what is measured anew at each call.
Json planned(Json plan) {
  plan.erase("reasons");
  for (const char* const key : {"open_files", "data"}) plan.erase(key);
  plan["memory"].erase("available");
  return plan;
}

TEST_F(Flags, OfPlanGiveThePlanThatTrainMakesWithThem) {
  const Words words{"latent_diffusion",
                    "-c",
                    "tiny",
                    "--device",
                    "cpu",
                    "--ranks",
                    "4",
                    "--threads",
                    "1",
                    "train.precision=fp32",
                    "data.phantom_cases=12"};
  Words plan{"plan", "--json"}, train{"train", "run.name=four", "--steps", "1"};
  plan.insert(plan.end(), words.begin(), words.end());
  train.insert(train.end(), words.begin(), words.end());
  const auto shown = call(plan);
  ASSERT_EQ(shown.status, 0) << shown.err;
  const auto trained = call(train);
  ASSERT_EQ(trained.status, 0) << trained.err;
  const auto done = read_json(folder() / "runs" / "four" / "plan.json");
  EXPECT_EQ(planned(shown.json()), planned(done));
  EXPECT_GT(shown.json()["open_files"]["limit"], shown.json()["open_files"]["of_rank"]);
  EXPECT_EQ(done["ranks"].size(), 4U);
  EXPECT_EQ(done["threads_per_rank"], 1);
}

TEST_F(Flags, StageAllShowsEachStageInTurn) {
  const auto each = [&](Words verb, Words more) {
    verb.insert(verb.end(), more.begin(), more.end());
    return call(verb);
  };
  const Words one{"latent_diffusion",    "-c", "tiny", "--json", "--stage", "autoencoder",
                  "train.precision=fp32"};
  const Words all{"latent_diffusion", "-c", "tiny", "--json", "--stage", "all", "train.precision=fp32"};
  for (const Words& verb : std::vector<Words>{
           {"plan"}, {"doctor"}, {"config", "show"}, {"config", "explain"}, {"config", "schema"}}) {
    SCOPED_TRACE(join(verb, " "));
    const auto shown = each(verb, all);
    ASSERT_EQ(shown.status, 0) << shown.err;
    Words stages;
    const auto by_stage = shown.json();
    for (const auto& [stage, content] : by_stage.items()) stages.push_back(stage);
    EXPECT_THAT(stages, ElementsAre("autoencoder", "diffusion"));
    if (verb != Words{"plan"} && verb != Words{"doctor"}) {
      EXPECT_EQ(shown.json()["autoencoder"], each(verb, one).json());
    }
    if (verb == Words{"plan"}) {
      EXPECT_EQ(planned(shown.json()["autoencoder"]), planned(each(verb, one).json()));
    }
  }
  const auto words = call({"plan", "latent_diffusion", "-c", "tiny", "--stage", "all"});
  EXPECT_THAT(words.out, AllOf(HasSubstr("stage autoencoder\n"), HasSubstr("stage diffusion\n")));
  const auto dry = call({"train", "latent_diffusion", "-c", "tiny", "--stage", "all", "--dry-run", "--json"});
  EXPECT_EQ(dry.json().size(), 2U) << dry.err;
  EXPECT_THAT(call({"bench", "step", "latent_diffusion", "--stage", "all"}).err,
              AllOf(HasSubstr("bench step takes one stage at a time"), HasSubstr("autoencoder, diffusion")));
  const auto failed = call({"plan", "latent_diffusion", "--stage", "all", "diffusion:model.channels=[7]"});
  EXPECT_EQ(failed.status, usage);
  EXPECT_THAT(failed.err, HasSubstr("stage diffusion"));
}

TEST_F(Flags, APlanIsMadeBeforeDataAreNamed) {
  put_file(folder() / "other.json", R"({"cores": 16, "memory_bytes": 100000000000,
    "gpus": [{"memory_bytes": 85899345920, "capability": [9, 0]}]})");
  for (const auto* workload : {"latent_diffusion", "fast_ddpm", "survival", "xray_to_ct"}) {
    const auto shown = call({"plan", workload, "--hardware", "other.json", "--json"});
    ASSERT_EQ(shown.status, 0) << workload << ": " << shown.err;
    EXPECT_EQ(shown.json()["device"], "cuda");
    EXPECT_THAT(shown.json()["reasons"][0], HasSubstr("No data are named: 900 training cases are supposed"));
  }
  EXPECT_THAT(call({"plan", "latent_diffusion"}).out, HasSubstr("No data are named"));
  const auto named = call({"plan", "latent_diffusion", "data.folder=nowhere"});
  EXPECT_EQ(named.status, 3) << "what is named has to be there";
  EXPECT_THAT(call({"train", "latent_diffusion", "--dry-run"}).err, HasSubstr("data.folder is not set"));
  EXPECT_THAT(call({"plan", "latent_diffusion", "-c", "tiny"}).out, Not(HasSubstr("No data are named")));
}

class Names : public TrainedRun {};

TEST_F(Names, ThatAreMistypedAreAnsweredWithTheNearest) {
  struct Mistyped {
    Words words;
    std::string meant;
  };
  std::vector<Mistyped> all{
      {{"trian"}, "train"},
      {{"checkpoint", "lst", "run"}, "list"},
      {{"job", "slrum", "latent_diffusion"}, "slurm"},
      {{"plan", "latent_diffusion", "train.precision=bf61"}, "bf16"},
      {{"plan", "latent_diffusion", "train.lenght=1ep"}, "train.length"},
      {{"evaluate", "rnu"}, "run"},
      {{"evaluate", "run", "--split", "tset"}, "test"},
      {{"evaluate", "run", "--checkpoint", "bset"}, "best"},
      {{"evaluate", "run", "--checkpoint", "step-0000012"}, "step-00000012"},
      {{"export", "run", "--checkpoint", "lsat", "--output", "x.safetensors"}, "last"},
      {{"evaluate", "run", "--device", "cdua"}, "cuda"},
      {{"train", "run", "--resume", "nevr"}, "never"},
      {{"train", "rnu"}, "run"},
      {{"plan", "latent_diffusion", "--stage", "diffusion", "-c", "tiny", "from.autoencoder=run#bset"},
       "#best"},
      {{"plan", "latent_diffusion", "--stage", "diffusion", "-c", "tiny", "from.autoencoder=rnu"}, "run"},
      {{"plan", "latent_diffusion", "--stage", "all", "autoencodr:train.length=1ep"}, "autoencoder"},
      {{"bench", "collectives", "--operations", "all_redcue"}, "all_reduce"},
      {{"bench", "collectives", "--backends", "glo"}, "gloo"}};
  for (const Words& verb : std::vector<Words>{{"train"},
                                              {"predict"},
                                              {"plan"},
                                              {"doctor"},
                                              {"prepare"},
                                              {"config", "show"},
                                              {"config", "explain"},
                                              {"config", "schema"},
                                              {"bench", "step"},
                                              {"bench", "loader"}}) {
    const auto with = [&](Words more) {
      auto words = verb;
      words.insert(words.end(), more.begin(), more.end());
      return words;
    };
    all.push_back({with({"latent_difusion"}), "latent_diffusion"});
    const bool needs_weights = verb == Words{"predict"};
    const bool is_schema = verb == Words{"config", "schema"};
    if (!needs_weights) all.push_back({with({"latent_diffusion", "--stage", "autoencodr"}), "autoencoder"});
    if (!needs_weights && !is_schema) {
      all.push_back({with({"latent_diffusion", "-c", "tinny"}), "tiny"});
      all.push_back({with({"latent_diffusion", "-c", "brian"}), "brain"});
    }
  }
  for (const auto& [words, meant] : all) {
    const auto end = call(words);
    SCOPED_TRACE(join(words, " "));
    EXPECT_EQ(end.status, usage) << end.out;
    EXPECT_THAT(end.err, HasSubstr(text("did you mean ", meant, "?")));
  }
}

TEST_F(Names, ThatStandInTheWrongPlaceAreAnsweredWithWhatTheyAre) {
  std::filesystem::create_directory(folder() / "heads");
  put_file(folder() / "mine.yaml", "train: {length: 1ep}\n");
  put_file(folder() / "cases.csv", "image,time,event\n");
  for (const auto& [words, meant] : std::vector<std::pair<Words, std::string>>{
           {{"train", "autoencoder"}, "latent_diffusion --stage autoencoder"},
           {{"train", "autoencodr"}, "latent_diffusion --stage autoencoder"},
           {{"train", "latent-diffusion"}, "latent_diffusion"},
           {{"plan", "risk"}, "survival --stage risk"},
           {{"train", "latent_diffusion", "diffusoin"}, "--stage diffusion"},
           {{"plan", "latent_diffusion", "tiny"}, "-c tiny"},
           {{"plan", "latent_diffusion", "heads"}, "data.folder=heads"},
           {{"plan", "latent_diffusion", "mine.yaml"}, "-c mine.yaml"},
           {{"train", "survival", "cases.csv"}, "data.list=cases.csv"},
           {{"trian", "--help"}, "train"},
           {{"job", "slrum", "--help"}, "slurm"},
           {{"help", "trian"}, "train"}}) {
    const auto end = call(words);
    SCOPED_TRACE(join(words, " "));
    EXPECT_EQ(end.status, usage) << end.out;
    EXPECT_THAT(end.err, HasSubstr(text("did you mean ", meant, "?")));
  }
}

}  // namespace
}  // namespace larmor::testing
