// Images that lie about themselves, and lists that put one patient in two places: found before a rank starts.
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int data = 3;

template <class Number>
std::string with(std::string bytes, size_t place, Number number) {
  std::memcpy(bytes.data() + place, &number, sizeof(number));
  return bytes;
}

/// 1024 voxels along each of six axes.
std::string of_two_to_the_sixty_voxels() {
  constexpr size_t dim = 40;
  auto bytes = with<int16_t>(nifti_bytes(), dim, 6);
  for (size_t axis = 1; axis <= 6; ++axis) bytes = with<int16_t>(bytes, dim + 2 * axis, 1024);
  return bytes;
}

/// About a megabyte that unpacks to a gigabyte of zeros behind a good image.
std::string gzip_bomb() {
  auto bomb = gzipped(nifti_bytes());
  const auto zeros = gzipped(std::string(size_t{64} << 20, '\0'));
  for (int member = 0; member < 16; ++member) bomb += zeros;
  return bomb;
}

std::string with_wrong_checksum(std::string packed) {
  packed[packed.size() - 8] ^= 0x01;
  return packed;
}

class LyingFiles : public ::testing::Test {
 protected:
  std::filesystem::path folder() const { return scratch_.path(); }
  std::filesystem::path heads() const { return folder() / "heads"; }
  bool a_run_was_made() const { return std::filesystem::exists(folder() / "runs"); }

  Finished run(std::vector<std::string> words) {
    return larmor_program(std::move(words), {.folder = folder()});
  }
  Finished run_on_heads(std::vector<std::string> words, const std::vector<std::string>& more = {}) {
    words.insert(words.end(), {"latent_diffusion", "-c", "tiny",
                               "data.transforms=[{RandSpatialCrop: {roi_size: [12, 12, 12]}}]"});
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  Finished train(std::vector<std::string> more = {}) {
    more.insert(more.end(), {"data.kind=nifti", "data.folder=heads", "train.length=12st"});
    return run_on_heads({"train"}, more);
  }
  Finished train_on_list(const std::string& rows) {
    put_heads(heads(), 3);
    put_file(folder() / "list.csv", "image,patient,split\n" + rows);
    return run_on_heads({"train"}, {"data.kind=list", "data.list=list.csv", "train.length=12st"});
  }

  /// What is wrong, where, and what to do; and nothing else was done.
  void expect_refusal(const Finished& end, const std::vector<std::string>& words) {
    EXPECT_EQ(end.status, data) << end.err;
    EXPECT_THAT(end.err, AllOf(HasSubstr("larmor: "), HasSubstr("\n  hint: "), Not(HasSubstr("terminate")),
                               Not(HasSubstr("#0"))));
    for (const auto& word : words) EXPECT_THAT(end.err, HasSubstr(word));
    EXPECT_FALSE(a_run_was_made());
  }

  ScratchFolder scratch_;
};

TEST_F(LyingFiles, AreAllListedWithTheirReasonsBeforeARankStarts) {
  put_heads(heads(), 4);
  const std::vector<std::pair<std::string, std::string>> bad{
      {"bomb/t1.nii.gz", gzip_bomb()},
      {"endless/t1.nii", of_two_to_the_sixty_voxels()},
      {"large/t1.nii", nifti_bytes({.size = {500, 500, 500}})},
      {"nan/t1.nii", nifti_bytes({.spacing = std::numeric_limits<float>::quiet_NaN()})},
      {"nan/t2.nii.gz", gzipped(nifti_bytes({.spacing = std::numeric_limits<float>::quiet_NaN()}))},
      {"offset/t1.nii", with<float>(nifti_bytes(), 108, 1e9F)},
      {"short/t1.nii", nifti_bytes().substr(0, 3000)},
      {"short/t2.nii.gz", gzipped(nifti_bytes()).substr(0, 200)},
      {"stub/t1.nii", nifti_bytes().substr(0, 100)},
      {"words/t1.nii", "this is no image\n"}};
  std::vector<std::string> names;
  for (const auto& [name, bytes] : bad) {
    put_file(heads() / name, bytes);
    names.push_back(name + ": ");
  }
  names.push_back("10 files cannot be used");
  expect_refusal(train(), names);

  const auto prepared = run_on_heads({"prepare", "--json"}, {"data.kind=nifti", "data.folder=heads"});
  EXPECT_EQ(prepared.status, data);
  EXPECT_THAT(prepared.err, AllOf(HasSubstr("10 files"), HasSubstr("hint: ")));
  const auto report = prepared.json();
  ASSERT_EQ(report["bad"].size(), bad.size());
  for (size_t i = 0; i < bad.size(); ++i) EXPECT_EQ(report["bad"][i]["path"], bad[i].first);

  std::vector<std::string> words{"inspect", "--json", "heads/p0/t1.nii.gz"};
  for (const auto& [name, bytes] : bad) words.push_back("heads/" + name);
  const auto inspected = run(words);
  EXPECT_EQ(inspected.status, data);
  EXPECT_THAT(inspected.err, AllOf(HasSubstr("10 of 11 files"), HasSubstr("hint: ")));
  const auto files = inspected.json();
  ASSERT_EQ(files.size(), 11U);
  EXPECT_TRUE(files[0]["problems"].empty()) << files[0];
  for (size_t i = 1; i < files.size(); ++i) EXPECT_FALSE(files[i]["problems"].empty()) << files[i];
}

TEST_F(LyingFiles, AreListedHoweverManyThereAre) {
  put_heads(heads(), 3);
  for (int i = 0; i < 30; ++i) put_file(heads() / text("bad", i, ".nii"), "no image");
  std::vector<std::string> names;
  for (int i = 0; i < 30; ++i) names.push_back(text("bad", i, ".nii: "));
  expect_refusal(train(), names);
}

TEST_F(LyingFiles, OfOneImageAreNamedWithTheReasonByInspect) {
  put_file(folder() / "nan.nii", nifti_bytes({.spacing = std::numeric_limits<float>::quiet_NaN()}));
  const auto end = run({"inspect", "nan.nii"});
  expect_refusal(end, {"nan.nii", "spacing"});
}

TEST_F(LyingFiles, AFolderWithoutImagesSaysWhatWasLookedFor) {
  put_file(heads() / "notes.txt", "no image");
  expect_refusal(train(), {"heads", "*.nii.gz", "1 files have other names"});
  expect_refusal(run_on_heads({"prepare"}, {"data.kind=nifti", "data.folder=heads"}), {"heads"});
}

TEST_F(LyingFiles, ThatAListNamesAndThatAreNotThereAreAllNamed) {
  expect_refusal(
      train_on_list("heads/p0/t1.nii.gz,anna,train\nheads/gone.nii,ben,train\nheads/lost.nii,cleo,val\n"),
      {"2 files are missing", "gone.nii", "lost.nii"});
}

TEST_F(LyingFiles, APatientInTwoSplitsOfAListIsNamed) {
  expect_refusal(
      train_on_list(
          "heads/p0/t1.nii.gz,anna,train\nheads/p1/t1.nii.gz,anna,val\nheads/p2/t1.nii.gz,ben,val\n"),
      {"patient anna is in train and in val"});
}

TEST_F(LyingFiles, APatientInTwoSplitsOfTheConfigIsNamed) {
  put_heads(heads(), 4);
  expect_refusal(train({"data.split.val=[p1, p2]", "data.split.test=[p2]"}),
                 {"patient p2 is in data.split.val and in data.split.test"});
}

TEST_F(LyingFiles, ASplitThatTrainingNeedsAndThatIsEmptyIsNamed) {
  put_heads(heads(), 2);
  expect_refusal(train({"data.split.train=0", "data.split.val=1"}),
                 {"the split train has no cases", "data.split.train"});
  expect_refusal(train({"data.split.train=1", "data.split.val=0"}),
                 {"the split val has no cases", "train.validate_every=0"});
}

TEST_F(LyingFiles, ThatFailInTrainingAreToldOfOnceByAllRanksTogether) {
  put_heads(heads(), 6);
  put_file(heads() / "p6" / "t1.nii.gz", with_wrong_checksum(gzipped(nifti_bytes())));
  put_file(heads() / "p7" / "t1.nii.gz", with_wrong_checksum(gzipped(nifti_bytes({.number = 7}))));
  const std::vector<std::string> both{"data.split.val=[p0]", "--ranks", "2", "run.name=both"};
  const auto end = train(both);
  ASSERT_EQ(end.status, 0) << end.err;
  const auto folder_of_run = folder() / end.run_folder();
  std::multiset<std::string> told;
  for (const auto& warning : events_of(folder_of_run, "warning")) {
    const auto words = warning["text"].get<std::string>();
    told.insert(words.substr(0, words.find(' ')));
  }
  EXPECT_EQ(told, (std::multiset<std::string>{"p6/t1.nii.gz", "p7/t1.nii.gz"}));
  std::set<std::string> kept;
  for (const auto& file : read_json(folder_of_run / "quarantine.json"))
    kept.insert(file["path"].get<std::string>());
  EXPECT_EQ(kept, (std::set<std::string>{"p6/t1.nii.gz", "p7/t1.nii.gz"}));

  const auto strict = train({"data.split.val=[p0]", "--ranks", "2", "data.bad_files=1", "run.name=strict"});
  EXPECT_EQ(strict.status, data) << strict.err;
  EXPECT_THAT(strict.err, AllOf(HasSubstr("data.bad_files allows 1"), HasSubstr("p6/t1.nii.gz"),
                                HasSubstr("p7/t1.nii.gz")));
  EXPECT_EQ(read_json(folder() / "runs" / "strict" / "quarantine.json").size(), 2U);
  const auto failed = read_json(folder() / "runs" / "strict" / "FAILED");
  EXPECT_THAT(failed["reason"].get<std::string>(),
              AllOf(HasSubstr("data.bad_files allows 1"), HasSubstr("p6/t1.nii.gz")));
  EXPECT_FALSE(std::filesystem::exists(folder() / "runs" / "strict" / "DONE"));
}

TEST_F(LyingFiles, ThatValidationMeetsAreLeftOutOfItsMetrics) {
  put_heads(heads(), 6);
  put_file(heads() / "p6" / "t1.nii.gz", with_wrong_checksum(gzipped(nifti_bytes())));
  const auto end = train({"data.split.val=[p0, p6]", "--ranks", "2", "run.name=some"});
  ASSERT_EQ(end.status, 0) << end.err;
  const auto folder_of_run = folder() / end.run_folder();
  int told = 0;
  for (const auto& warning : events_of(folder_of_run, "warning"))
    told += warning["text"].get<std::string>().starts_with("p6/t1.nii.gz") ? 1 : 0;
  EXPECT_EQ(told, 1) << "not again at every validation";
  const auto quarantine = read_json(folder_of_run / "quarantine.json");
  ASSERT_EQ(quarantine.size(), 1U);
  EXPECT_EQ(quarantine[0]["path"], "p6/t1.nii.gz");
  EXPECT_EQ(quarantine[0]["sha256"].get<std::string>().size(), 64U);

  const auto evaluation = run({"evaluate", end.run_folder(), "--json"});
  ASSERT_EQ(evaluation.status, 0) << evaluation.err;
  const auto scores = parse_json(evaluation.out, "evaluate");
  EXPECT_EQ(scores["n"], 1);
  EXPECT_EQ(scores["bad"][0]["path"], "p6/t1.nii.gz");
  EXPECT_THAT(evaluation.err, HasSubstr("1 of 2 cases cannot be used"));

  const auto none = train({"data.split.val=[p6]", "run.name=none"});
  EXPECT_EQ(none.status, data) << none.err;
  EXPECT_THAT(none.err, HasSubstr("none of the 1 cases to validate on can be used"));
}

TEST_F(LyingFiles, OfTheWorldAreReadWhereTheyHoldVoxelsAndRefusedWhereNot) {
  const auto odd = shared_data() / "odd";
  if (shared_data().empty() || !std::filesystem::exists(odd))
    GTEST_SKIP() << "the folder of real images is not on this machine";
  const std::set<std::string> without_voxels{"analyze75_be_without_img.hdr",
                                             "nifti1_hdr_without_img.hdr",
                                             "nifti2_hdr_without_img.hdr",
                                             "avg152T1_LR_hdr_without_img.hdr.gz",
                                             "spine_report_rgb24_2d.nii.gz",
                                             "rgb24_3d.nii",
                                             "rgba32_4d.nii",
                                             "complex64_2d.nii",
                                             "complex128_2d.nii",
                                             "fuzz_crash_08123ef3.nii",
                                             "fuzz_crash_d03c6346.nii",
                                             "fuzz_crash_ed7d4634.nii"};
  std::vector<std::string> words{"inspect", "--json"};
  for (const auto& item : std::filesystem::recursive_directory_iterator(odd)) {
    const auto name = item.path().filename().string();
    if (item.is_regular_file() && name.find(".img") == std::string::npos)
      words.push_back(item.path().string());
  }
  const auto end = run(words);
  EXPECT_EQ(end.status, data);
  const auto files = end.json();
  ASSERT_EQ(files.size(), words.size() - 2);
  for (const auto& file : files) {
    const auto name = std::filesystem::path(file["path"].get<std::string>()).filename().string();
    EXPECT_EQ(file["sha256"] == "", without_voxels.contains(name)) << file;
    EXPECT_TRUE(!without_voxels.contains(name) || !file["problems"].empty()) << name;
  }
}

}  // namespace
}  // namespace larmor::testing
