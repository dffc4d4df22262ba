// Results that stdout does not take: how each verb that has one ends, and what is left of its work.
#include <array>
#include <sstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "larmor/base/process/descriptor.h"
#include "larmor/base/text.h"

#include "tests/processes/support/trained_run.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

constexpr int usage = 2, data = 3, environment = 4, reader_gone = 128 + 13;
constexpr const char* lost = "stdout has not taken the result: ";

/// Each verb that shows something, in the forms that come another way; the quick ones, and those that
/// compute.
const std::vector<Words> quick{
    {"list"},
    {"list", "--json"},
    {"inspect", "in.nii"},
    {"inspect", "in.nii", "--json"},
    {"doctor", "latent_diffusion", "-c", "tiny"},
    {"plan", "latent_diffusion", "-c", "tiny"},
    {"config", "show", "latent_diffusion", "-c", "tiny"},
    {"config", "explain", "latent_diffusion", "-c", "tiny", "--json"},
    {"config", "schema", "latent_diffusion"},
    {"config", "import", "--workload", "survival", "--", "torchrun", "train.py", "--lr", "1e-4"},
    {"checkpoint", "list", "run", "--json"},
    {"checkpoint", "verify", "run"},
    {"checkpoint", "prune", "run"},
    {"checkpoint", "pin", "run"},
    {"checkpoint", "unpin", "run"},
    {"report", "run", "--output", "page.html"},
    {"compare", "run", "run"},
    {"sync", "run", "--to", "trackio", "--dry-run", "track.trackio.uri=http://127.0.0.1:9"},
    {"runs"},
    {"runs", "--remove", "run", "--dry-run"},
    {"job", "slurm", "latent_diffusion", "-c", "tiny", "--nodes", "2", "--gpus-per-node", "1", "--time",
     "1:00:00"},
    {"job", "shell", "latent_diffusion", "-c", "tiny", "--nodes", "2", "--master", "node1", "--json"},
    {"job", "kubernetes", "latent_diffusion", "-c", "tiny", "--nodes", "2", "--image", "larmor", "--claim",
     "scans=/data"},
    {"completion", "bash"},
    {"--version"},
    {"--help"},
    {"help", "train"},
};
const std::vector<Words> computing{
    {"prepare", "latent_diffusion", "-c", "tiny", "data.cache_folder=prepared"},
    {"prepare", "latent_diffusion", "-c", "tiny", "data.cache_folder=prepared", "--clean"},
    {"evaluate", "run", "--json"},
    {"evaluate", "run", "--ranks", "2"},
    {"evaluate", "run", "--quick", "--output", "tables"},
    {"predict", "run", "--input", "in.nii", "--output", "out.nii"},
    {"export", "run", "--output", "out.safetensors"},
    {"train", "run"},
    {"train", "latent_diffusion", "-c", "tiny", "--dry-run"},
    {"init", "latent_diffusion", "heads", "--output", "/dev/null"},
    {"bench", "loader", "latent_diffusion", "-c", "tiny", "data.kind=nifti", "data.folder=heads", "--repeats",
     "1"},
    {"bench", "step", "latent_diffusion", "-c", "tiny", "--blocks", "1", "--steps", "1", "--warmup", "1"},
    {"bench", "collectives", "--sizes", "4KiB", "--operations", "broadcast", "--seconds", "0.01"},
};

/// Shows only what the program that it starts shows, which goes past larmor.
constexpr const char* shows_nothing = "launch";

class LostOutput : public TrainedRun {
 protected:
  static void SetUpTestSuite() {
    TrainedRun::SetUpTestSuite();
    put_file(folder() / "in.nii", nifti_bytes());
    put_heads(folder() / "heads", 10);
  }

  static Finished call_with(Words words, int out) {
    return larmor_program(std::move(words), {.folder = folder(), .standard_out = out});
  }
  static Finished call_full(Words words) {
    const Descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
    return call_with(std::move(words), full.number());
  }
  static Finished call_closed(Words words) {
    return larmor_program(std::move(words), {.folder = folder(), .before = "exec >&-"});
  }
  static Finished call_unread(Words words) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    ::close(ends[0]);
    const Descriptor out(ends[1]);
    return call_with(std::move(words), out.number());
  }
};

TEST_F(LostOutput, OnAFullDiskIsAnErrorOfEachVerb) {
  for (const auto* verbs : {&quick, &computing}) {
    for (const auto& words : *verbs) {
      const auto end = call_full(words);
      EXPECT_EQ(end.status, environment) << join(words, " ") << '\n' << end.err;
      EXPECT_THAT(end.err, HasSubstr(text(lost, "No space left on device"))) << join(words, " ");
    }
  }
}

TEST_F(LostOutput, ThatWasClosedIsAnErrorOfEachVerb) {
  for (const auto& words : quick) {
    const auto end = call_closed(words);
    EXPECT_EQ(end.status, environment) << join(words, " ") << '\n' << end.err;
    EXPECT_THAT(end.err, HasSubstr(text(lost, "Bad file descriptor"))) << join(words, " ");
  }
}

TEST_F(LostOutput, OfAReaderThatHadEnoughEndsEachVerbWithoutAWord) {
  auto all = quick;
  all.insert(all.end(), computing.begin(), computing.end());
  for (const auto& words : all) {
    const bool speaks = words.front() == "train" || words.front() == "predict" || words.front() == "bench";
    const auto end = call_unread(words);
    EXPECT_EQ(end.status, reader_gone) << join(words, " ") << '\n' << end.err;
    EXPECT_THAT(end.err, Not(HasSubstr("larmor: "))) << join(words, " ");
    EXPECT_THAT(end.err, Not(HasSubstr("stdout"))) << join(words, " ");
    if (!speaks) {
      EXPECT_THAT(end.err, Not(HasSubstr("141"))) << join(words, " ");
    }
  }
}

TEST_F(LostOutput, OnATerminalThatIsGoneIsAnError) {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_GE(master, 0);
  ASSERT_EQ(::grantpt(master), 0);
  ASSERT_EQ(::unlockpt(master), 0);
  const Descriptor screen(::open(::ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC));
  ::close(master);
  const auto end = call_with({"list"}, screen.number());
  EXPECT_EQ(end.status, environment) << end.err;
  EXPECT_THAT(end.err, HasSubstr(text(lost, "Input/output error")));
}

// The table above has them all, those of tomorrow too.
TEST_F(LostOutput, IsTriedForEveryVerb) {
  const auto verbs_of = [](const Words& words) {
    std::vector<std::string> verbs;
    std::istringstream lines(call(words).out);
    bool is_inside = false;
    for (std::string line; std::getline(lines, line);) {
      if (is_inside && line.starts_with("  ") && !line.starts_with("   "))
        verbs.push_back(line.substr(2, line.find(' ', 2) - 2));
      is_inside = is_inside || lower(line).starts_with("subcommands");
    }
    return verbs;
  };
  auto all = quick;
  all.insert(all.end(), computing.begin(), computing.end());
  const auto is_tried = [&](const Words& verb) {
    return std::ranges::any_of(all, [&](const Words& words) {
      return words.size() >= verb.size() && std::equal(verb.begin(), verb.end(), words.begin());
    });
  };
  const auto verbs = verbs_of({"--help"});
  EXPECT_GT(verbs.size(), 10U);
  for (const auto& verb : verbs) {
    if (verb == shows_nothing) continue;
    EXPECT_TRUE(is_tried({verb})) << verb;
    for (const auto& below : verbs_of({"help", verb}))
      EXPECT_TRUE(is_tried({verb, below})) << verb << ' ' << below;
  }
}

TEST_F(LostOutput, LeavesAVerbTheStatusThatItHasOtherwise) {
  put_file(folder() / "cut.nii", nifti_bytes().substr(0, 1000));
  const auto bad = call_full({"inspect", "cut.nii"});
  EXPECT_EQ(bad.status, data);
  EXPECT_THAT(bad.err, AllOf(HasSubstr("cut.nii"), HasSubstr(lost)));
  const auto none = call_full({});
  EXPECT_EQ(none.status, usage);
  EXPECT_THAT(none.err, HasSubstr(lost));
  EXPECT_EQ(call_unread({"inspect", "cut.nii"}).status, data);
}

TEST_F(LostOutput, LosesNoWork) {
  const auto trained = call_full(small_training("lost", /*ranks=*/1, /*steps=*/12));
  EXPECT_EQ(trained.status, environment);
  EXPECT_TRUE(std::filesystem::exists(folder() / "runs" / "lost" / "DONE"));
  EXPECT_FALSE(std::filesystem::exists(folder() / "runs" / "lost" / "FAILED"));
  const auto again = call({"train", "lost"});
  EXPECT_EQ(again.status, 0);
  EXPECT_EQ(again.run_folder(), std::filesystem::canonical(folder() / "runs" / "lost").string());
  EXPECT_EQ(call_full({"export", "run", "--output", "whole.safetensors"}).status, environment);
  EXPECT_EQ(read_text(folder() / "whole.safetensors"),
            read_text(run() / "checkpoints" / "best" / "model.safetensors"));
}

// All three closed: the first file that is opened would otherwise be stdin, and the next ones stdout and
// stderr.
TEST_F(LostOutput, OfClosedDescriptorsGoesIntoNoFile) {
  const auto end = larmor_program({"export", "run", "--output", "apart.safetensors"},
                                  {.folder = folder(), .before = "exec <&- >&- 2>&-"});
  EXPECT_EQ(end.status, environment);
  EXPECT_EQ(read_text(folder() / "apart.safetensors"),
            read_text(run() / "checkpoints" / "best" / "model.safetensors"));
}

// A terminal that is gone is no reason to stop a training.
TEST_F(LostOutput, OfWordsForPeopleStopsNothing) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  ::close(ends[0]);
  const Descriptor gone(ends[1]);
  const auto end = larmor_program(small_training("unseen", /*ranks=*/1, /*steps=*/12),
                                  {.folder = folder(), .standard_out = gone.number(), .before = "exec 2>&1"});
  EXPECT_EQ(end.status, reader_gone);
  EXPECT_TRUE(std::filesystem::exists(folder() / "runs" / "unseen" / "DONE"));
}

}  // namespace
}  // namespace larmor::testing
