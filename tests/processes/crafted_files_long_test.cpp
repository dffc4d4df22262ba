// The files of shared/repro that lie about themselves, and the true ones that are as large as is read,
// through the real program: none ends it by a signal or with a status that means something else, and none
// takes more memory or time than docs/data.md promises. The scripts there write the files and need no more
// than Python itself.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <csignal>
#include <iostream>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "larmor/base/text.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/program_run.h"
#include "tests/processes/support/small_training.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr uint64_t mebibyte = uint64_t{1} << 20;

struct Bounds {
  uint64_t bytes = 512 * mebibyte;
  double seconds = 5;  // of processor time: other tests share the cores
};

class CraftedFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    if (shared_data().empty() || !fs::exists(scripts()))
      GTEST_SKIP() << "shared/repro is not on this machine";
    const Finished python = larmor_program({"python3", "-c", "pass"}, {.program = "/usr/bin/env"});
    if (python.status != 0) GTEST_SKIP() << "there is no python3 to write the files";
  }
  static fs::path scripts() { return shared_data().parent_path() / "repro"; }
  fs::path folder() const { return scratch_.path(); }

  /// Runs a script of shared/repro, which writes into a folder of its name.
  fs::path craft(const std::string& script, std::vector<std::string> words = {}) {
    const fs::path made = folder() / script;
    words.insert(words.begin(), {"python3", (scripts() / (script + ".py")).string()});
    words.push_back(made.string());
    const Finished end = larmor_program(words, {.program = "/usr/bin/env"});
    EXPECT_EQ(end.status, 0) << end.err;
    return made;
  }

  /// Runs the program, which must end by itself with one of `statuses` and within its bounds.
  Finished expect_bounded(const std::string& name, const std::vector<std::string>& words,
                          const std::set<int>& statuses, const Bounds& bounds = {}) {
    Running running(words, {.folder = folder()});
    const rlimit memory{32 * 1024 * mebibyte, 32 * 1024 * mebibyte};  // so that a failure spares the machine
    ::prlimit(running.id(), RLIMIT_AS, &memory, nullptr);
    constexpr double far_too_long = 300;
    rusage used{};
    siginfo_t info{};
    const bool ended = becomes_true(
        [&] {
          ::syscall(SYS_waitid, P_PID, running.id(), &info, WEXITED | WNOWAIT | WNOHANG, &used);
          return info.si_pid != 0;
        },
        far_too_long);
    EXPECT_TRUE(ended) << name << " never ends";
    if (!ended) running.send(SIGKILL);
    const Finished end = running.wait();
    const auto seconds_of = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    const double seconds = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
    const uint64_t peak = static_cast<uint64_t>(used.ru_maxrss) * 1024;
    std::cout << name << ": status " << end.status << ", " << human_bytes(peak) << ", " << fixed(seconds, 1)
              << " s\n";
    EXPECT_TRUE(statuses.contains(end.status)) << name << " ended with " << end.status << "\n" << end.err;
    EXPECT_LE(peak, bounds.bytes) << name << " took " << human_bytes(peak);
    EXPECT_LE(seconds, bounds.seconds) << name;
    EXPECT_LT(end.err.size(), 10'000U) << name << " has a message without end";
    return end;
  }

  ScratchFolder scratch_;
};

std::vector<fs::path> files_in(const fs::path& folder) {
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.insert(entry.path());
  return {files.begin(), files.end()};
}

TEST_F(CraftedFiles, OfDicomTakeNoMoreThanTheyHold) {
  for (const fs::path& file : files_in(craft("craft_dicom")))
    expect_bounded(file.filename().string(), {"inspect", file.string()}, {0, 3});
}

TEST_F(CraftedFiles, ThatAreImagesOfHalfAGigabyteAreReadAndThoseThatAreNoneAreNot) {
  // As stored.
  const std::map<std::string, uint64_t> true_voxels{
      {"nii-512M.nii.gz", 512'000'000}, {"nii-535M.nii.gz", 535'387'328},
      {"npz-512M.npz", 512'000'000},    {"png-529M.png", 529'000'000},
      {"png-rgb.png", 507'000'000},     {"png-interlaced.png", 400'000'000}};
  size_t found = 0;
  for (const fs::path& file : files_in(craft("craft_bombs"))) {
    const std::string name = file.filename().string();
    if (name.ends_with(".csv")) continue;
    const auto voxels = true_voxels.find(name);
    if (voxels == true_voxels.end()) {
      expect_bounded(name, {"inspect", file.string()}, {0, 3});
    } else {
      ++found;
      expect_bounded(name, {"inspect", file.string()}, {0}, {voxels->second + 512 * mebibyte, 20});
    }
  }
  EXPECT_EQ(found, true_voxels.size());

  // Tables, as lists of cases.
  for (const char* name : {"csv-wide.csv", "csv-quote.csv"}) {
    expect_bounded(name,
                   {"train", "latent_diffusion", "-c", "tiny", "data.kind=list",
                    "data.list=" + (folder() / "craft_bombs" / name).string()},
                   {3});
  }
  // Eight at once are checked by threads that share a gigabyte, and one of those that find no room at a time.
  for (int i = 0; i < 8; ++i) {
    fs::create_directories(folder() / "heads" / text("p", i));
    fs::copy(folder() / "craft_bombs" / "members.nii.gz", folder() / "heads" / text("p", i) / "t1.nii.gz");
  }
  expect_bounded("eight at once",
                 {"prepare", "latent_diffusion", "-c", "tiny", "data.kind=nifti", "data.folder=heads"}, {3},
                 {1536 * mebibyte, 60});
}

TEST_F(CraftedFiles, OfWeightsAreRefused) {
  put_file(folder() / "head.nii.gz", gzipped(nifti_bytes()));
  for (const fs::path& file : files_in(craft("craft_st"))) {
    const Finished end = expect_bounded(file.filename().string(),
                                        {"predict", "latent_diffusion", "-c", "tiny", "--weights",
                                         file.string(), "--input", "head.nii.gz", "--output", "out.nii.gz"},
                                        {7}, {1024 * mebibyte, 20});
    EXPECT_THAT(end.err, HasSubstr("\n  hint: ")) << file;
  }
}

TEST_F(CraftedFiles, OfCheckpointsNeverStopTheVerification) {
  auto words = with(small_training("seed", 1, 12), "loss.adversarial_start", "2");
  const Finished trained = larmor_program(words, {.folder = folder()});
  ASSERT_EQ(trained.status, 0) << trained.err;
  const fs::path seed = folder() / "runs" / "seed" / "checkpoints" / "step-00000012";
  for (const fs::path& run : files_in(craft("craft_ck", {seed.string()}))) {
    if (!fs::is_directory(run)) continue;
    put_file(run / "config.yaml", "");
    expect_bounded(run.filename().string(), {"checkpoint", "verify", run.string()}, {0, 7});
  }
}

TEST_F(CraftedFiles, ThatAreNoFilesAreNotWaitedFor) {
  ASSERT_EQ(::mkfifo((folder() / "fifo.nii.gz").c_str(), 0600), 0);
  expect_bounded("a FIFO", {"inspect", "fifo.nii.gz"}, {3});
  expect_bounded("a device", {"inspect", "/dev/zero"}, {3});
  fs::create_symlink("nowhere", folder() / "dangling.nii");
  expect_bounded("a dangling link", {"inspect", "dangling.nii"}, {3});
  put_heads(folder() / "slices", 1);
  ASSERT_EQ(::mkfifo((folder() / "slices" / "fifo").c_str(), 0600), 0);
  expect_bounded("a FIFO among slices",
                 {"train", "latent_diffusion", "-c", "tiny", "data.kind=dicom", "data.folder=slices"}, {3});
}

}  // namespace
}  // namespace larmor::testing
