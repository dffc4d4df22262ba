// What is left where an output cannot be written, of every verb that writes one: the old file, or the new
// one, whole. And what an output may be.
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/temporary_name.h"
#include "larmor/base/text.h"

#include "tests/processes/support/trained_run.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

constexpr int usage = 2, environment = 4;

struct Output {
  std::string file;
  Words words;
  int writes = 1;
  bool replaces = true;      // or refuses what is there
  bool only_warned = false;  // the result is shown all the same
};

const std::vector<Output> outputs{
    {"weights.safetensors", {"export", "run", "--output", "weights.safetensors"}, 3},
    {"plain.nii", {"inspect", "in.nii", "--convert", "plain.nii"}, 2},
    {"packed.nii.gz", {"inspect", "in.nii", "--convert", "packed.nii.gz"}},
    {"one.nii", {"predict", "run", "--input", "in.nii", "--output", "one.nii"}, 2},
    {"several/in.nii.gz",
     {"predict", "run", "--input", "in.nii", "--input", "in2.nii", "--output", "several"}},
    {"risks.csv", {"predict", "risks", "--input", "in.nii", "--output", "risks.csv"}},
    {"run.sh",
     {"job", "shell", "latent_diffusion", "-c", "tiny", "run.name=mine", "--nodes", "2", "--master", "m",
      "--output", "run.sh"},
     1,
     /*replaces=*/false},
    {"first.yaml",
     {"init", "latent_diffusion", "heads", "-c", "tiny", "--output", "first.yaml"},
     1,
     /*replaces=*/false},
    {"trace.json",
     {"bench", "step", "latent_diffusion", "-c", "tiny", "--blocks", "1", "--steps", "1", "--warmup", "1",
      "--quiet", "--profile", "trace.json"}},
    {"page.html", {"report", "run", "--output", "page.html"}},
    {"tables/cases.csv", {"evaluate", "risks", "--quick", "--output", "tables"}},
    {"runs/run/pictures/evaluate-val/reconstruction.png",
     {"evaluate", "run", "--quick"},
     1,
     /*replaces=*/true,
     /*only_warned=*/true},
};

class FailingOutputs : public TrainedRun {
 protected:
  static void SetUpTestSuite() {
    TrainedRun::SetUpTestSuite();
    put_file(folder() / "in.nii", nifti_bytes());
    put_file(folder() / "in2.nii", nifti_bytes());
    put_heads(folder() / "heads", 6);
    const auto risks = call({"train", "survival", "-c", "tiny", "run.name=risks", "train.length=1st",
                             "optim.schedule.name=constant", "optim.schedule.warmup=0"});
    ASSERT_EQ(risks.status, 0) << risks.err;
  }

  static Finished call_with(const Words& words, const std::string& fault) {
    return larmor_program(words, {.folder = folder(), .environment = {{"LARMOR_FAIL_POINT", fault}}});
  }
  static std::set<fs::path> files() {
    std::set<fs::path> all;
    for (const auto& item : fs::recursive_directory_iterator(folder())) all.insert(item.path());
    return all;
  }
};

/// An operation of the storage, the nth of it, and how it fails.
struct Failing {
  std::string operation;
  int nth;
  std::string error;
  int code;
  bool is_before_the_rename;
};
std::vector<Failing> failing_calls(const Output& output) {
  return {{"create", 1, "readonly", EROFS, true},
          {"write", 1, "full", ENOSPC, true},
          {"write", output.writes, "quota", EDQUOT, true},
          {"sync", 1, "io", EIO, true},
          {"close", 1, "quota", EDQUOT, true},
          {"rename", 1, "stale", ESTALE, true},
          {"sync_folder", 1, "io", EIO, false}};
}

TEST_F(FailingOutputs, LeaveTheOldFileOrTheNewOneWhicheverCallFails) {
  int cells = 0, damaged = 0, left_over = 0, wrong_status = 0;
  for (const auto& output : outputs) {
    const auto file = folder() / output.file;
    const auto sound = call(output.words);
    ASSERT_EQ(sound.status, 0) << output.file << '\n' << sound.err;
    ASSERT_TRUE(fs::exists(file)) << output.file;
    const auto before = files();
    const std::string whole = read_text(file), old = output.replaces ? "old" : "";
    for (const auto& failing : failing_calls(output)) {
      output.replaces ? put_file(file, old) : static_cast<void>(fs::remove(file));
      const auto fault = text(failing.operation, ":", failing.nth, ":", failing.error);
      SCOPED_TRACE(text(output.file, " with ", fault));
      const auto end = call_with(output.words, fault);
      ++cells;
      const auto now = fs::exists(file) ? read_text(file) : "";
      // A trace is another one each time.
      const bool is_new = output.file == "trace.json" ? Json::accept(now) : now == whole;
      const bool is_good = failing.is_before_the_rename ? now == old : is_new;
      damaged += is_good ? 0 : 1;
      EXPECT_TRUE(is_good) << now.size() << " bytes";
      const int expected = output.only_warned ? 0 : environment;
      wrong_status += end.status == expected ? 0 : 1;
      EXPECT_EQ(end.status, expected) << end.err;
      EXPECT_THAT(end.err, HasSubstr(std::strerror(failing.code)));
      EXPECT_THAT(end.err, HasSubstr(fs::path(output.file).filename().string()));
      auto after = files();
      after.insert(file);
      left_over += after == before ? 0 : 1;
      EXPECT_EQ(after, before);
    }
  }
  std::cout << outputs.size() << " outputs, " << cells << " cells: " << damaged << " damaged, " << left_over
            << " with something left, " << wrong_status << " with a wrong status\n";
}

TEST_F(FailingOutputs, OfAStartOfTrainingLeaveNoTemporaryFile) {
  for (const auto& failing : failing_calls({.file = "", .words = {}, .writes = 4})) {
    fs::remove_all(folder() / "runs" / "broken");
    const auto fault = text(failing.operation, ":", failing.nth, ":", failing.error);
    const auto end = call_with(small_training("broken", 1, 12), fault);
    EXPECT_EQ(end.status, environment) << fault << '\n' << end.err;
    for (const auto& path : files())
      EXPECT_FALSE(is_temporary_name(path.filename().string())) << path << " with " << fault;
  }
}

TEST_F(FailingOutputs, OfPreparedImagesLeaveNoTemporaryFile) {
  for (const auto& failing : failing_calls({.file = "", .words = {}, .writes = 2})) {
    fs::remove_all(folder() / "prepared");
    const auto fault = text(failing.operation, ":", failing.nth, ":", failing.error);
    const auto end = call_with(
        {"prepare", "latent_diffusion", "-c", "tiny", "data.cache=full", "data.cache_folder=prepared"},
        fault);
    EXPECT_TRUE(end.status == environment || end.status == 0) << fault << '\n' << end.err;
    for (const auto& path : files())
      EXPECT_FALSE(is_temporary_name(path.filename().string())) << path << " with " << fault;
  }
}

TEST_F(FailingOutputs, OverTheLimitOfAFilesSizeAreErrors) {
  put_file(folder() / "large.nii", nifti_bytes({.size = {32, 32, 32}, .voxels = 32 * 32 * 32}));
  for (const auto& [file, words] : std::vector<std::pair<std::string, Words>>{
           {"w.safetensors", {"export", "run", "--output", "w.safetensors"}},
           {"c.nii", {"inspect", "large.nii", "--convert", "c.nii"}},
           {"p.nii", {"predict", "run", "--input", "large.nii", "--output", "p.nii"}}}) {
    put_file(folder() / file, "old");
    const auto before = files();
    const auto end = larmor_program(words, {.folder = folder(), .before = "ulimit -f 64"});
    EXPECT_EQ(end.status, environment) << file << '\n' << end.err;
    EXPECT_THAT(end.err, AllOf(HasSubstr(file), HasSubstr("File too large"), HasSubstr("ulimit -f")));
    EXPECT_EQ(read_text(folder() / file), "old");
    EXPECT_EQ(files(), before);
  }
}

/// The words with another name for the output.
Words writing_to(const Output& output, const std::string& name) {
  auto words = output.words;
  std::ranges::replace(words, output.file, name);
  return words;
}
std::vector<Output> named_outputs() {
  std::vector<Output> named;
  for (const auto& output : outputs) {
    if (std::ranges::find(output.words, output.file) != output.words.end()) named.push_back(output);
  }
  return named;
}
/// What an output has to be called.
std::string ending_of(const Output& output) {
  const auto name = fs::path(output.file).filename().string();
  return name.substr(name.find('.'));
}

TEST_F(FailingOutputs, AreNotWaitedForWhereNobodyReads) {
  for (const auto& output : named_outputs()) {
    const auto name = "pipe" + ending_of(output);
    ASSERT_EQ(::mkfifo((folder() / name).c_str(), 0600), 0);
    const auto end = call(writing_to(output, name));
    EXPECT_EQ(end.status, environment) << output.file;
    EXPECT_THAT(end.err, AllOf(HasSubstr(name), HasSubstr("a FIFO that nobody reads")));
    fs::remove(folder() / name);
  }
}

TEST_F(FailingOutputs, FlowIntoWhatReadsThem) {
  for (const auto& output : named_outputs()) {
    ASSERT_EQ(call(writing_to(output, "file" + ending_of(output))).status, 0) << output.file;
    const auto name = "read" + ending_of(output);
    ASSERT_EQ(::mkfifo((folder() / name).c_str(), 0600), 0);
    Running reader({"-c", R"(cat <"$0" >copy)", name}, {.folder = folder(), .program = "/bin/sh"});
    // The shell opens for reading and waits; without it the output would be refused.
    auto end = call(writing_to(output, name));
    for (int i = 0; i < 100 && end.status == environment; ++i) end = call(writing_to(output, name));
    EXPECT_EQ(end.status, 0) << output.file << '\n' << end.err;
    reader.wait();
    if (output.file == "trace.json") {
      EXPECT_TRUE(Json::accept(read_text(folder() / "copy")));
    } else {
      EXPECT_EQ(read_text(folder() / "copy"), read_text(folder() / ("file" + ending_of(output))));
    }
    fs::remove(folder() / name);
    fs::remove(folder() / ("file" + ending_of(output)));
  }
}

TEST_F(FailingOutputs, GoToWhereALinkOfTheUsersLeads) {
  fs::create_directory(folder() / "there");
  for (const auto& output : named_outputs()) {
    const auto name = "link" + ending_of(output);
    fs::remove(folder() / name);
    fs::create_symlink("there/" + name, folder() / name);
    EXPECT_EQ(call(writing_to(output, name)).status, 0) << output.file;
    EXPECT_TRUE(fs::is_symlink(folder() / name));
    EXPECT_GT(fs::file_size(folder() / "there" / name), 0U);
    fs::remove(folder() / name);
    fs::create_symlink(name, folder() / name);
    const auto loop = call(writing_to(output, name));
    EXPECT_EQ(loop.status, environment) << output.file;
    EXPECT_THAT(loop.err, AllOf(HasSubstr(name), HasSubstr("symbolic links")));
    fs::remove(folder() / name);
    fs::remove(folder() / "there" / name);
  }
}

TEST_F(FailingOutputs, AreFilesAndDevicesAndNothingElse) {
  const auto export_to = [](const std::string& name) { return call({"export", "run", "--output", name}); };
  EXPECT_EQ(export_to("/dev/null").status, 0);
  EXPECT_EQ(export_to("/dev/full").status, environment);
  EXPECT_THAT(export_to("/dev/full").err, HasSubstr("No space left on device"));
  for (const auto& [name, words] : std::vector<std::pair<std::string, std::string>>{
           {".", "is a folder"}, {"runs/", "is no name of a file"}, {"/dev/stdout", "own words go"}}) {
    const auto end = export_to(name);
    EXPECT_EQ(end.status, usage) << name;
    EXPECT_THAT(end.err, AllOf(HasSubstr(words), HasSubstr("hint: ")));
  }
}

TEST_F(FailingOutputs, KeepTheModeOfTheFileThatWasThere) {
  put_file(folder() / "shared.safetensors", "old");
  fs::permissions(folder() / "shared.safetensors", static_cast<fs::perms>(0640));
  ASSERT_EQ(call({"export", "run", "--output", "shared.safetensors"}).status, 0);
  ASSERT_EQ(call({"export", "run", "--output", "own.safetensors"}).status, 0);
  EXPECT_EQ(fs::status(folder() / "shared.safetensors").permissions(), static_cast<fs::perms>(0640));
  EXPECT_EQ(fs::status(folder() / "own.safetensors").permissions(), static_cast<fs::perms>(0600));
}

// What was computed is shown, though its file is not written.
TEST_F(FailingOutputs, DoNotTakeTheResultWithThem) {
  const auto end =
      call_with({"predict", "risks", "--input", "in.nii", "--output", "lost.csv", "--json"}, "write:1:full");
  EXPECT_EQ(end.status, environment);
  EXPECT_TRUE(end.json().at(0).contains("risk"));
}

}  // namespace
}  // namespace larmor::testing
