// The verbs that need no run: what there is, what would be done, what files hold.
#include <filesystem>
#include <list>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::UnorderedElementsAre;

constexpr int usage = 2, data = 3;

std::vector<std::string> keys_of(const Json& json) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  return keys;
}

class VerbsWithoutRun : public ::testing::Test {
 protected:
  Finished call(std::vector<std::string> words) const {
    return larmor_program(std::move(words), {.folder = folder()});
  }
  std::filesystem::path folder() const { return scratch_.path(); }

 private:
  ScratchFolder scratch_;
};

TEST_F(VerbsWithoutRun, ConfigShowsEveryValueWithItsOrigin) {
  const auto shown =
      call({"config", "show", "latent_diffusion", "-c", "tiny", "run.seed=7", "--json"}).json();
  bool found = false;
  for (const auto& row : shown) {
    ASSERT_THAT(keys_of(row), UnorderedElementsAre("key", "value", "origin", "overrode", "help"));
    if (row["key"] != "run.seed") continue;
    found = true;
    EXPECT_EQ(row["value"], "7");
    EXPECT_EQ(row["origin"], "command line");
    EXPECT_EQ(row["overrode"], "built-in");
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(call({"config", "explain", "latent_diffusion", "-c", "tiny", "run.seed=7", "--json"}).json(),
            shown);
  const auto words = call({"config", "explain", "latent_diffusion", "-c", "tiny"});
  EXPECT_THAT(words.out,
              AllOf(HasSubstr("run.seed: 42\n    seed of every random draw"), HasSubstr("tiny.yaml:")));
}

TEST_F(VerbsWithoutRun, ConfigExplainsTheGroupsInWhichParametersLearn) {
  const auto explained = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"config", "explain", "xray_vqa", "-c", "tiny", "optim.learning_rate=0.01"};
    words.insert(words.end(), more.begin(), more.end());
    return call(std::move(words));
  };
  for (const auto& row : explained({"model.encoder_rate=0.5", "--json"}).json()) {
    if (row["key"] != "optim.learning_rate") {
      EXPECT_FALSE(row.contains("groups")) << row["key"];
      continue;
    }
    bool is_slower = false;
    for (const auto& group : row["groups"]) {
      EXPECT_THAT(keys_of(group), UnorderedElementsAre("objective", "first", "parameters", "numbers", "rate",
                                                       "learning_rate", "weight_decay"));
      is_slower = is_slower || (group["rate"] == 0.5 && group["learning_rate"] == 0.5 * 0.01);
    }
    EXPECT_TRUE(is_slower) << row["groups"];
  }
  EXPECT_THAT(explained({"model.encoder_rate=0.5"}).out,
              AllOf(HasSubstr("    parameters learn in "),
                    HasSubstr("learning rate 0.005 (0.5 times optim.learning_rate), weight decay ")));
  EXPECT_THAT(explained({"data.vocabulary=nowhere.txt"}).out,
              HasSubstr("in which groups parameters learn is not known yet: "));
}

TEST_F(VerbsWithoutRun, WhatConfigShowsCanBeGivenBack) {
  const auto shown = call({"config", "show", "latent_diffusion", "-c", "tiny"});
  put_file(folder() / "mine.yaml", shown.out);
  const auto values = [](const Json& rows) {
    std::map<std::string, std::string> by_key;
    for (const auto& row : rows) by_key[row["key"]] = row["value"];
    return by_key;
  };
  EXPECT_EQ(values(call({"config", "show", "latent_diffusion", "-c", "mine.yaml", "--json"}).json()),
            values(call({"config", "show", "latent_diffusion", "-c", "tiny", "--json"}).json()));
}

TEST_F(VerbsWithoutRun, TheSchemaNamesEverySection) {
  const auto schema = call({"config", "schema", "latent_diffusion", "--json"}).json();
  EXPECT_THAT(keys_of(schema["properties"]), IsSupersetOf({"run", "data", "model", "loss", "train", "optim",
                                                           "parallel", "checkpoint", "track", "plan"}));
  EXPECT_EQ(schema["additionalProperties"], false);
  const auto losses = [&](const char* stage) {
    return keys_of(schema["properties"][stage]["properties"]["loss"]["properties"]);
  };
  EXPECT_THAT(losses("autoencoder"), IsSupersetOf({"kl_weight"})) << "a section may be for one stage alone";
  EXPECT_THAT(losses("diffusion"), IsSupersetOf({"min_snr_gamma"}));
  EXPECT_EQ(schema["properties"]["diffusion"]["additionalProperties"], false);
}

TEST_F(VerbsWithoutRun, PlanGivesItsKeysAndItsReasons) {
  const auto plan = call({"plan", "latent_diffusion", "-c", "tiny", "--json"}).json();
  EXPECT_THAT(keys_of(plan),
              IsSupersetOf({"ranks", "micro_batch", "accumulation", "global_batch", "precision", "strategy",
                            "loader_threads", "threads_per_rank", "memory", "reasons"}));
  EXPECT_FALSE(plan["reasons"].empty());
  EXPECT_THAT(call({"plan", "latent_diffusion", "-c", "tiny"}).out, HasSubstr("why\n"));
}

TEST_F(VerbsWithoutRun, EveryShippedConfigIsWholeAndCanBePlannedForAnotherMachine) {
  put_file(
      folder() / "eight.json", R"({"cores": 96, "memory_bytes": 1000000000000, "gpus": [)" + [] {
        std::string gpus;
        for (int i = 0; i < 8; ++i) {
          gpus += std::string(i == 0 ? "" : ",") +
                  R"({"name": "Card", "memory_bytes": 85899345920, "capability": [9, 0]})";
        }
        return gpus;
      }() + "]}");
  put_heads(folder() / "heads", 20);
  for (const auto& item : call({"list", "--json"}).json().at(0).at("configs")) {
    const auto name = item.get<std::string>();
    const auto shown = call({"config", "show", "latent_diffusion", "-c", name});
    EXPECT_EQ(shown.status, 0) << name << ": " << shown.err;
    std::vector<std::string> words{"plan",       "latent_diffusion", "-c",    name,
                                   "--hardware", "eight.json",       "--json"};
    if (shown.out.find("kind: phantom") == std::string::npos) words.emplace_back("data.folder=heads");
    const auto planned = call(words);
    ASSERT_EQ(planned.status, 0) << name << ": " << planned.err;
    const auto plan = planned.json();
    EXPECT_EQ(plan["global_batch"], plan["micro_batch"].get<int64_t>() * plan["accumulation"].get<int64_t>() *
                                        static_cast<int64_t>(plan["ranks"].size()))
        << name;
  }
}

TEST_F(VerbsWithoutRun, PlanSaysWhatIsWrongWithAHardwareFile) {
  const auto plan_for = [&](const std::string& content) {
    put_file(folder() / "machine.json", content);
    return call({"plan", "latent_diffusion", "-c", "tiny", "--hardware", "machine.json"});
  };
  const auto absent = call({"plan", "latent_diffusion", "-c", "tiny", "--hardware", "nowhere.json"});
  EXPECT_EQ(absent.status, usage);
  EXPECT_THAT(absent.err, HasSubstr("there is no file nowhere.json"));
  EXPECT_THAT(plan_for("{}").err, HasSubstr("names no cores"));
  EXPECT_THAT(plan_for(R"({"cores": 4, "gpsu": []})").err, HasSubstr("gpsu"));
  EXPECT_THAT(plan_for("[1").err, HasSubstr("machine.json"));
}

TEST_F(VerbsWithoutRun, TheVersionIsALineThatScriptsTakeApart) {
  EXPECT_THAT(
      call({"--version"}).out,
      ::testing::MatchesRegex("larmor [0-9.]+ commit=[0-9a-z+]+ libtorch=[0-9.]+ cuda=(none|[0-9.]+)\n"));
}

TEST_F(VerbsWithoutRun, DoctorGivesItsKeys) {
  const auto end = call({"doctor", "--json"});
  const auto doctor = end.json();
  EXPECT_FALSE(std::filesystem::exists(folder() / "runs")) << "doctor looks and leaves nothing";
  EXPECT_THAT(keys_of(doctor),
              UnorderedElementsAre("hardware", "versions", "limits", "checks", "caches", "settings"));
  EXPECT_THAT(keys_of(doctor["versions"]),
              UnorderedElementsAre("larmor", "commit", "libtorch", "cuda_runtime", "cudnn", "nccl", "driver",
                                   "architectures"));
  bool fit = true;
  for (const auto& check : doctor["checks"]) {
    EXPECT_THAT(keys_of(check), UnorderedElementsAre("name", "ok", "message"));
    fit = fit && check["ok"].get<bool>();
  }
  EXPECT_EQ(end.status, fit ? 0 : 4);
  put_file(folder() / "this.json", doctor["hardware"].dump());
  const auto rehearsed = call({"plan", "latent_diffusion", "-c", "tiny", "--hardware", "this.json"});
  EXPECT_EQ(rehearsed.status, 0) << rehearsed.err;
}

TEST_F(VerbsWithoutRun, SeveralDoctorsAtOnceDoNotDisturbOneAnother) {
  for (int round = 0; round < 3; ++round) {
    std::list<Running> running;
    for (int i = 0; i < 4; ++i)
      running.emplace_back(std::vector<std::string>{"doctor", "--json"}, ProgramOptions{.folder = folder()});
    for (auto& one : running) {
      for (const auto& check : one.wait().json()["checks"])
        EXPECT_TRUE(check["name"] != "run folder" || check["ok"].get<bool>()) << check["message"];
    }
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder()));
}

TEST_F(VerbsWithoutRun, BenchLoaderTimesFilesStageByStage) {
  for (const char* const name : {"a.nii", "b.nii", "c.nii"})
    put_file(folder() / "heads" / name, nifti_bytes());
  const auto end = call({"bench", "loader", "latent_diffusion", "-c", "tiny", "data.kind=nifti",
                         "data.folder=heads", "--repeats", "1", "--workers", "1"});
  ASSERT_EQ(end.status, 0) << end.err;
  const auto line = end.json();
  EXPECT_EQ(line["volumes"], 3);
  EXPECT_GT(line["samples_per_second"], 0);
  EXPECT_THAT(keys_of(line["mean_ms_per_volume"]),
              UnorderedElementsAre("load", "crop", "percentile", "chain"));
  const auto phantoms = call({"bench", "loader", "latent_diffusion", "-c", "tiny"});
  EXPECT_EQ(phantoms.status, usage);
  EXPECT_THAT(phantoms.err, HasSubstr("phantoms are made, not loaded"));
}

TEST_F(VerbsWithoutRun, PrepareCountsTheCasesAndNamesTheBadOnes) {
  put_heads(folder() / "heads", 10);
  const std::vector<std::string> words{"prepare",         "latent_diffusion",  "-c",    "tiny",
                                       "data.kind=nifti", "data.folder=heads", "--json"};
  const auto json = call(words).json();
  EXPECT_THAT(keys_of(json), UnorderedElementsAre("index", "data", "cache", "bad"));
  EXPECT_THAT(keys_of(json["index"]), UnorderedElementsAre("cases", "patients", "splits", "sha256"));
  EXPECT_EQ(json["index"]["cases"], 10);
  EXPECT_EQ(json["bad"], Json::array());
  EXPECT_THAT(keys_of(json["cache"]), UnorderedElementsAre("folder", "bytes"));
  EXPECT_GT(json["cache"]["bytes"], 10 * 1000);

  put_file(folder() / "heads" / "p3" / "t1.nii.gz", gzipped(nifti_bytes({.voxels = 10})));
  const auto end = call(words);
  EXPECT_EQ(end.status, data);
  const auto bad = end.json()["bad"];
  ASSERT_EQ(bad.size(), 1U);
  EXPECT_THAT(keys_of(bad[0]), UnorderedElementsAre("path", "reason"));
  EXPECT_THAT(bad[0]["path"].get<std::string>(), HasSubstr("p3/t1.nii.gz"));
}

TEST_F(VerbsWithoutRun, PrepareForecastsFillsAndCleansTheCache) {
  put_heads(folder() / "heads", 10);
  const std::vector<std::string> words{
      "prepare",           "latent_diffusion",        "-c",    "tiny", "data.kind=nifti",
      "data.folder=heads", "data.cache_folder=store", "--json"};
  const auto first = call(words), second = call(words);
  EXPECT_THAT(first.err, HasSubstr("the prepared cache of 10 cases takes about"));
  // What the disk has free is measured at each call.
  const auto without_free = [](Json shown) {
    shown["data"]["bytes"].erase("free");
    return shown;
  };
  EXPECT_EQ(without_free(first.json()), without_free(second.json()));
  auto cleaning = words;
  cleaning.emplace_back("--clean");
  const auto cleaned = call(cleaning).json()["cache"];
  EXPECT_THAT(keys_of(cleaned), UnorderedElementsAre("folder", "removed", "bytes", "in_use"));
  EXPECT_GT(cleaned["removed"], 0);  // heads of equal contents share an entry
  EXPECT_LE(cleaned["bytes"], first.json()["cache"]["bytes"]);
  EXPECT_EQ(call(cleaning).json()["cache"]["removed"], 0);

  EXPECT_EQ(call({"prepare", "latent_diffusion", "-c", "tiny", "--json"}).json()["cache"], nullptr)
      << "phantoms";
}

TEST_F(VerbsWithoutRun, InspectGivesItsKeysAndConverts) {
  put_file(folder() / "a.nii.gz", gzipped(nifti_bytes({.size = {5, 4, 3}, .spacing = 2, .voxels = 60})));
  const auto report = call({"inspect", "a.nii.gz", "--convert", "b.nii", "--json"}).json().at(0);
  EXPECT_THAT(keys_of(report), UnorderedElementsAre("path", "shape", "spacing_mm", "affine", "dtype", "min",
                                                    "max", "mean", "sha256", "problems"));
  EXPECT_EQ(report["shape"], Json::array({5, 4, 3}));
  auto converted = call({"inspect", "b.nii", "--json"}).json().at(0);
  converted["path"] = "a.nii.gz";
  EXPECT_EQ(converted, report);
  EXPECT_EQ(call({"inspect", "a.nii.gz", "b.nii", "--convert", "c.nii"}).status, usage);
  EXPECT_EQ(call({"inspect", "nowhere.nii", "--convert", "c.nii"}).status, data);
  EXPECT_FALSE(std::filesystem::exists(folder() / "c.nii"));
}

TEST_F(VerbsWithoutRun, WordsThatLeadNowhereAreAnswered) {
  const auto refused = [&](std::vector<std::string> words) {
    const auto end = call(std::move(words));
    EXPECT_EQ(end.status, usage) << end.out << end.err;
    return end.out + end.err;
  };
  EXPECT_THAT(refused({"config"}), AllOf(HasSubstr("show"), HasSubstr("schema")));
  EXPECT_THAT(refused({"config", "shwo", "latent_diffusion"}), HasSubstr("did you mean show?"));
  EXPECT_THAT(refused({"bench", "colectives"}), HasSubstr("did you mean collectives?"));
  EXPECT_THAT(refused({"list", "everything"}), HasSubstr("there is no workload everything"));
  EXPECT_THAT(refused({"help", "trian"}), HasSubstr("did you mean train?"));
  EXPECT_THAT(refused({"plan"}), HasSubstr("latent_diffusion"));
  EXPECT_THAT(refused({"plan", "latent_difusion"}), HasSubstr("did you mean latent_diffusion?"));
  EXPECT_THAT(refused({"inspect"}), HasSubstr("larmor help inspect"));
  EXPECT_THAT(refused({"plan", "latent_diffusion", "--stage", "autoencder"}), HasSubstr("autoencoder"));
  EXPECT_THAT(refused({"plan", "latent_diffusion", "-c", "tny"}), HasSubstr("did you mean tiny?"));
}

TEST_F(VerbsWithoutRun, HelpOfAVerbShowsItsFlags) {
  for (const auto* verb :
       {"list", "inspect", "doctor", "plan", "prepare", "train", "evaluate", "predict", "export"}) {
    const auto end = call({"help", verb});
    EXPECT_EQ(end.status, 0);
    EXPECT_THAT(end.out, AllOf(HasSubstr(std::string("larmor ") + verb), HasSubstr("--json"))) << verb;
  }
  EXPECT_THAT(call({"help", "config", "show"}).out, HasSubstr("-c,--config"));
}

TEST_F(VerbsWithoutRun, PlanAndPrepareSayWhatWouldBeTrainedOn) {
  put_heads(folder() / "set" / "train", 6);
  put_heads(folder() / "set" / "val" / "more", 2, /*first=*/7);
  put_file(folder() / "set" / "train" / "notes.txt", "words");
  const std::vector<std::string> words{"latent_diffusion", "-c", "tiny", "data.kind=nifti",
                                       "data.folder=set"};
  const auto with = [&](std::vector<std::string> verb, const std::vector<std::string>& more) {
    verb.insert(verb.end(), words.begin(), words.end());
    verb.insert(verb.end(), more.begin(), more.end());
    return call(verb);
  };
  for (const auto& [verb, more] :
       {std::pair{"plan", "--quiet"}, {"train", "--dry-run"}, {"prepare", "--quiet"}}) {
    const auto shown = with({verb}, {more, "--json"});
    ASSERT_EQ(shown.status, 0) << verb << shown.err;
    const auto block = shown.json().at("data");
    EXPECT_EQ(block.at("splits").at("train").at("patients").get<int>(), 6) << verb;
    EXPECT_EQ(block.at("splits").at("val").at("patients").get<int>(), 1) << verb << ", the folder more";
    EXPECT_EQ(block.at("passed_over").at(0).at("example").get<std::string>(), "train/notes.txt");
    EXPECT_GT(block.at("steps").get<int>(), 0) << verb;
    EXPECT_GT(block.at("bytes").at("checkpoint").get<int>(), 0) << verb;
  }
  EXPECT_EQ(with({"prepare"}, {"--list", "--json"}).json().size(), 9U);
  EXPECT_THAT(with({"prepare"}, {"--list"}).out,
              HasSubstr("train/notes.txt,,,,another kind of file (*.txt)\n"
                        "train/p0/t1.nii.gz,train/p0/t1.nii.gz,p0,train\n"));
}

TEST_F(VerbsWithoutRun, NoWorkloadPassesOverDataThatAPersonNames) {
  for (const auto& workload : call({"list", "--json"}).json()) {
    const auto name = workload.at("workload").get<std::string>();
    for (const auto& stage : workload.at("stages")) {
      const auto refused =
          call({"plan", name, "--stage", stage.get<std::string>(), "-c", "tiny", "data.folder=own"});
      EXPECT_EQ(refused.status, usage) << name;
      EXPECT_THAT(refused.err, HasSubstr("data.folder has no effect, since data.kind is ")) << name;
    }
  }
}

}  // namespace
}  // namespace larmor::testing
