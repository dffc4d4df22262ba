// `evaluate` and `predict` shared among processes: the same figures and files, whoever computed them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/trained_run.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int usage = 2, rank_lost = 8;

class CallRanks : public TrainedRun {
 protected:
  /// Five volumes of three sizes.
  static void put_heads() {
    for (const auto* name : {"a", "b", "c", "d", "e"}) {
      const auto size = static_cast<int16_t>(8 + 2 * ((name[0] - 'a') % 3));
      const auto voxels = static_cast<uint64_t>(size) * 12 * 12;
      put_file(folder() / "heads" / (std::string(name) + ".nii"),
               nifti_bytes({.size = {size, 12, 12}, .voxels = voxels}));
    }
  }
  static Json without_outputs(Json rows) {
    for (auto& row : rows) {
      row.erase("output");
      row.erase("outputs");
    }
    return rows;
  }
};

TEST_F(CallRanks, EvaluateGivesTheSameFiguresToTheLastDigit) {
  const auto alone = call({"evaluate", "run", "--json"});
  ASSERT_EQ(alone.status, 0) << alone.err;
  for (const auto* ranks : {"2", "3"}) {
    for (const auto* batch : {"1", "4"}) {
      const auto shared = call({"evaluate", "run", "--json", "--ranks", ranks, "--batch", batch});
      ASSERT_EQ(shared.status, 0) << shared.err;
      EXPECT_EQ(shared.out, alone.out) << ranks << " ranks, batches of " << batch;
    }
  }
}

TEST_F(CallRanks, EvaluateLeavesOutIntervalsWhereItIsToBeQuick) {
  const auto quick = call({"evaluate", "run", "--json", "--quick", "--ranks", "2"});
  ASSERT_EQ(quick.status, 0) << quick.err;
  const auto json = quick.json();
  EXPECT_EQ(json["averaged"], false);
  EXPECT_EQ(json["n"], 6);
  EXPECT_EQ(json["psnr"]["mean"], call({"evaluate", "run", "--json"}).json()["psnr"]["mean"]);
}

TEST_F(CallRanks, PredictWritesTheSameFilesOnce) {
  put_heads();
  const auto alone = call({"predict", "run", "--input", "heads", "--output", "of_1/", "--json"});
  ASSERT_EQ(alone.status, 0) << alone.err;
  for (const auto* ranks : {"2", "3"}) {
    const auto output = std::string("of_") + ranks;
    const auto shared =
        call({"predict", "run", "--input", "heads", "--output", output, "--ranks", ranks, "--json"});
    ASSERT_EQ(shared.status, 0) << shared.err;
    EXPECT_EQ(without_outputs(shared.json()), without_outputs(alone.json())) << "in the order of the cases";
    for (const auto* name : {"a", "b", "c", "d", "e"}) {
      const auto file = std::string(name) + ".nii.gz";
      EXPECT_EQ(read_text(folder() / output / file), read_text(folder() / "of_1" / file)) << ranks << name;
    }
  }
}

TEST_F(CallRanks, ADamagedCaseCostsOnlyItself) {
  put_heads();
  put_file(folder() / "heads" / "c.nii", nifti_bytes({.size = {8, 8, 8}, .voxels = 5}));
  const auto end = call({"predict", "run", "--input", "heads", "--output", "rest/", "--ranks", "2"});
  EXPECT_EQ(end.status, 3);
  EXPECT_THAT(end.err, AllOf(HasSubstr("1 of the 5 cases"), HasSubstr("c.nii")));
  EXPECT_TRUE(std::filesystem::exists(folder() / "rest" / "e.nii.gz"));
  std::filesystem::remove(folder() / "heads" / "c.nii");
}

// Which rank computes the last case depends on the moment: one that starts late may be given none.
TEST_F(CallRanks, ARankThatStandsStillOrIsKilledIsNamedAndCostsItsCase) {
  put_heads();
  const std::pair<const char*, const char*> faults[] = {
      {"stop",
       "rank [01] hangs: no heartbeat for [0-9.]+ s \\(limit 3.0 s\\) while computing it; its process is "
       "stopped by a signal"},
      {"kill", "rank [01] ended with it: killed by SIGKILL"}};
  for (const auto& [act, words] : faults) {
    const std::string output = std::string("after_") + act;
    const auto end =
        larmor_program({"predict", "run", "--input", "heads", "--output", output + "/", "--ranks", "2",
                        "parallel.hang_limit=3s"},
                       {.folder = folder(),
                        .environment = {{"LARMOR_FAULT", text("rank=any phase=computing step=4 do=", act)}}});
    EXPECT_EQ(end.status, rank_lost) << act;
    EXPECT_THAT(end.err, ::testing::ContainsRegex(
                             std::string("nothing came of 1 of the 5 cases:\n  heads/e[.]nii: ") + words));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder() / output), {}), 4) << act;
  }
}

TEST_F(CallRanks, AreRefusedWhereThereAreMoreThanCases) {
  put_file(folder() / "one.nii", nifti_bytes());
  const auto end = call({"predict", "run", "--input", "one.nii", "--output", "x.nii", "--ranks", "2"});
  EXPECT_EQ(end.status, usage);
  EXPECT_THAT(end.err, HasSubstr("2 ranks for 1 case"));
  const auto many = call({"evaluate", "run", "--ranks", "7"});
  EXPECT_EQ(many.status, usage);
  EXPECT_THAT(many.err, HasSubstr("7 ranks for 6 cases"));
  const auto both = call({"evaluate", "run", "--ema", "--no-ema"});
  EXPECT_EQ(both.status, usage);
  EXPECT_THAT(both.err, HasSubstr("exclude each other"));
}

}  // namespace
}  // namespace larmor::testing
