// What `inspect`, and `predict` of the same words, say of what is no image, of folders, and of files that
// never end.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "larmor/base/text.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/trained_run.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int usage = 2, data = 3;

class Inspect : public TrainedRun {
 protected:
  static std::vector<std::string> paths(const Json& reports) {
    std::vector<std::string> all;
    for (const auto& report : reports) all.push_back(report["path"]);
    return all;
  }
  static std::string refused(const std::string& path) {
    const auto end = call({"inspect", path, "--json"});
    EXPECT_EQ(end.status, data) << path << ": " << end.err;
    EXPECT_EQ(end.json().size(), 1U) << path;
    return end.err;
  }
};

TEST_F(Inspect, OfTheReadmesLayoutListsEachImage) {
  put_heads(folder() / "heads", 3);
  const auto end = call({"inspect", "heads", "--json"});
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(paths(end.json()),
            (std::vector<std::string>{"heads/p0/t1.nii.gz", "heads/p1/t1.nii.gz", "heads/p2/t1.nii.gz"}));
  put_file(folder() / "some" / "p0" / "whole.nii", nifti_bytes());
  put_file(folder() / "some" / "p1" / "cut.nii", nifti_bytes({.voxels = 3}));
  const auto some = call({"inspect", "some"});
  EXPECT_EQ(some.status, data);
  EXPECT_THAT(some.err, HasSubstr("1 of 2 files cannot be read"));
}

TEST_F(Inspect, OfAFolderHasTheCasesThatPredictTakes) {
  put_heads(folder() / "clinic", 2);
  const auto listed = paths(call({"inspect", "clinic", "--json"}).json());
  const auto end = call({"predict", "run", "--input", "clinic", "--output", "made", "--json"});
  ASSERT_EQ(end.status, 0) << end.err;
  std::vector<std::string> taken, cases;
  for (const auto& row : end.json()) {
    taken.push_back(row["input"]);
    cases.push_back(row["case"]);
  }
  EXPECT_EQ(taken, listed);
  EXPECT_EQ(cases, (std::vector<std::string>{"p0/t1", "p1/t1"}));
  for (const auto* name : {"made/p0/t1.nii.gz", "made/p1/t1.nii.gz"})
    EXPECT_TRUE(fs::exists(folder() / name)) << name;
}

TEST_F(Inspect, SaysWhatAThingIsAndWhoReadsIt) {
  put_file(folder() / "cases.csv", "image\na.nii\n");
  put_file(folder() / "my.yaml", "train: {length: 1ep}\n");
  put_file(folder() / "zero.nii.gz", "");
  fs::create_directories(folder() / "empty");
  EXPECT_THAT(refused("cases.csv"), AllOf(HasSubstr("is a table"), HasSubstr("data.list=FILE")));
  EXPECT_THAT(refused("my.yaml"), AllOf(HasSubstr("is a configuration"), HasSubstr("-c FILE")));
  EXPECT_THAT(refused("zero.nii.gz"), HasSubstr("is empty"));
  EXPECT_THAT(refused("empty"), AllOf(HasSubstr("nothing lies there"), HasSubstr(".nii.gz")));
  EXPECT_THAT(refused("runs/run"),
              AllOf(HasSubstr("folder of a run"), HasSubstr("larmor checkpoint list runs/run")));
  EXPECT_THAT(refused("runs/run/checkpoints/last"), HasSubstr("is a checkpoint"));
  EXPECT_THAT(refused("runs/run/checkpoints/last/model.safetensors"), HasSubstr("--weights FILE"));
  EXPECT_THAT(refused("nowhere.nii"), AllOf(HasSubstr("no such file"), Not(HasSubstr("fetch"))));
}

TEST_F(Inspect, NeverWaitsForADeviceAPipeOrASocket) {
  ASSERT_EQ(::mkfifo((folder() / "pipe.nii").c_str(), 0600), 0);
  const int listening = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto place = (folder() / "sock").string();
  ASSERT_LT(place.size(), sizeof address.sun_path);
  std::strncpy(address.sun_path, place.c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  for (const auto& [path, what] : {std::pair{"/dev/zero", "is a device"},
                                   {"/dev/null", "is a device"},
                                   {"pipe.nii", "is a FIFO"},
                                   {"sock", "is a socket"}}) {
    EXPECT_THAT(refused(path), AllOf(HasSubstr(what), Not(HasSubstr("fetch")), Not(HasSubstr("remove"))));
    const auto end = call({"predict", "run", "--input", path, "--output", "x.nii"});
    EXPECT_EQ(end.status, data) << path << ": " << end.err;
    EXPECT_THAT(end.err, AllOf(HasSubstr(path), HasSubstr(what)));
  }
  ::close(listening);
  EXPECT_EQ(call({"inspect", "/proc/self/mem"}).status, data);
}

TEST_F(Inspect, UnpacksNothingInItsOwnProcessUnlessToldTo) {
  put_heads(folder() / "packed", 1);
  fs::copy(folder() / "packed/p0/t1.nii.gz", folder() / "packed.nii.gz");
  put_file(folder() / "picture.png", "\x89PNG\r\n\x1a\n and nothing else");
  put_file(folder() / "picture.jpg", "\xff\xd8\xff and nothing else");
  const auto inspected_by = [&](const std::string& decoder, const std::string& path) {
    return larmor_program({"inspect", path},
                          {.folder = folder(), .environment = {{"LARMOR_DECODER", decoder}}});
  };
  for (const char* const path : {"packed.nii.gz", "picture.png", "picture.jpg"}) {
    const auto end = inspected_by("/bin/true", path);
    EXPECT_EQ(end.status, data) << path;
    EXPECT_THAT(end.err, HasSubstr("its compressed data have no decoder")) << path;
  }
  EXPECT_EQ(inspected_by("none", "packed.nii.gz").status, 0);
  EXPECT_THAT(inspected_by("none", "picture.png").err, HasSubstr("PNG data is"));
}

TEST_F(Inspect, SaysWhichFolderMayNotBeRead) {
  if (::geteuid() == 0) GTEST_SKIP() << "nothing is closed to root";
  put_heads(folder() / "closed", 1);
  fs::permissions(folder() / "closed" / "p0", fs::perms::none);
  EXPECT_THAT(refused("closed"),
              AllOf(HasSubstr("cannot read the folder closed/p0"), HasSubstr("permissions")));
  fs::permissions(folder() / "closed" / "p0", fs::perms::owner_all);
}

TEST_F(Inspect, ConvertsTheOneImageOfAFolder) {
  put_heads(folder() / "one", 1);
  EXPECT_EQ(call({"inspect", "one", "--convert", "one.nii"}).status, 0);
  EXPECT_TRUE(fs::exists(folder() / "one.nii"));
  put_heads(folder() / "two", 2);
  EXPECT_EQ(call({"inspect", "two", "--convert", "two.nii"}).status, usage);
}

}  // namespace
}  // namespace larmor::testing
