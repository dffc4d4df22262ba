// `train --try` of each stage of the program, those among them on which others build.
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/every_stage.h"
#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

TEST(TrialOfEachStage, GoesThroughEveryPhase) {
  const ScratchFolder scratch;
  for (auto words : words_of_every_stage(scratch.path())) {
    words.insert(words.begin(), "train");
    words.insert(words.end(), {"--try", "--json"});
    const auto end = larmor_program(words, {.folder = scratch.path()});
    ASSERT_EQ(end.status, 0) << join(words, " ") << '\n' << end.err;
    EXPECT_EQ(end.json().at("phases").size(), 8U) << join(words, " ");
  }
}

}  // namespace
}  // namespace larmor::testing
