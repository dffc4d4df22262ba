// Volumes through a trained network, each back where it came from.
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/trained_run.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int usage = 2, data = 3;

template <class Value>
void put(std::string& bytes, size_t offset, Value value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
}

/// Sizes that no network divides, oblique voxels of unequal lengths, both forms, units and a description.
std::string tilted_head() {
  auto bytes = nifti_bytes({.size = {13, 10, 9}, .spacing = 1.5F, .voxels = 13 * 10 * 9});
  put<int16_t>(bytes, 252, 1);  // qform_code: scanner; the rotation is about the first axis
  put<int16_t>(bytes, 254, 4);  // sform_code: MNI
  put(bytes, 256, 0.1F);
  put(bytes, 268, -20.25F);
  put(bytes, 284, 0.125F);
  put(bytes, 292, 33.7F);
  bytes[123] = 2 + 8;  // mm and seconds
  bytes.replace(148, 13, "a tilted head");
  return bytes;
}

/// Two channels on the fourth axis.
std::string two_channels(int number = 0) {
  constexpr uint64_t voxels = 2 * 12 * 12 * 12;
  auto bytes = nifti_bytes({.voxels = voxels, .number = number});
  put<int16_t>(bytes, 40, 4);
  put<int16_t>(bytes, 48, 2);
  return bytes;
}

/// The header's bytes that say where and what the voxels are: pixdim, units, description, forms.
std::vector<std::string> kept_fields(const std::string& nifti) {
  return {nifti.substr(40, 16), nifti.substr(76, 16), nifti.substr(123, 1), nifti.substr(148, 80),
          nifti.substr(252, 76)};
}

class Predict : public TrainedRun {
 protected:
  static Finished predict(const std::string& input, const std::string& output,
                          std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"predict", "run", "--input", input, "--output", output});
    return call(more);
  }
  static Json report_of(const std::string& file) { return call({"inspect", file, "--json"}).json().at(0); }
};

TEST_F(Predict, KeepsShapeAndPlaceAndTheDescriptionWhereThatIsAskedFor) {
  put_file(folder() / "tilted.nii", tilted_head());
  const auto asked = predict("tilted.nii", "asked.nii", {"--keep-header-text"});
  ASSERT_EQ(asked.status, 0) << asked.err;
  EXPECT_EQ(kept_fields(read_text(folder() / "asked.nii")), kept_fields(tilted_head()));
  const auto end = predict("tilted.nii", "new/folder/out.nii");
  ASSERT_EQ(end.status, 0) << end.err;
  auto without_words = tilted_head();
  without_words.replace(148, 80, 80, '\0');
  EXPECT_EQ(kept_fields(read_text(folder() / "new/folder/out.nii")), kept_fields(without_words));
  const auto before = report_of("tilted.nii"), after = report_of("new/folder/out.nii");
  for (const auto* key : {"shape", "affine", "spacing_mm"}) EXPECT_EQ(after[key], before[key]) << key;
  EXPECT_THAT(end.err, HasSubstr("voxels: "));
  EXPECT_EQ(after["dtype"], "float32");
  EXPECT_NE(after["sha256"], before["sha256"]);
}

TEST_F(Predict, ScalesAsTheTrainingDidUnlessThereAreNoTransforms) {
  auto twice = nifti_bytes();
  for (size_t place = 352; place < twice.size(); place += 4) {
    float value = 0;
    std::memcpy(&value, twice.data() + place, sizeof(value));
    put(twice, place, 2 * value);
  }
  put_file(folder() / "once.nii", nifti_bytes());
  put_file(folder() / "twice.nii", twice);
  const auto voxels_of = [](const std::string& input, std::vector<std::string> words) {
    EXPECT_EQ(predict(input, "scaled.nii", std::move(words)).status, 0);
    return report_of("scaled.nii")["sha256"];
  };
  const auto scaled = voxels_of("once.nii", {}), as_they_are = voxels_of("once.nii", {"data.transforms=[]"});
  EXPECT_EQ(voxels_of("twice.nii", {}), scaled) << "percentiles take out a factor";
  EXPECT_NE(as_they_are, scaled);
  EXPECT_NE(voxels_of("twice.nii", {"data.transforms=[]"}), as_they_are);
}

TEST_F(Predict, TakesAFolderAndSeveralFiles) {
  put_file(folder() / "many" / "a.nii", nifti_bytes());
  put_file(folder() / "many" / "b.new.nii.gz", gzipped(nifti_bytes()));
  put_file(folder() / "many" / "notes.txt", "no volume");
  const auto all = call({"predict", "run", "--input", "many", "--output", "many_out", "--json"}).json();
  ASSERT_EQ(all.size(), 2U);
  for (const auto& row : all)
    EXPECT_TRUE(std::filesystem::exists(folder() / row["output"].get<std::string>())) << row;
  EXPECT_EQ(all[1]["output"], "many_out/b.new.nii.gz");
  const auto end =
      call({"predict", "run", "--input", "many/a.nii", "many/b.new.nii.gz", "--output", "two_out"});
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(read_text(folder() / "two_out" / "a.nii.gz"), read_text(folder() / "many_out" / "a.nii.gz"));
}

TEST_F(Predict, NeverWritesOverAnInputOrOverItsOwnOutput) {
  put_file(folder() / "same" / "a.nii", nifti_bytes());
  put_file(folder() / "same" / "a.nii.gz", gzipped(nifti_bytes()));
  const auto clash = predict("same", "same_out");
  EXPECT_EQ(clash.status, usage);
  EXPECT_THAT(clash.err, AllOf(HasSubstr("a.nii.gz"), HasSubstr("both")));
  const auto over = predict("same/a.nii", "same/a.nii");
  EXPECT_EQ(over.status, usage);
  EXPECT_THAT(over.err, HasSubstr("is an input"));
  EXPECT_EQ(read_text(folder() / "same" / "a.nii"), nifti_bytes());
}

TEST_F(Predict, GoesWithoutARunFromExportedWeights) {
  put_file(folder() / "in.nii", nifti_bytes());
  ASSERT_EQ(call({"export", "run", "--output", "w.safetensors"}).status, 0);
  ASSERT_EQ(predict("in.nii", "of_run.nii").status, 0);
  const auto end = call({"predict", "latent_diffusion", "--stage", "autoencoder", "-c", "tiny", "--weights",
                         "w.safetensors", "--input", "image=in.nii", "--output", "of_weights.nii"});
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(read_text(folder() / "of_run.nii"), read_text(folder() / "of_weights.nii"));
}

TEST_F(Predict, SaysWhatIsMissing) {
  put_file(folder() / "in.nii", nifti_bytes());
  put_file(folder() / "broken.safetensors", "no weights");
  const auto from = [](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"predict", "latent_diffusion", "-c", "tiny", "--input", "in.nii", "--output", "x.nii"});
    return call(more);
  };
  const auto none = from({});
  EXPECT_EQ(none.status, usage);
  EXPECT_THAT(none.err, HasSubstr("--weights FILE"));
  const auto nowhere = from({"--weights", "nowhere.safetensors"});
  EXPECT_EQ(nowhere.status, usage);
  EXPECT_THAT(nowhere.err, HasSubstr("nowhere.safetensors"));
  EXPECT_THAT(from({"--weights", "broken.safetensors"}).err, HasSubstr("broken.safetensors"));
  ASSERT_EQ(call({"export", "run", "--output", "w.safetensors"}).status, 0);
  const auto other = from({"--weights", "w.safetensors", "model.latent_channels=3"});
  EXPECT_NE(other.status, 0);
  EXPECT_THAT(other.err, HasSubstr("quant_conv"));

  EXPECT_EQ(predict("nowhere.nii", "x.nii").status, data);
  EXPECT_EQ(predict("in.nii", "x.png").status, usage);
  EXPECT_FALSE(std::filesystem::exists(folder() / "x.nii"));
}

TEST_F(Predict, HasTheChannelsOnTheFourthAxis) {
  for (int patient = 0; patient < 8; ++patient)
    put_file(folder() / "pairs" / text("p", patient) / "pair.nii", two_channels(patient));
  auto words = with(with(small_training("pairs", 1, 1), "data.kind", "nifti"), "data.folder", "pairs");
  for (const auto* word : {"model.in_channels=2", "model.out_channels=2", "optim.schedule.name=constant",
                           "optim.schedule.warmup=0", "data.transforms=[]"}) {
    words.emplace_back(word);
  }
  const auto trained = call(words);
  ASSERT_EQ(trained.status, 0) << trained.err;
  const auto end = call({"predict", "pairs", "--input", "pairs/p0/pair.nii", "--output", "pair_out.nii"});
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(report_of("pair_out.nii")["shape"], Json::array({12, 12, 12, 2}));

  const auto one = call({"predict", "run", "--input", "pairs/p0/pair.nii", "--output", "x.nii"});
  EXPECT_EQ(one.status, data);
  EXPECT_THAT(one.err, AllOf(HasSubstr("pair.nii"), HasSubstr("2 channels")));
}

TEST_F(Predict, KeepsARealHeadInItsPlace) {
  if (shared_data().empty()) GTEST_SKIP() << "the folder of real images is not on this machine";
  const auto head = shared_data() / "brain" / "cstar_stroke";
  for (const auto& item : std::filesystem::directory_iterator(head)) {
    const auto file = item.path().string();
    if (!file.ends_with(".nii.gz") || file.find("lesion") != std::string::npos) continue;
    const auto end = predict(file, "head.nii.gz");
    ASSERT_EQ(end.status, 0) << end.err;
    const auto before = report_of(file), after = report_of("head.nii.gz");
    for (const auto* key : {"shape", "affine", "spacing_mm"})
      EXPECT_EQ(after[key], before[key]) << file << " " << key;
    return;
  }
  GTEST_SKIP() << "no head lies in " << head;
}

}  // namespace
}  // namespace larmor::testing
