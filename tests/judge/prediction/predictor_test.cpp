// Cases through a made-up task: what reaches it, and where what it says goes.
#include "larmor/judge/prediction/predictor.h"

#include <cstring>
#include <new>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/device/layout.h"
#include "larmor/judge/prediction/prediction_run.h"
#include "larmor/kernels/draw/draw.h"

#include "tests/support/cases.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Classes have no values in between.
TEST(OnGridOf, BringsALabelMapOntoTheFilesGridByTheNearestVoxel) {
  Affine doubled = identity_affine();
  for (std::size_t axis = 0; axis < 3; ++axis) doubled[axis][axis] = 2;
  PredictionContext context;
  context.grids["image"] = {.of_file = identity_affine(), .prepared = doubled, .size_of_file = {4, 4, 4}};
  const at::Tensor classes = at::arange(8).mul(3).view({1, 2, 2, 2});
  const Volume map = context.on_grid_of("image", classes);
  EXPECT_EQ(map.voxels.scalar_type(), at::kLong);
  EXPECT_EQ(map.voxels.sizes(), at::IntArrayRef({1, 4, 4, 4}));
  EXPECT_EQ(map.affine, identity_affine());
  EXPECT_TRUE(map.voxels.remainder(3).eq(0).all().item<bool>()) << "no other class than those that are there";
  EXPECT_EQ(map.voxels[0][3][3][3].item<int64_t>(), 21);
  EXPECT_FALSE(
      context.on_grid_of("image", classes.to(at::kFloat)).voxels.remainder(3).eq(0).all().item<bool>());
}

/// Takes two images and a question, none of which has to be given; draws a volume and says what it was given.
class Echo final : public Task {
 public:
  /// `returns_first`: gives twice the first image, too.
  explicit Echo(bool returns_first = false) : returns_first_(returns_first) {}
  std::vector<Objective> objectives() override { return {}; }
  std::vector<at::Tensor> losses(const Batch&, const StepContext&) override { return {}; }
  void validate(const Batch&, Metrics&) override {}
  Prediction predict(const Batch& inputs, const PredictionContext& context) override {
    EXPECT_FALSE(at::GradMode::is_enabled());
    EXPECT_EQ(inputs.size(), 1);
    layout_ = layout_here();
    type_ = context.type;
    for (const auto& [name, image] : inputs.tensors) EXPECT_EQ(image.scalar_type(), type_) << name;
    Prediction prediction;
    prediction.volumes["noise"].voxels = draw_normal_like(at::empty({1, 2, 2, 2}, type_), "noise");
    double sum = 0;
    for (const auto& [name, image] : inputs.tensors) sum += image.sum().item<double>();
    if (sum < 0) fail(Exit::data, "is darker than black");
    if (sum > 1e9) throw std::runtime_error("CUDA error: the GPU is lost\nand a stack");
    if (sum > 1e6) throw std::bad_alloc();
    const auto question = context.texts.find("question");
    prediction.numbers = {{"sum", sum}};
    prediction.words = {{"answer", question == context.texts.end() ? "none" : "to " + question->second}};
    const auto scene = context.texts.find("scene");
    if (scene != context.texts.end()) prediction.words.emplace_back("scene", scene->second);
    if (returns_first_ && inputs.tensors.contains("one"))
      prediction.volumes["one"] = context.on_grid_of("one", inputs.at("one")[0] * 2);
    return prediction;
  }

  Layout layout() const { return layout_; }
  c10::ScalarType type() const { return type_; }

 private:
  bool returns_first_;
  Layout layout_ = Layout::contiguous;  // as it was at the latest call
  c10::ScalarType type_ = c10::kFloat;
};

PredictionForm form_of(std::vector<std::string> volumes, Json transforms = Json::array()) {
  return {.inputs = {{.name = "one", .is_optional = true},
                     {.name = "two", .is_optional = true},
                     {.name = "question", .kind = PredictionInput::Kind::text, .is_optional = true},
                     {.name = "scene", .kind = PredictionInput::Kind::file, .is_optional = true}},
          .transforms = std::move(transforms),
          .volumes = std::move(volumes)};
}

/// One case, for which there is memory enough.
Prediction predicted(const Predictor& predictor, const PredictionCase& one = {}) {
  return predictor.predict(one, predictor.read(one));
}

class PredictorOf : public ::testing::Test {
 protected:
  /// A volume of 2 x 3 x 4 voxels, all of that value, 2 mm each.
  std::string image(const std::string& name, float value) {
    Volume volume{.voxels = at::full({1, 2, 3, 4}, value)};
    for (size_t axis = 0; axis < 3; ++axis) volume.affine[axis][axis] = 2;
    const auto path = folder() / (name + ".nii");
    write_nifti(storage_, path, volume);
    return path.string();
  }
  fs::path folder() const { return scratch_.path(); }

  /// Everything that is said of the cases.
  std::vector<PredictedCase> run(const PredictionForm& form, const PredictionRequest& request,
                                 const fs::path& output, uint64_t seed = 1) {
    found_ = find_prediction_cases(form, request);
    files_.emplace(form, found_, output);
    Echo task(form.volumes.size() > 1);
    const Predictor predictor(task, form, {.seed = seed});
    PredictionRun run({predictor, *files_, found_.cases, storage_}, {.ahead = 1});
    return run.predict_all([](const PredictionCase&) {});
  }

  DiskStorage storage_;
  PredictionCases found_;
  std::optional<PredictionFiles> files_;

 private:
  ScratchFolder scratch_;
};

TEST_F(PredictorOf, CaseNDrawsTheSameInEveryCallWithTheSameSeed) {
  const auto form = form_of({"noise"});
  Echo task;
  const auto drawn = [&](uint64_t seed, int64_t number, int64_t sample = 0) {
    const PredictionCase one{.number = number, .sample = sample};
    return predicted(Predictor(task, form, {.seed = seed}), one).volumes.at("noise").voxels;
  };
  EXPECT_TRUE(drawn(3, 2).equal(drawn(3, 2)));
  EXPECT_FALSE(drawn(3, 2).equal(drawn(3, 1)));
  EXPECT_FALSE(drawn(3, 2).equal(drawn(4, 2)));
  EXPECT_TRUE(drawn(3, 2, 1).equal(drawn(3, 2, 1)));
  EXPECT_FALSE(drawn(3, 2, 1).equal(drawn(3, 2)));
}

/// Has no memory for a pass over everything.
class Narrow final : public Task {
 public:
  std::vector<Objective> objectives() override { return {}; }
  std::vector<at::Tensor> losses(const Batch&, const StepContext&) override { return {}; }
  void validate(const Batch&, Metrics&) override {}
  Prediction predict(const Batch&, const PredictionContext& context) override {
    ++calls;
    if (context.fits_in_one_pass(1)) throw std::bad_alloc();
    return {.volumes = {{"noise", {.voxels = draw_normal_like(at::empty({1, 2, 2, 2}), "noise")}}}};
  }

  int calls = 0;
};

TEST_F(PredictorOf, ACaseForWhichMemoryRunsOutInOnePassGoesInWindows) {
  const auto form = form_of({"noise"});
  found_ = {.cases = {{.name = "a", .label = "a"}}};
  files_.emplace(form, found_, folder() / "out.nii");
  const auto drawn_by = [&](bool fits) {
    Narrow task;
    const Predictor predictor(task, form, {});
    PredictionRun run({predictor, *files_, found_.cases, storage_},
                      {.fits_in_one_pass = [fits](double) { return fits; }});
    EXPECT_EQ(run.predict(0, {}).failure, "");
    EXPECT_EQ(task.calls, fits ? 2 : 1);
    return read_volume(folder() / "out.nii").voxels;
  };
  EXPECT_TRUE(drawn_by(true).equal(drawn_by(false))) << "the second try draws what the first has drawn";
}

TEST_F(PredictorOf, NetworksComputeInTheLayoutThatThePlanHasChosen) {
  Echo task;
  predicted(Predictor(task, form_of({"noise"}), {.layout = Layout::channels_last}));
  EXPECT_EQ(task.layout(), Layout::channels_last);
  EXPECT_EQ(layout_here(), Layout::contiguous);
}

TEST_F(PredictorOf, NetworksInFloat64HaveTheirInputsInItAndVolumesAreFloat32) {
  Echo task;
  const auto form = form_of({"noise"});
  const PredictionCase one{.name = "a", .inputs = {{"one", image("a", 1)}}};
  const auto voxels_in = [&](Precision precision) {
    return predicted(Predictor(task, form, {.precision = precision}), one).volumes.at("noise").voxels;
  };
  EXPECT_EQ(voxels_in(Precision::fp64).scalar_type(), at::kFloat);
  EXPECT_EQ(task.type(), at::kDouble);
  voxels_in(Precision::bf16);
  EXPECT_EQ(task.type(), at::kFloat) << "weights of mixed precision are float32";
}

/// Needs 100 bytes of each example at a time, in float32.
class Measured final : public Stage {
 public:
  WorkloadFields fields() override { return {}; }
  void check(const RunConfig&) const override {}
  Demand demand(const RunConfig&, const Index&) const override {
    return {.activation_bytes_per_sample = 400};
  }
  std::unique_ptr<Dataset> dataset(const RunConfig&, const Index&, Split) const override { return nullptr; }
  std::unique_ptr<Task> task(const RunConfig&, const Index&) const override { return nullptr; }
  PredictionForm prediction(const RunConfig&) const override { return {}; }
};

TEST(RoomForOnePass, IsHalfAsMuchInFloat64) {
  const Measured stage;
  const RunConfig config;
  const auto has_room = [&](Precision precision, uint64_t memory_bytes) {
    return room_for_one_pass(stage, config, precision, memory_bytes)(2);
  };
  EXPECT_TRUE(has_room(Precision::fp32, 401));
  EXPECT_FALSE(has_room(Precision::fp64, 401));
  EXPECT_TRUE(has_room(Precision::fp64, 801));
}

TEST_F(PredictorOf, ImagesAndTextsReachTheTaskUnderTheirNames) {
  const auto form = form_of({"noise"});
  const auto results =
      run(form, {.inputs = {"one=" + image("a", 1), "two=" + image("b", 2), "question=why?"}},
          folder() / "out.nii");
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].numbers.front().second, 24 * 3);
  EXPECT_EQ(results[0].words.front().second, "to why?");
  EXPECT_TRUE(fs::exists(folder() / "out.nii"));
}

TEST_F(PredictorOf, WhatStandsInAFileReachesTheTaskAsAText) {
  write_text(storage_, folder() / "scene.json", "a lung");
  const auto scene = (folder() / "scene.json").string();
  const auto form = form_of({"noise"});
  const auto results = run(form, {.inputs = {image("a", 1), "scene=" + scene}}, folder() / "out.nii");
  EXPECT_EQ(results.at(0).words.back(), (std::pair<std::string, std::string>("scene", "a lung")));
  EXPECT_THROW(run(form, {.inputs = {image("a", 1), "scene=" + scene}}, scene), Error) << "written over";
}

TEST_F(PredictorOf, AnArchiveOfTwoChannelsIsAnImageAndItsLabelAsInTraining) {
  CaseFolder pairs;
  pairs.archive("pair.npz", {2, 3, 4, 2});  // 0, 1, 2, … over both channels
  const auto file = (pairs.path() / "pair.npz").string();
  const auto both = read_volume(file).voxels;
  auto form = form_of({"noise"});
  const auto sum_of = [&] {
    return run(form, {.inputs = {file}}, folder() / "out.nii").at(0).numbers.at(0).second;
  };
  EXPECT_EQ(sum_of(), both[0].sum().item<double>());
  form.pairs_are_images = true;
  EXPECT_EQ(sum_of(), both.sum().item<double>());
}

TEST_F(PredictorOf, FurtherFilesOfAnImageAreItsChannelsOnOneGrid) {
  const auto form = form_of({"noise"});
  PredictionCase one{.name = "x", .label = "x", .inputs = {{"one", image("a", 1)}}};
  one.further["one"] = {image("b", 2), image("c", 4)};
  Echo task;
  const Predictor predictor(task, form, {});
  EXPECT_EQ(predicted(predictor, one).numbers.front().second, 24 * 7);
  one.further["one"].push_back((folder() / "d.nii").string());
  write_nifti(storage_, folder() / "d.nii", {.voxels = at::ones({1, 2, 3, 5})});
  EXPECT_THAT(error_of([&] { predicted(predictor, one); })->message(),
              HasSubstr("d.nii: its grid has 2 x 3 x 5"));
  one.fault = "has no t2w";
  EXPECT_THAT(error_of([&] { predicted(predictor, one); })->message(), HasSubstr("x has no t2w"));
}

TEST_F(PredictorOf, WhatTheTransformsResampledComesBackToTheGridOfItsFile) {
  const auto form = form_of({"noise", "one"}, Json::parse(R"([{"Spacing": {"pixdim": [1, 1, 1]}}])"));
  const auto results = run(form, {.inputs = {image("a", 1)}}, folder() / "out.nii.gz");
  ASSERT_EQ(results[0].files.size(), 2U);
  EXPECT_EQ(results[0].files[1].second, (folder() / "out-one.nii.gz").string());
  const auto back = read_volume(folder() / "out-one.nii.gz");
  EXPECT_TRUE(back.voxels.equal(at::full({1, 2, 3, 4}, 2.0)));
  EXPECT_EQ(back.affine[0][0], 2);
}

TEST_F(PredictorOf, ACaseThatIsOfNoUseCostsOnlyItself) {
  auto form = form_of({"noise"});
  form.inputs = {{.name = "one"}};
  const auto results =
      run(form, {.inputs = {image("a", 1), image("b", -1), image("c", 3)}}, folder() / "out/");
  EXPECT_THAT(results[1].failure, HasSubstr("b.nii: is darker than black"));
  EXPECT_TRUE(fs::exists(folder() / "out" / "c.nii.gz"));
  EXPECT_FALSE(fs::exists(folder() / "out" / "b.nii.gz"));
  EXPECT_THAT(prediction_table(form, found_.cases, results),
              ElementsAre("case,sum,answer", (folder() / "a.nii").string() + ",24,none",
                          (folder() / "c.nii").string() + ",72,none"));
  EXPECT_EQ(prediction_json(*files_, found_.cases, results).size(), 2U);
  try {
    throw_failed_cases(found_.cases, results);
    FAIL() << "nobody heard of the failure";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::data);
    EXPECT_THAT(error.message(), HasSubstr("1 of the 3 cases"));
  }
}

TEST_F(PredictorOf, ACaseForWhichMemoryRunsOutCostsOnlyItself) {
  auto form = form_of({"noise"});
  form.inputs = {{.name = "one"}};
  const auto results =
      run(form, {.inputs = {image("a", 1), image("b", 1e6), image("c", 3)}}, folder() / "out/");
  EXPECT_THAT(results[1].failure, HasSubstr("b.nii: memory ran out: std::bad_alloc"));
  EXPECT_EQ(results[1].exit, Exit::memory);
  EXPECT_TRUE(fs::exists(folder() / "out" / "c.nii.gz"));
}

TEST_F(PredictorOf, ADeviceThatIsLostEndsACallWithWhatWasDoneAndWhatIsMissing) {
  auto form = form_of({"noise"});
  form.inputs = {{.name = "one"}};
  const auto results = run(form, {.inputs = {image("a", 1), image("b", 1e9), image("c", 3), image("d", 4)}},
                           folder() / "out/");
  ASSERT_EQ(results.size(), 4U);
  EXPECT_EQ(results[0].failure, "");
  EXPECT_THAT(results[1].failure, ::testing::EndsWith("b.nii: CUDA error: the GPU is lost"));
  EXPECT_THAT(results[3].failure, HasSubstr("d.nii: not tried"));
  try {
    throw_failed_cases(found_.cases, results);
    FAIL() << "nobody heard of the failure";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::unexpected);
    EXPECT_THAT(error.message(), HasSubstr("nothing came of 3 of the 4 cases"));
  }
  EXPECT_THROW(run(form, {.inputs = {image("b", 1e9)}}, folder() / "alone/"), std::runtime_error)
      << "of one case alone there is nothing else to say";
}

TEST_F(PredictorOf, ResultsTravelAsJsonWithEveryDigit) {
  const PredictedCase one{.files = {{"ct", "a.nii.gz"}},
                          .numbers = {{"x", 0.1}, {"y", std::numeric_limits<double>::quiet_NaN()}},
                          .words = {{"answer", "a, b"}},
                          .missing = {{"z", "nobody knows it"}}};
  const auto back = predicted_case_from_json(Json::parse(to_json(one).dump()));
  EXPECT_EQ(back.files, one.files);
  EXPECT_EQ(back.numbers[0], one.numbers[0]);
  EXPECT_TRUE(std::isnan(back.numbers[1].second));
  EXPECT_EQ(back.words, one.words);
  EXPECT_EQ(back.missing, one.missing);
}

TEST_F(PredictorOf, WhatIsMissingIsNullWithAReasonAndNoColumn) {
  const auto form = form_of({"noise"});
  const PredictionCases found{
      .cases = {{.name = "a", .label = "a", .inputs = {{"one", "a.nii"}, {"two", "b.nii"}}}}};
  const PredictionFiles files(form, found, folder() / "out/");
  const std::vector<PredictedCase> results{{.numbers = {{"x", 1}}, .missing = {{"z", "nobody knows it"}}}};
  const auto row = prediction_json(files, found.cases, results).at(0);
  EXPECT_TRUE(row.at("values").at("z").is_null());
  EXPECT_EQ(row.at("missing").at("z"), "nobody knows it");
  EXPECT_THAT(prediction_table(form, found.cases, results), ElementsAre("case,question,x", "a,,1"));
}

TEST_F(PredictorOf, OutputsThatWouldMeetAreRefusedBeforeAnythingIsComputed) {
  auto form = form_of({"noise"});
  form.inputs = {{.name = "one"}};
  const auto a = image("a", 1);
  EXPECT_THROW(run(form, {.inputs = {a, a}}, folder() / "out/"), Error);
  EXPECT_THROW(run(form, {.inputs = {a}}, a), Error);
  EXPECT_FALSE(fs::exists(folder() / "out"));
}

}  // namespace
}  // namespace larmor::testing
