// DeepSpeed's JSON in place of a config of ours, as a person gives it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class DeepSpeedFile : public ::testing::Test {
 protected:
  explicit DeepSpeedFile() {
    put_file(scratch_.path() / "ds.json", R"({
  "train_batch_size": 8,
  "zero_optimization": {"stage": 2, "overlap_comm": true},
  "bf16": {"enabled": true},
  "wall_clock_breakdown": false
})");
  }
  Finished call(std::vector<std::string> words) const {
    return larmor_program(std::move(words), {.folder = scratch_.path()});
  }

  ScratchFolder scratch_;
};

TEST_F(DeepSpeedFile, IsTakenOverByAnyWorkloadAndEachOfItsKeysIsAnswered) {
  for (const char* const workload : {"latent_diffusion", "survival"}) {
    const auto end = call({"config", "explain", workload, "-c", "tiny", "-c", "ds.json"});
    ASSERT_EQ(end.status, 0) << end.err;
    EXPECT_THAT(end.out, AllOf(HasSubstr("train.global_batch: 8\n"), HasSubstr("from ds.json:2"),
                               HasSubstr("parallel.strategy: zero2\n"), HasSubstr("from ds.json:3"),
                               HasSubstr("train.precision: bf16\n")));
    EXPECT_THAT(end.err, AllOf(HasSubstr("ds.json:2: train_batch_size: train.global_batch=8\n"),
                               HasSubstr("ds.json:3: zero_optimization.stage 2: parallel.strategy=zero2\n"),
                               HasSubstr("ds.json:3: zero_optimization.overlap_comm has no meaning here: "),
                               HasSubstr("ds.json:5: wall_clock_breakdown has no meaning here: ")));
  }
}

TEST_F(DeepSpeedFile, IsPlannedFor) {
  const auto end =
      call({"plan", "latent_diffusion", "-c", "tiny", "-c", "ds.json", "parallel.ranks=2", "--json"});
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(end.json()["strategy"], "zero2");
  EXPECT_EQ(end.json()["global_batch"], 8);
}

TEST_F(DeepSpeedFile, IsSilentWhenQuietAndRefusedWhereItIsWrong) {
  EXPECT_THAT(call({"config", "show", "survival", "-c", "tiny", "-c", "ds.json", "--quiet"}).err,
              Not(HasSubstr("ds.json")));
  put_file(scratch_.path() / "bad.json", "{\n\"zero_optimization\": {\"stage\": 5}}");
  const auto end = call({"plan", "survival", "-c", "tiny", "-c", "bad.json"});
  EXPECT_EQ(end.status, 2);
  EXPECT_THAT(end.err, HasSubstr("bad.json:2: zero_optimization.stage has to be 0, 1, 2 or 3; got 5"));
}

}  // namespace
}  // namespace larmor::testing
