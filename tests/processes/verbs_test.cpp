// What can be done with a run once it is there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "larmor/base/hash.h"
#include "larmor/base/text.h"
#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/oracle.h"
#include "tests/processes/support/small_training.h"
#include "tests/processes/support/trained_state.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;

constexpr int usage = 2, data = 3, checkpoint = 7;

std::vector<std::string> keys_of(const Json& json) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  return keys;
}

/// One trained run for all of them: whoever changes a run has a copy of it.
class Verbs : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new ScratchFolder;
    const auto end = larmor_program(small_training("run", 1), here());
    ASSERT_EQ(end.status, 0) << end.err;
    EXPECT_EQ(std::filesystem::weakly_canonical(folder() / end.run_folder()), std::filesystem::weakly_canonical(run()));
  }
  static void TearDownTestSuite() { delete scratch_; }

  static std::filesystem::path folder() { return scratch_->path(); }
  static std::filesystem::path run() { return folder() / "runs" / "run"; }
  static ProgramOptions here() { return {.folder = folder()}; }
  static Finished call(std::vector<std::string> words) { return larmor_program(std::move(words), here()); }

  static inline ScratchFolder* scratch_ = nullptr;
};

TEST_F(Verbs, EvaluateGivesEachMetricAsAMeanAndByCase) {
  const auto json = call({"evaluate", "run", "--json"}).json();
  EXPECT_EQ(json["split"], "val");
  EXPECT_EQ(json["n"], 6);
  EXPECT_THAT(json["checkpoint"].get<std::string>(), ::testing::StartsWith("step-"));
  for (const auto* metric : {"psnr", "ssim", "l1"}) {
    ASSERT_EQ(json[metric]["per_case"].size(), 6U) << metric;
    double sum = 0;
    for (const auto& row : json[metric]["per_case"]) sum += row["value"].get<double>();
    EXPECT_NEAR(json[metric]["mean"].get<double>(), sum / 6, 1e-9) << metric;
  }
}

TEST_F(Verbs, EvaluateOfTheLastCheckpointIsTheLastValidation) {
  const auto json = call({"evaluate", "run", "--checkpoint", "last", "--json"}).json();
  const auto last = events_of(run(), "validation").back();
  EXPECT_NEAR(json["psnr"]["mean"].get<double>(), last["values"]["val/psnr"].get<double>(), 1e-6);
}

TEST_F(Verbs, EvaluateRefusesASplitThatIsNotThere) {
  EXPECT_EQ(call({"evaluate", "run", "--split", "tset"}).status, usage);
  EXPECT_EQ(call({"evaluate", "run", "--split", "test"}).status, data);
}

TEST_F(Verbs, ARunThatIsNotThereIsNamed) {
  const auto end = call({"evaluate", "rnu"});
  EXPECT_EQ(end.status, usage);
  EXPECT_THAT(end.err, HasSubstr("rnu"));
}

TEST_F(Verbs, ExportGivesTheBytesOfTheCheckpoint) {
  ASSERT_EQ(call({"export", "run", "--output", "out.safetensors", "--checkpoint", "last"}).status, 0);
  EXPECT_EQ(read_text(folder() / "out.safetensors"), read_text(run() / "checkpoints" / "last" / "model.safetensors"));
  ASSERT_EQ(call({"export", "run", "--output", "ema.safetensors", "--checkpoint", "last", "--ema"}).status, 0);
  EXPECT_NE(read_text(folder() / "ema.safetensors"), read_text(folder() / "out.safetensors"));
}

TEST_F(Verbs, SafetensorsItselfReadsEveryTensorOfACheckpoint) {
  if (!has_oracles()) GTEST_SKIP() << "LARMOR_ORACLES names no Python environment";
  for (const auto& item : std::filesystem::directory_iterator(run() / "checkpoints" / "last")) {
    if (item.path().extension() != ".safetensors") continue;
    const auto bytes = read_text(item.path());
    uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, bytes.data(), sizeof(header_bytes));
    const auto read = ask_oracle("safetensors_file.py", item.path());
    size_t tensors = 0;
    const auto header = parse_json(bytes.substr(8, header_bytes), "header");
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") continue;
      ++tensors;
      const auto begin = entry["data_offsets"][0].get<size_t>(), end = entry["data_offsets"][1].get<size_t>();
      EXPECT_EQ(read[name]["sha256"], sha256(bytes.substr(8 + header_bytes + begin, end - begin))) << name;
      EXPECT_EQ(read[name]["shape"], entry["shape"]) << name;
    }
    EXPECT_EQ(read.size(), tensors) << item.path();
    EXPECT_GT(tensors, 0U);
  }
}

TEST_F(Verbs, TensorBoardItselfReadsWhatTheEventsSay) {
  if (!has_oracles()) GTEST_SKIP() << "LARMOR_ORACLES names no Python environment";
  const auto read = ask_oracle("tensorboard_events.py", run() / "tb");
  const auto steps = events_of(run(), "step");
  const auto& losses = read["scalars"]["train/loss"];
  ASSERT_EQ(losses.size(), steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(losses[i][0], steps[i]["step"]);
    EXPECT_FLOAT_EQ(losses[i][2].get<float>(), steps[i]["values"]["train/loss"].get<float>());
  }
  EXPECT_FALSE(read["images"].empty());
}

TEST_F(Verbs, PredictKeepsShapeAndAffineOfAnyVolume) {
  put_file(folder() / "in.nii", nifti_bytes({.size = {13, 10, 9}, .spacing = 1.5F, .voxels = 13 * 10 * 9}));
  ASSERT_EQ(call({"predict", "run", "--input", "in.nii", "--output", "out/one.nii.gz"}).status, 0);
  const auto files = call({"inspect", "in.nii", "out/one.nii.gz", "--json"}).json();
  EXPECT_EQ(files[1]["shape"], files[0]["shape"]);
  EXPECT_EQ(files[1]["affine"], files[0]["affine"]);
  EXPECT_EQ(files[1]["spacing_mm"], files[0]["spacing_mm"]);
  EXPECT_EQ(files[1]["dtype"], "float32");
  EXPECT_NE(files[1]["sha256"], files[0]["sha256"]);
  if (!has_oracles()) return;
  const auto before = ask_oracle("nifti_file.py", folder() / "in.nii");
  const auto after = ask_oracle("nifti_file.py", folder() / "out" / "one.nii.gz");
  for (const auto* key : {"affine", "shape", "spacing", "sform_code", "qform_code", "descrip"}) EXPECT_EQ(after[key], before[key]) << key;
  EXPECT_EQ(after["sha256"], files[1]["sha256"]);
}

TEST_F(Verbs, PredictTakesAFolderAndSeveralFiles) {
  put_file(folder() / "many" / "a.nii", nifti_bytes());
  put_file(folder() / "many" / "b.nii.gz", gzipped(nifti_bytes()));
  const auto all = call({"predict", "run", "--input", "many", "--output", "many_out", "--json"}).json();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_TRUE(std::filesystem::exists(folder() / "many_out" / "a.nii.gz"));
  EXPECT_TRUE(std::filesystem::exists(folder() / "many_out" / "b.nii.gz"));
}

TEST_F(Verbs, PredictGoesWithoutARunFromExportedWeights) {
  put_file(folder() / "in2.nii", nifti_bytes());
  ASSERT_EQ(call({"export", "run", "--output", "w.safetensors", "--checkpoint", "last"}).status, 0);
  ASSERT_EQ(call({"predict", "run", "--checkpoint", "last", "--input", "in2.nii", "--output", "of_run.nii"}).status, 0);
  ASSERT_EQ(call({"predict", "latent_diffusion", "-c", "tiny", "--weights", "w.safetensors", "--input", "image=in2.nii", "--output", "of_weights.nii"}).status, 0);
  EXPECT_EQ(read_text(folder() / "of_run.nii"), read_text(folder() / "of_weights.nii"));
  EXPECT_EQ(call({"predict", "latent_diffusion", "-c", "tiny", "--input", "in2.nii", "--output", "x.nii"}).status, usage);
  EXPECT_EQ(call({"predict", "run", "--input", "nowhere.nii", "--output", "x.nii"}).status, data);
}

TEST_F(Verbs, PredictOfARealHeadKeepsItsPlace) {
  const auto heads = shared_data() / "brain";
  if (shared_data().empty()) GTEST_SKIP() << "the folder of real images is not on this machine";
  for (const auto& item : std::filesystem::recursive_directory_iterator(heads)) {
    if (!item.path().string().ends_with(".nii.gz")) continue;
    ASSERT_EQ(call({"predict", "run", "--input", item.path().string(), "--output", "head.nii.gz"}).status, 0) << item.path();
    const auto files = call({"inspect", item.path().string(), "head.nii.gz", "--json"}).json();
    EXPECT_EQ(files[1]["shape"], files[0]["shape"]);
    EXPECT_EQ(files[1]["affine"], files[0]["affine"]);
    break;
  }
}

TEST_F(Verbs, CheckpointsAreListedVerifiedAndPruned) {
  const auto listed = call({"checkpoint", "list", "run", "--json"}).json();
  ASSERT_FALSE(listed.empty());
  EXPECT_EQ(keys_of(listed[0]), (std::vector<std::string>{"bytes", "epoch", "metric", "ok", "reason", "step"}));
  EXPECT_EQ(call({"checkpoint", "verify", "run"}).status, 0);

  std::filesystem::copy(run(), folder() / "runs" / "pruned", std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
  const auto copied = checkpoint_names(folder() / "runs" / "pruned").back();
  std::filesystem::copy(folder() / "runs" / "pruned" / "checkpoints" / copied, folder() / "aside", std::filesystem::copy_options::recursive);
  EXPECT_EQ(call({"checkpoint", "prune", "pruned"}).status, 0);
  EXPECT_EQ(checkpoint_names(folder() / "runs" / "pruned").back(), copied) << "the newest stays";
}

TEST_F(Verbs, AFlippedBitIsFoundAndPassedOver) {
  const auto damaged = folder() / "runs" / "damaged";
  std::filesystem::copy(run(), damaged, std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
  std::filesystem::remove(damaged / "DONE");
  const auto newest = damaged / "checkpoints" / checkpoint_names(damaged).back();
  auto bytes = read_text(newest / "model.safetensors");
  bytes[bytes.size() / 2] ^= 1;
  put_file(newest / "model.safetensors", bytes);

  EXPECT_EQ(call({"checkpoint", "verify", "damaged"}).status, checkpoint);
  EXPECT_EQ(call({"train", "damaged", "--resume", newest.string()}).status, checkpoint);
  const auto end = call({"train", "damaged"});
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("passed over the damaged checkpoint"));
  EXPECT_EQ(trained_state(damaged).files, trained_state(run()).files);
}

TEST_F(Verbs, ConfigShowsEveryValueWithItsOrigin) {
  const auto shown = call({"config", "show", "latent_diffusion", "-c", "tiny", "run.seed=7", "--json"}).json();
  bool found = false;
  for (const auto& row : shown) {
    if (row["key"] != "run.seed") continue;
    found = true;
    EXPECT_EQ(row["value"], "7");
    EXPECT_THAT(row["origin"].get<std::string>(), HasSubstr("command line"));
  }
  EXPECT_TRUE(found);
  EXPECT_TRUE(call({"config", "schema", "latent_diffusion", "--json"}).json().contains("properties"));
}

TEST_F(Verbs, PlanAndDoctorGiveTheirKeys) {
  const auto plan = call({"plan", "latent_diffusion", "-c", "tiny", "--json"}).json();
  for (const auto* key : {"ranks", "micro_batch", "accumulation", "global_batch", "precision", "strategy", "loader_threads",
                          "threads_per_rank", "memory", "reasons"}) {
    EXPECT_TRUE(plan.contains(key)) << key;
  }
  const auto rehearsed = call({"plan", "latent_diffusion", "-c", "tiny", "--hardware", (run() / "hardware.json").string(), "--json"});
  EXPECT_EQ(rehearsed.status, 0) << rehearsed.err;
  const auto doctor = call({"doctor", "--json"}).json();
  EXPECT_EQ(keys_of(doctor), (std::vector<std::string>{"checks", "hardware", "limits", "settings"}));
}

TEST_F(Verbs, EveryShippedConfigIsWhole) {
  const auto listed = call({"list", "--json"}).json();
  for (const auto& name : listed[0]["configs"]) {
    const auto end = call({"config", "show", "latent_diffusion", "-c", name.get<std::string>()});
    EXPECT_EQ(end.status, 0) << name << ": " << end.err;
  }
}

TEST_F(Verbs, BenchTimesAStepOfOneRankAndOfTwo) {
  for (const auto* ranks : {"1", "2"}) {
    const auto end = call({"bench", "step", "latent_diffusion", "-c", "tiny", "--ranks", ranks, "--blocks", "2", "--steps", "1", "--warmup", "1"});
    ASSERT_EQ(end.status, 0) << end.err;
    const auto json = end.json();
    EXPECT_EQ(json["world"], std::stoi(ranks));
    EXPECT_GT(json["result"]["larmor"]["median_ms"].get<double>(), 0);
  }
}

}  // namespace
}  // namespace larmor::testing
