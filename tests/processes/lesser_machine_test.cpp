// A run that goes on where there is less than at its start: memory, cores, ranks.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "larmor/base/text.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/small_training.h"
#include "tests/processes/support/trained_state.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A group of processes with so much memory. Only root can make one.
class MemoryGroup {
 public:
  explicit MemoryGroup(int64_t bytes) {
    for (const auto& [above, limit] : {std::pair{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
                                       std::pair{"/sys/fs/cgroup", "memory.max"}}) {
      const auto folder = fs::path(above) / text("larmor-test-", ::getpid());
      std::error_code problem;
      if (!fs::create_directory(folder, problem)) continue;
      folder_ = folder;
      std::ofstream(folder / limit) << bytes;
      std::ifstream file(folder / limit);
      int64_t set = 0;
      if (file >> set && set == bytes) return;
      fs::remove(folder_, problem);
      folder_.clear();
    }
  }
  ~MemoryGroup() {
    std::error_code problem;
    if (is_there()) fs::remove(folder_, problem);
  }
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;

  bool is_there() const { return !folder_.empty(); }
  /// What a shell does to be in it.
  std::string enter() const { return text("echo $$ > ", (folder_ / "cgroup.procs").string()); }

 private:
  fs::path folder_;
};

int first_core() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 0;
  int core = 0;
  while (core < CPU_SETSIZE - 1 && !CPU_ISSET(core, &cores)) ++core;
  return core;
}

class LesserMachine : public ::testing::Test {
 protected:
  Finished call(std::vector<std::string> words, const std::string& before = ":") const {
    return larmor_program(std::move(words), {.folder = scratch_.path(), .before = before});
  }
  fs::path run(const std::string& name) const { return scratch_.path() / "runs" / name; }
  void put(const std::string& name, const std::string& content) const {
    put_file(scratch_.path() / name, content);
  }
  /// Of a training whose micro-batch of two takes 300 MiB.
  std::vector<std::string> large_training(const std::string& name) const {
    put("large.yaml",
        "data: {phantom_size: [64, 64, 64], transforms: [{RandSpatialCrop: {roi_size: [64, 64, 64]}}]}\n"
        "train: {activation_checkpointing: none, global_batch: 4, length: 4st, validate_every: 0}\n"
        "checkpoint: {every: 1st}\n"
        "optim: {schedule: {name: constant, warmup: 0}}\n");
    return {"train", "latent_diffusion", "-c", "tiny", "-c", "large.yaml", "--ranks",
            "1",     "run.name=" + name};
  }

 private:
  ScratchFolder scratch_;
};

TEST_F(LesserMachine, WithATenthOfTheMemoryTrainsInSmallerMicroBatches) {
  constexpr int64_t mebibyte = 1 << 20, memory = 500 * mebibyte;
  const MemoryGroup group(memory);
  if (!group.is_there()) GTEST_SKIP() << "limiting a group's memory takes root";
  auto words = large_training("run");
  words.insert(words.end(), {"--steps", "2"});
  const auto begun = call(words);
  ASSERT_EQ(begun.status, 0) << begun.err;
  if (read_json(run("run") / "plan.json")["memory"]["available"] < 10 * memory)
    GTEST_SKIP() << "this machine has little itself";
  const auto end = call({"train", "run"}, group.enter());
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("micro-batch × accumulation is 1 × 4, it was 2 × 2"));
  EXPECT_EQ(newest_step(run("run")), 4);
  EXPECT_EQ(events_of(run("run"), "change").size(), 1U);
  EXPECT_LT(read_json(run("run") / "plan.json")["memory"]["available"], memory);
  const auto longer = call({"train", "run", "train.length=5st"}, group.enter());
  EXPECT_EQ(longer.status, 0) << longer.err;
  EXPECT_THAT(longer.err, Not(HasSubstr("planned anew"))) << "it goes on as it has become";
}

TEST_F(LesserMachine, WithHalfTheCoresHasTheSameBits) {
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "half a core is none";
  const auto words = [](const char* name) {
    auto all = with(small_training(name, 2, 12), "parallel.threads", "1");
    return all;
  };
  ASSERT_EQ(call(words("whole")).status, 0);
  auto first = words("halved");
  first.insert(first.end(), {"--steps", "4"});
  ASSERT_EQ(call(first).status, 0);
  const auto end = call({"train", "halved"}, text("taskset -pc ", first_core(), " $$ > cores.txt"));
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(read_json(run("halved") / "hardware.json")["cores"].size(), 1U);
  EXPECT_EQ(trained_state(run("halved")), trained_state(run("whole")));
}

TEST_F(LesserMachine, WithFewerRanksTrainsToItsEnd) {
  auto first = small_training("run", 2, 12);
  first.insert(first.end(), {"--steps", "4"});
  ASSERT_EQ(call(first).status, 0);
  const auto end = call({"train", "run", "--ranks", "1"});
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err,
              AllOf(HasSubstr("planned anew for 1 ranks by single"), HasSubstr("was started with 2")));
  EXPECT_EQ(newest_step(run("run")), 12);
  const auto three = call({"train", "run", "train.length=13st", "--ranks", "3"});
  EXPECT_EQ(three.status, 2) << three.err;
  EXPECT_THAT(three.err, HasSubstr("cannot be shared evenly by 3 ranks"))
      << "no number of ranks that does not divide it";
}

}  // namespace
}  // namespace larmor::testing
