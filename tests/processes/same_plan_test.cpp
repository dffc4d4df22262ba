// Equal commands plan alike on one machine, whatever else it does at the moment (docs/decisions/0099).
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"

#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class SamePlan : public ::testing::Test {
 protected:
  Finished call(std::vector<std::string> words) const {
    return larmor_program(std::move(words),
                          {.folder = scratch_.path(),
                           .environment = {{"XDG_CACHE_HOME", (scratch_.path() / "caches").string()}},
                           .before = "unset LARMOR_FREE_CORES"});
  }
  Finished plan() const {
    auto planned =
        call({"plan", "latent_diffusion", "-c", "tiny", "train.precision=auto", "--device", "cpu"});
    EXPECT_EQ(planned.status, 0) << planned.err;
    return planned;
  }
  fs::path record() const {
    const fs::directory_iterator files(scratch_.path() / "caches" / "larmor" / "machines");
    return files->path();
  }
  /// As if another moment had been met when this machine was measured.
  void keep(const std::string& measure, double value) const {
    Json json = read_json(record());
    json["measures"][measure] = {{"value", value}, {"day", "2026-01-02"}};
    DiskStorage disk;
    write_text(disk, record(), to_text(json));
  }

  ScratchFolder scratch_;
};

TEST_F(SamePlan, TakesThePrecisionThatWasFoundOnceAndNotThatOfTheMoment) {
  if (call({"doctor", "--json"}).json()["hardware"]["computes_bf16"] != true)
    GTEST_SKIP() << "this CPU does not compute in bf16";
  plan();
  keep("bf16_speedup", 1.1);
  EXPECT_THAT(plan().out, HasSubstr("Precision fp32: in bf16 this CPU computes 1.1 times as fast"));
  keep("bf16_speedup", 7);
  EXPECT_THAT(plan().out, HasSubstr("Precision bf16: this CPU computes in bf16 7.0 times as fast"));
}

TEST_F(SamePlan, TakesTheThreadsThatWereFoundOnceAndSaysWhenAndHowToMeasureAgain) {
  plan();
  keep("free_share", 0.1);
  const auto busy = plan().out;
  EXPECT_THAT(busy, HasSubstr("when this machine was measured on 2026-01-02"));
  keep("free_share", 1);
  EXPECT_EQ(plan().out.find("when this machine was measured on 2026-01-02, so"), std::string::npos);
}

TEST_F(SamePlan, IsMadeAnewWhereAPersonHasTheMachineMeasuredAgain) {
  plan();
  keep("bf16_speedup", 1234);
  keep("free_share", 0.5);
  const auto before = call({"doctor", "--json"});
  ASSERT_EQ(before.status, 0) << before.err;
  EXPECT_EQ(before.json()["hardware"]["measured_on"], "2026-01-02");
  const auto measured = call({"doctor", "--measure", "--json"});
  ASSERT_EQ(measured.status, 0) << measured.err;
  EXPECT_NE(measured.json()["hardware"]["measured_on"], "2026-01-02");
  EXPECT_LT(measured.json()["hardware"]["bf16_speedup"], 100);
  EXPECT_NE(read_text(record()).find("free_share"), std::string::npos);
  EXPECT_EQ(read_text(record()).find("1234"), std::string::npos);
}

}  // namespace
}  // namespace larmor::testing
