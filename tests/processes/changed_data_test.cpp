// Data that are not as they were when the run started, and files that are no good from the start: the run
// keeps its own splits, and one bad file ends nothing.
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int usage = 2, data = 3;

/// The usual head with other voxels.
std::string head(int number) {
  auto bytes = nifti_bytes();
  for (size_t place = 352; place + 4 <= bytes.size(); place += 40)
    bytes[place + 2] = static_cast<char>((bytes[place + 2] + 7 * number) % 100);
  return bytes;
}

class ChangedData : public ::testing::Test {
 protected:
  fs::path folder() const { return scratch_.path(); }
  fs::path run() const { return folder() / "runs" / "run"; }
  Finished call(std::vector<std::string> words) {
    return larmor_program(std::move(words), {.folder = folder()});
  }
  void put_head(const std::string& name, int number) { put_file(folder() / name, gzipped(head(number))); }
  void put_ten_heads() {
    for (int i = 0; i < 10; ++i) put_head(text("heads/p0", i, "/t1.nii.gz"), i);
  }
  Finished train(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"train",
                                   "latent_diffusion",
                                   "-c",
                                   "tiny",
                                   "run.name=run",
                                   "parallel.ranks=1",
                                   "data.kind=nifti",
                                   "data.folder=heads",
                                   "data.split.train=0.7",
                                   "data.split.val=0.3",
                                   "data.split.test=0",
                                   "train.length=4st",
                                   "optim.schedule.warmup=0",
                                   "track.tensorboard=false",
                                   "data.transforms=[{RandSpatialCrop: {roi_size: [12, 12, 12]}}]"};
    for (const auto& word : more) {
      const auto key = word.substr(0, word.find('=') + 1);
      std::erase_if(words, [&](const std::string& known) { return !key.empty() && known.starts_with(key); });
      words.push_back(word);
    }
    return call(words);
  }
  std::vector<std::string> patients_of(const std::string& split) const {
    std::vector<std::string> names;
    const auto index = read_json(run() / "index.json");
    for (const auto& one : index.at("cases")) {
      if (one["split"] == split) names.push_back(one["patient"]);
    }
    return names;
  }
  static std::set<std::string> judged(const Finished& end) {
    std::set<std::string> patients;
    const auto report = end.json();
    for (const auto& row : report["loss"]["per_case"]) {
      const auto name = row["case"].get<std::string>();
      patients.insert(name.substr(0, name.find('/')));
    }
    return patients;
  }

 private:
  ScratchFolder scratch_;
};

TEST_F(ChangedData, AreJudgedByTheRunsOwnSplits) {
  put_ten_heads();
  ASSERT_EQ(train().status, 0);
  const auto validation = patients_of("val");
  ASSERT_EQ(validation.size(), 3U);
  fs::remove_all(folder() / "heads" / validation[0]);
  put_head("heads/p77/t1.nii.gz", 77);
  const auto end = call({"evaluate", "run", "--json"});
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(judged(end), (std::set<std::string>{validation[1], validation[2]}));
  const auto report = end.json();
  EXPECT_EQ(report["n"], 2);
  EXPECT_EQ(report["changes"]["gone_patients"], Json::array({validation[0]}));
  EXPECT_EQ(report["changes"]["new_patients"], Json::array({"p77"}));
  EXPECT_THAT(end.err, AllOf(HasSubstr("the splits are the run's"), HasSubstr("p77")));

  EXPECT_THAT(call({"evaluate", "run"}).out, HasSubstr("val, 2 cases of the run's 3, step-"));

  fs::rename(folder() / "heads", folder() / "moved");
  EXPECT_EQ(judged(call({"evaluate", "run", "--json", "data.folder=moved"})),
            (std::set<std::string>{validation[1], validation[2]}));

  // Another cohort, two of whose patients the run knows: one by name, one by what is in the file.
  const auto trained = patients_of("train");
  for (const auto* name : {"x1", "x2", "x3"}) put_head(text("other/", name, "/t1.nii.gz"), name[1]);
  put_head(text("other/", trained[0], "/t1.nii.gz"), 99);
  fs::create_directories(folder() / "other" / "x4");
  fs::copy(folder() / "moved" / trained[1] / "t1.nii.gz", folder() / "other" / "x4" / "b.nii.gz");
  const auto other = call({"evaluate", "run", "--json", "data.folder=other"});
  ASSERT_EQ(other.status, 0) << other.err;
  EXPECT_EQ(other.json()["split"], "test");
  EXPECT_EQ(judged(other), (std::set<std::string>{"x1", "x2", "x3"}));
  EXPECT_EQ(other.json()["trained_on"], (Json::array({trained[0], "x4"})));
  EXPECT_EQ(call({"evaluate", "run", "--split", "train", "data.folder=other"}).status, usage);
}

TEST_F(ChangedData, AreGoneOnWithWhereFilesAreMissingAndRefusedWhereTheyWereEdited) {
  put_ten_heads();
  ASSERT_EQ(train({"--steps", "2"}).status, 0);
  const auto trained = patients_of("train");
  const auto gone = folder() / "heads" / trained[0] / "t1.nii.gz", kept = folder() / "kept";
  fs::rename(gone, kept);
  const auto end = call({"train", "run", "--steps", "3"});
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("removed: " + trained[0] + "/t1.nii.gz"));
  EXPECT_EQ(read_json(run() / "quarantine.json")[0]["path"], trained[0] + "/t1.nii.gz");
  EXPECT_EQ(call({"train", "run", "--steps", "4", "data.bad_files=0"}).status, usage) << "another config";

  fs::rename(kept, gone);
  const auto edited = folder() / "heads" / trained[1] / "t1.nii.gz";
  auto bytes = read_text(edited);
  bytes[bytes.size() - 6] ^= 1;
  put_file(edited, bytes);
  const auto refused = call({"train", "run"});
  EXPECT_EQ(refused.status, data) << refused.err;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("edited: " + trained[1]), HasSubstr("hint: ")));
}

TEST_F(ChangedData, OneBadFileEndsNothingAtTheStart) {
  put_ten_heads();
  const auto whole = gzipped(head(3));
  put_file(folder() / "heads" / "p10" / "short.nii.gz", whole.substr(0, whole.size() / 2));
  fs::create_symlink("nowhere", folder() / "heads" / "p10" / "link.nii.gz");
  ASSERT_EQ(::mkfifo((folder() / "heads" / "p10" / "pipe.nii.gz").c_str(), 0600), 0);
  const auto end = train({"data.split.val=[p00]"});
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("3 cases cannot be used and will be passed over"));
  std::set<std::string> kept;
  for (const auto& file : read_json(run() / "quarantine.json")) {
    kept.insert(file["path"].get<std::string>());
    EXPECT_NE(file["reason"], "");
  }
  EXPECT_EQ(kept, (std::set<std::string>{"p10/link.nii.gz", "p10/pipe.nii.gz", "p10/short.nii.gz"}));
  EXPECT_TRUE(events_of(run(), "warning").empty()) << "they were told of before the ranks started";

  const auto strict = train({"data.split.val=[p00]", "data.bad_files=2", "run.name=strict"});
  EXPECT_EQ(strict.status, data);
  EXPECT_THAT(strict.err, AllOf(HasSubstr("3 files cannot be used"), HasSubstr("data.bad_files allows 2"),
                                HasSubstr("pipe.nii.gz")));
}

/// Of a size that the network cannot take, or that it cannot be judged by.
std::string cube(int64_t edge) {
  return gzipped(
      nifti_bytes({.size = {edge, edge, edge}, .voxels = static_cast<uint64_t>(edge * edge * edge)}));
}

TEST_F(ChangedData, OneOddSizeEndsNothingInTrainingNorInValidation) {
  put_ten_heads();
  put_file(folder() / "heads" / "odd" / "t1.nii.gz", cube(13));
  put_file(folder() / "heads" / "small" / "t1.nii.gz", cube(8));
  for (const std::string strategy : {"ddp", "zero3"}) {
    const auto end = train({"parallel.ranks=2", "data.split.val=[p00, small]", "data.split.train=1",
                            "data.transforms=[]", "train.validate_every=2st", "plan.probe=true",
                            "train.global_batch=4", "run.name=" + strategy, "parallel.strategy=" + strategy});
    ASSERT_EQ(end.status, 0) << end.err;
    std::set<std::string> kept;
    for (const auto& file : read_json(folder() / "runs" / strategy / "quarantine.json"))
      kept.insert(file["path"].get<std::string>());
    EXPECT_EQ(kept, (std::set<std::string>{"odd/t1.nii.gz", "small/t1.nii.gz"}));
  }
}

}  // namespace
}  // namespace larmor::testing
