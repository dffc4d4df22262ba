// A run that goes on where there is less than at its start: cores, ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "larmor/base/text.h"

#include "tests/processes/support/small_training.h"
#include "tests/processes/support/trained_state.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;

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

 private:
  ScratchFolder scratch_;
};

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
