// A run in float64 is evaluated and predicts in float64: what evaluate says of a checkpoint is what training
// has written of it, to digits that float32 does not have.
#include <algorithm>
#include <cmath>
#include <ostream>
#include <stdexcept>
#include <string_view>

#include <gtest/gtest.h>

#include "larmor/base/image.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

using Words = std::vector<std::string>;

struct Judged {
  std::string workload;
  Words stages;   // empty: the one that it has
  Words predict;  // what the last stage is given
};
void PrintTo(const Judged& judged, std::ostream* out) { *out << judged.workload; }

class Float64Run : public ::testing::TestWithParam<Judged> {
 protected:
  void SetUp() override {
    put_file(folder() / "a.nii", nifti_bytes());
    Image image{.width = 64, .height = 64, .channels = 3, .pixels = std::vector<uint8_t>(3 * 64 * 64)};
    for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<uint8_t>(i / 50);
    put_file(folder() / "x.png", encode_png(image));
    Words words{"train", GetParam().workload, "-c", "tiny"};
    if (!GetParam().stages.empty()) words.insert(words.end(), {"--stage", "all"});
    words.insert(words.end(), {"--ranks", "1", "run.name=wide", "train.precision=fp64", "train.length=2st",
                               "train.validate_every=2st", "train.validate_with=live", "checkpoint.every=2st",
                               "optim.schedule.warmup=0"});
    const auto end = call(words);
    ASSERT_EQ(end.status, 0) << end.err;
  }

  std::filesystem::path folder() const { return scratch_.path(); }
  Finished call(Words words) const { return larmor_program(std::move(words), {.folder = folder()}); }
  Words runs() const {
    if (GetParam().stages.empty()) return {"wide"};
    Words names;
    for (const auto& stage : GetParam().stages) names.push_back("wide-" + stage);
    return names;
  }
  /// What training has written of the run's last validation.
  Json last_validation(const std::string& run) const {
    return events_of(folder() / "runs" / run, "validation").back().at("values");
  }
  /// What comes of the last stage: what is said of it, and its volume.
  std::string predicted(const Words& more) const {
    Words words{"predict", runs().back()};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--output", "out.nii", "--json"});
    words.insert(words.end(), GetParam().predict.begin(), GetParam().predict.end());
    const auto end = call(words);
    EXPECT_EQ(end.status, 0) << end.err;
    const auto file = folder() / "out.nii";
    return end.out + (std::filesystem::exists(file) ? read_text(file) : "");
  }

 private:
  ScratchFolder scratch_;
};

INSTANTIATE_TEST_SUITE_P(
    Of, Float64Run,
    ::testing::Values(
        Judged{"survival", {}, {"--input", "a.nii"}},
        Judged{"latent_diffusion", {"autoencoder", "diffusion"}, {"--count", "1"}},
        Judged{"fast_ddpm", {}, {"--input", "t1n=a.nii", "--input", "t1c=a.nii", "--input", "t2w=a.nii"}},
        Judged{"xray_to_ct",
               {"stage1", "stage2", "stage3"},
               {"--input", "pa=x.png", "--input", "lateral=x.png"}},
        Judged{
            "xray_vqa", {"pretrain", "finetune"}, {"--input", "image=x.png", "--input", "question=Is it?"}}),
    [](const auto& of) { return of.param.workload; });

/// The mean of "loss", and of "auc@1y" what "auc" says of 1y.
double figure_of(const Json& report, const std::string& name) {
  const auto at = name.find('@');
  const auto& metric = report.at(name.substr(0, at));
  if (at == std::string::npos) return metric.at("mean").get<double>();
  for (const auto& [key, parts] : metric.items()) {
    if (key.starts_with("per_") && parts.is_object()) return parts.at(name.substr(at + 1)).get<double>();
  }
  throw std::out_of_range(name);
}

void expect_same_figures(const Json& report, const Json& validation, const std::string& run) {
  constexpr double of_float64 = 1e-12;
  EXPECT_TRUE(validation.contains("val/loss"));
  for (const auto& [name, value] : validation.items()) {
    if (value.is_null()) continue;
    const auto expected = value.get<double>();
    EXPECT_NEAR(figure_of(report, name.substr(std::string_view("val/").size())), expected,
                of_float64 * std::max(1.0, std::abs(expected)))
        << run << " " << name;
  }
}

TEST_P(Float64Run, IsEvaluatedAsTrainingHasValidatedItAndPredictsInFloat64) {
  for (const auto& run : runs()) {
    const auto quick = call({"evaluate", run, "--checkpoint", "last", "--no-ema", "--quick", "--json"});
    ASSERT_EQ(quick.status, 0) << quick.err;
    expect_same_figures(quick.json(), last_validation(run), run);
    const auto in_full = call({"evaluate", run, "--json"});
    EXPECT_EQ(in_full.status, 0) << in_full.err;
  }
  const auto wide = predicted({});
  EXPECT_EQ(predicted({"train.precision=fp64"}), wide);
  EXPECT_NE(predicted({"train.precision=fp32"}), wide) << "a call may ask otherwise";
}

}  // namespace
}  // namespace larmor::testing
