// `evaluate` and `predict` on emulated cards: the figures and files of CPUs, however many cards share them,
// and what becomes of them where a card or a rank fails.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include "larmor/base/image.h"
#include "larmor/base/text.h"

#include "tests/gpu_emulation/support/emulated_program.h"
#include "tests/gpu_emulation/support/written_volume.h"
#include "tests/processes/support/nifti_bytes.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Words training(const std::string& workload, const std::string& stage, const Words& more = {}) {
  return joined({"train", workload, "--stage", stage, "-c", "tiny", "--steps", "2", "--ranks", "1",
                 "--device", "cpu", "--no-color", "plan.probe=false", "checkpoint.every=2st",
                 "train.validate_every=2st", "run.name=" + stage},
                more);
}

void put_radiograph(const fs::path& file, int step) {
  Image image{.width = 40, .height = 48, .pixels = std::vector<uint8_t>(40 * 48)};
  for (size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = static_cast<uint8_t>(static_cast<size_t>(step) * i / 40);
  put_file(file, encode_png(image));
}

void put_inputs(const fs::path& folder) {
  for (const int64_t number : {0, 1, 2}) {
    const int64_t depth = 16 + 2 * number;
    put_file(folder / "heads" / text(number, ".nii"),
             nifti_bytes({.size = {depth, 18, 20}, .voxels = static_cast<uint64_t>(depth) * 360}));
  }
  std::string table = "case,t1n,t1c,t2w,t2f,target\n";
  for (const std::string head : {"a", "b"}) {
    const int64_t depth = head == "a" ? 13 : 12;  // a size that the network cannot halve
    for (const std::string modality : {"t1n", "t1c", "t2w"})
      put_file(folder / (head + "-" + modality + ".nii"),
               nifti_bytes({.size = {depth, 10, 9}, .voxels = static_cast<uint64_t>(depth) * 90}));
    table += text(head, ",", head, "-t1n.nii,", head, "-t1c.nii,", head, "-t2w.nii,,t2f\n");
  }
  put_file(folder / "heads.csv", table);
  put_radiograph(folder / "pa.png", 3);
  put_radiograph(folder / "lateral.png", 7);
  put_file(folder / "asked.csv",
           "image,question\npa.png,Is there a pleural effusion?\nlateral.png,Where is the lesion?\n");
}

/// A stage, and what it is asked to predict.
struct Called {
  std::string workload, stage;
  Words inputs;
};
void PrintTo(const Called& called, std::ostream* out) { *out << called.workload << " " << called.stage; }

Finished on_cpus(const Words& words, const fs::path& folder) {
  Finished end = larmor_program(words, {.folder = folder});
  EXPECT_EQ(end.status, 0) << join(words, " ") << end.err;
  return end;
}

Finished on_cards(const Words& words, const fs::path& folder) {
  Finished end = run_on_gpus(words, folder, {.cards = "3*H100"});
  EXPECT_EQ(end.status, 0) << join(words, " ") << end.err;
  return end;
}

/// A rank that shares the cores with others computes with fewer threads, and sums over threads round
/// otherwise, which a card's do not: so each has one. Of this process and those that it starts.
class OneCore {
 public:
  OneCore() {
    sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(sched_getcpu()), &one);
    sched_setaffinity(0, sizeof(one), &one);
  }
  ~OneCore() { sched_setaffinity(0, sizeof(before_), &before_); }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;

 private:
  cpu_set_t before_{};
};

Words on(const std::string& device, int ranks) { return {"--device", device, "--ranks", text(ranks)}; }

/// Both compute in float32, but in other kernels: those of Larmor's own are a CPU's. Fractions of this size
/// differ where a sampler has gone through its steps.
constexpr double of_figures = 1e-5, of_volumes = 1e-4;

void expect_near(const Json& one, const Json& other, const std::string& place) {
  if (one.is_number_float() && other.is_number_float()) {
    EXPECT_NEAR(one.get<double>(), other.get<double>(), of_figures * (1 + std::abs(other.get<double>())))
        << place;
    return;
  }
  ASSERT_EQ(one.type(), other.type()) << place;
  if (!one.is_structured()) {
    EXPECT_EQ(one, other) << place;
    return;
  }
  ASSERT_EQ(one.size(), other.size()) << place;
  if (one.is_object()) {
    for (const auto& [name, value] : one.items()) {
      ASSERT_TRUE(other.contains(name)) << place << "/" << name;
      expect_near(value, other.at(name), place + "/" + name);
    }
  } else {
    for (size_t i = 0; i < one.size(); ++i) expect_near(one[i], other[i], text(place, "/", i));
  }
}

std::vector<fs::path> volumes_in(const fs::path& folder) {
  std::vector<fs::path> volumes;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".gz") volumes.push_back(entry.path().filename());
  }
  return volumes;
}

void expect_near_volumes(const fs::path& own, const fs::path& other) {
  const auto names = volumes_in(other);
  EXPECT_EQ(volumes_in(own).size(), names.size());
  for (const auto& name : names) {
    const auto voxels = voxels_in(own / name), expected = voxels_in(other / name);
    ASSERT_EQ(voxels.size(), expected.size()) << name;
    const auto [least, most] = std::minmax_element(expected.begin(), expected.end());
    float farthest = 0;
    for (size_t i = 0; i < voxels.size(); ++i)
      farthest = std::max(farthest, std::abs(voxels[i] - expected[i]));
    EXPECT_LE(farthest, of_volumes * (*most - *least)) << name;
  }
}

void expect_same_files(const fs::path& own, const fs::path& other) {
  for (const auto& entry : fs::directory_iterator(other))
    EXPECT_TRUE(read_text(own / entry.path().filename()) == read_text(entry.path())) << entry.path();
}

Json without_outputs(Json rows) {
  for (auto& row : rows) {
    row.erase("output");
    row.erase("outputs");
  }
  return rows;
}

class CallsOnCards : public ::testing::TestWithParam<Called> {};

INSTANTIATE_TEST_SUITE_P(
    Of, CallsOnCards,
    ::testing::Values(Called{"latent_diffusion", "autoencoder", {"--input", "heads"}},
                      Called{"latent_diffusion", "diffusion", {"--count", "3"}},
                      Called{"survival", "risk", {"--input", "heads"}},
                      Called{"fast_ddpm", "denoiser", {"--table", "heads.csv"}},
                      Called{"xray_to_ct",
                             "stage1",
                             {"--input", "pa=pa.png", "--input", "lateral=lateral.png", "--count", "2"}},
                      Called{"xray_vqa", "pretrain", {"--table", "asked.csv", "--saliency"}}),
    [](const auto& info) { return info.param.workload + "_" + info.param.stage; });

TEST_P(CallsOnCards, GiveTheFiguresAndFilesOfCpusHoweverManyCardsShareThem) {
  const auto& [workload, stage, inputs] = GetParam();
  const OneCore one_core;
  const ScratchFolder scratch;
  const auto& folder = scratch.path();
  Words more;
  if (stage == "diffusion") {
    on_cpus(training(workload, "autoencoder"), folder);
    more = {"from.autoencoder=autoencoder"};
  }
  on_cpus(training(workload, stage, more), folder);

  const Words evaluate{"evaluate", stage, "--json", "train.precision=fp64"};
  const auto figures = on_cpus(joined(evaluate, on("cpu", 1)), folder);
  const auto on_one = on_cards(joined(evaluate, on("cuda", 1)), folder);
  // On an emulated card attention is not one fused kernel, and rounds otherwise.
  if (workload.starts_with("xray_"))
    expect_near(on_one.json(), figures.json(), stage);
  else
    EXPECT_EQ(on_one.out, figures.out);
  EXPECT_EQ(on_cards(joined(evaluate, on("cuda", 3)), folder).out, on_one.out);

  put_inputs(folder);
  const Words predict = joined({"predict", stage, "--json"}, inputs);
  const auto predicted = [&](const std::string& device, int ranks) {
    const Words words = joined(joined(predict, on(device, ranks)), {"--output", text(device, ranks, "/")});
    return without_outputs((device == "cpu" ? on_cpus : on_cards)(words, folder).json());
  };
  const auto expected = predicted("cpu", 1), alone = predicted("cuda", 1), shared = predicted("cuda", 2);
  expect_near(alone, expected, stage);
  EXPECT_EQ(shared, alone);
  expect_near_volumes(folder / "cuda1", folder / "cpu1");
  expect_same_files(folder / "cuda2", folder / "cuda1");
}

constexpr int usage = 2, memory = 5, rank_lost = 8;

/// A trained autoencoder, asked on two cards that fail.
class FaultsOfCalls : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new ScratchFolder;
    on_cpus(training("latent_diffusion", "autoencoder", {"parallel.hang_limit=3s"}), folder());
    // In one pass 1 is too large for what a card has, and 2 in windows, too.
    for (const int64_t number : {0, 1, 2, 3}) {
      const int64_t side = number == 1 ? 96 : number == 2 ? 256 : 16;
      put_file(
          folder() / "heads" / text(number, ".nii"),
          nifti_bytes({.size = {side, side, side}, .voxels = static_cast<uint64_t>(side * side * side)}));
    }
  }
  static void TearDownTestSuite() {
    delete scratch_;
    scratch_ = nullptr;
  }

  static fs::path folder() { return scratch_->path(); }
  static Finished call(const Words& words, const std::string& faults, const std::string& phase = "") {
    const ScratchFolder marks;
    return run_on_gpus(words, folder(),
                       {.environment = {{"EMULATED_FAULTS", faults},
                                        {"EMULATED_FAULT_PHASE", phase},
                                        {"EMULATED_FAULT_MARK", (marks.path() / "mark").string()}}});
  }
  static Words evaluate_on(int cards) { return joined({"evaluate", "autoencoder"}, on("cuda", cards)); }

 private:
  static inline ScratchFolder* scratch_ = nullptr;
};

TEST_F(FaultsOfCalls, PredictGoesInWindowsWhereMemoryRunsOutAndLosesOnlyTheCaseThatIsTooLargeEvenSo) {
  for (const int cards : {1, 2}) {
    const std::string output = text("of_", cards);
    const auto end = call(
        joined({"predict", "autoencoder", "--input", "heads", "--output", output + "/"}, on("cuda", cards)),
        "memory@0=1600M,memory@1=1600M");
    EXPECT_EQ(end.status, memory) << end.err;
    EXPECT_THAT(end.err,
                AllOf(HasSubstr("nothing came of 1 of the 4 cases:\n  heads/2.nii: memory ran out: CUDA "
                                "out of memory. Tried to allocate "),
                      HasSubstr("heads/1.nii: memory ran out in one pass; it goes on in windows"),
                      HasSubstr("hint: a GPU with more free memory"),
                      Not(HasSubstr("PYTORCH_CUDA_ALLOC_CONF")), Not(HasSubstr("ended with it"))));
    for (const int number : {0, 1, 3})
      EXPECT_TRUE(fs::exists(folder() / output / text(number, ".nii.gz"))) << number;
    EXPECT_FALSE(fs::exists(folder() / output / "2.nii.gz"));
  }
}

TEST_F(FaultsOfCalls, ACardWithoutMemoryForTheWeightsLeavesTheCasesOfPredictToTheOthers) {
  const auto end = call(joined({"predict", "autoencoder", "--input", "heads/0.nii", "--input", "heads/3.nii",
                                "--output", "others/"},
                               on("cuda", 2)),
                        "memory@1=1525M");
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_TRUE(fs::exists(folder() / "others" / "3.nii.gz"));
}

TEST_F(FaultsOfCalls, PredictOnACardThatIsLostLeavesWhatWasDoneAndNamesWhatIsMissing) {
  const auto end = call(joined({"predict", "autoencoder", "--input", "heads/0.nii", "--input", "heads/3.nii",
                                "--input", "heads/1.nii", "--output", "left/"},
                               on("cuda", 1)),
                        "gone@0=200");  // of some 40 kernels a case, after 120 for the weights: the second
  EXPECT_EQ(end.status, 1) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("nothing came of 2 of the 3 cases:\n  heads/3.nii: CUDA error: "),
                             HasSubstr("\n  heads/1.nii: not tried"), Not(HasSubstr("frame #"))));
  EXPECT_TRUE(fs::exists(folder() / "left" / "0.nii.gz"));
}

TEST_F(FaultsOfCalls, EvaluateNamesTheRankThatHasNoMemory) {
  const auto end = call(evaluate_on(2), "memory@1=1525M");
  EXPECT_EQ(end.status, memory);
  EXPECT_THAT(end.err,
              AllOf(HasSubstr("larmor: rank 1 ended with exit status 5 while validating after step 2"),
                    HasSubstr("memory ran out: CUDA out of memory")));
}

TEST_F(FaultsOfCalls, EvaluateNamesTheRankThatIsKilledAndWhere) {
  for (const int rank : {0, 1}) {
    const auto end = call(evaluate_on(2), text("killed@", rank, "=1"), "validating");
    EXPECT_EQ(end.status, rank_lost);
    EXPECT_THAT(end.err, HasSubstr(text("larmor: rank ", rank,
                                        " was killed by SIGKILL while validating after step 2")));
  }
}

TEST_F(FaultsOfCalls, EvaluateNamesTheCauseOfAnErrorOfACardAndWhatTheDriverSays) {
  const auto end = call(evaluate_on(2), "error@1=20", "validating");
  EXPECT_NE(end.status, 0);
  EXPECT_THAT(end.err, AllOf(HasSubstr("an illegal memory access was encountered"),
                             HasSubstr("GPU 1 (NVIDIA H100 80GB HBM3): Xid 31"), Not(HasSubstr("frame #"))));
}

TEST_F(FaultsOfCalls, EvaluateEndsWhereACollectiveNeverDoes) {
  const auto end = call(evaluate_on(2), "stuck@1=1", "validating");
  EXPECT_EQ(end.status, rank_lost);
  EXPECT_THAT(end.err, ::testing::ContainsRegex("rank [01] hangs: .*while validating after step 2"));
}

TEST_F(FaultsOfCalls, EvaluateNamesTheRankThatStandsStill) {
  for (const auto* phase : {"starting", "validating"}) {
    const auto end =
        run_on_gpus(evaluate_on(2), folder(),
                    {.environment = {{"LARMOR_FAULT", text("rank=1 phase=", phase, " do=stop")}}});
    EXPECT_EQ(end.status, rank_lost) << phase;
    EXPECT_THAT(end.err,
                ::testing::ContainsRegex("larmor: rank 1 hangs: .*no .*heartbeat for .* s \\(limit .*"
                                         "its process is stopped by a signal"))
        << phase;
  }
}

TEST_F(FaultsOfCalls, CardsThatAreNotThereAreRefused) {
  const auto many = call(evaluate_on(3), "");
  EXPECT_EQ(many.status, usage);
  EXPECT_THAT(many.err,
              HasSubstr("parallel.ranks asks for 3 ranks of one GPU each, but this job sees 2 GPUs"));
  const auto one = call({"evaluate", "autoencoder", "--device", "cuda:1"}, "");
  EXPECT_EQ(one.status, usage);
  EXPECT_THAT(one.err, HasSubstr("parallel.ranks=1,"));
  const auto second = call({"evaluate", "autoencoder", "--device", "cuda", "--ranks", "1,"}, "");
  EXPECT_EQ(second.status, 0) << second.err;
}

}  // namespace
}  // namespace larmor::testing
