// Memory that the system does not give, before a first step has shown what one takes. The limit is on the
// address space, which a process cannot exceed, however its threads take turns.
#include <sys/resource.h>

#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/small_training.h"
#include "tests/processes/support/trained_state.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int no_memory = 5;
constexpr int64_t mebibyte = 1 << 20;
constexpr int64_t margin = 672 * mebibyte;  // in which a small training has room
// A sanitizer's shadow is terabytes.
constexpr int64_t no_programs_own = mebibyte << 19;

/// The most address space that a process has had, in bytes; 0 once it is gone.
int64_t peak_of_process(int process) {
  std::ifstream file(text("/proc/", process, "/status"));
  const std::string name = "VmPeak:";
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name)) return std::stoll(line.substr(name.size())) * 1024;
  }
  return 0;
}

/// Of this process and all that it starts from here on.
class AddressSpaceLimit {
 public:
  explicit AddressSpaceLimit(int64_t bytes) {
    getrlimit(RLIMIT_AS, &before_);
    const rlimit limit{.rlim_cur = static_cast<rlim_t>(bytes), .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  }
  ~AddressSpaceLimit() { setrlimit(RLIMIT_AS, &before_); }
  AddressSpaceLimit(const AddressSpaceLimit&) = delete;
  AddressSpaceLimit& operator=(const AddressSpaceLimit&) = delete;

 private:
  rlimit before_{};
};

class ShortMemory : public ::testing::Test {
 protected:
  Finished call(const std::vector<std::string>& words) const {
    return larmor_program(words, {.folder = scratch_.path()});
  }

  /// The most that the agent takes on its way to the start of its ranks; nobody else is at work there.
  int64_t peak_before_ranks(const std::vector<std::string>& words) const {
    const Running training(words, {.folder = scratch_.path()});
    becomes_true([&] { return !children_of(training.id()).empty(); }, 120);
    return peak_of_process(training.id());
  }

  ScratchFolder scratch_;
};

// The agent counts without weights, and is measured. A rank makes several copies of them before its first
// step, alone, and then wants more than there is.
TEST_F(ShortMemory, BeforeTheFirstStepEndsTheRunWithASentenceAndItsStatus) {
  const std::string channels = "model.channels=[576, 576]";
  const auto plan = call({"plan", "latent_diffusion", "-c", "tiny", channels, "--json"});
  if (plan.status == no_memory) GTEST_SKIP() << "this machine is too small to plan such a network";
  ASSERT_EQ(plan.status, 0) << plan.err;
  const auto memory = plan.json().at("memory");
  auto large = small_training("measured", 1);
  large.push_back(channels);
  const int64_t limit = peak_before_ranks(large) + margin;
  if (limit > no_programs_own) GTEST_SKIP() << "a sanitizer's address space has no limit";
  const auto part = [&memory](const char* name) { return memory.at(name).get<int64_t>(); };
  ASSERT_GT(part("weights") + part("gradients") + part("optimizer"), limit);

  const AddressSpaceLimit limited(limit);
  const auto small = call(small_training("small", 1));
  ASSERT_EQ(small.status, 0) << "the limit is none for what is small: " << small.err;
  const auto end = call(with(large, "run.name", "limited"));
  EXPECT_EQ(end.status, no_memory) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("rank 0 ended with exit status 5 while starting"),
                             HasSubstr("memory ran out: "), HasSubstr("can't allocate memory"),
                             HasSubstr("hint: use a smaller train.micro_batch, smaller examples or a smaller "
                                       "model"),
                             Not(HasSubstr("fault of larmor")), Not(HasSubstr("frame #"))));
  EXPECT_EQ(newest_step(scratch_.path() / "runs" / "limited"), 0);
}

}  // namespace
}  // namespace larmor::testing
