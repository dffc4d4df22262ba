// The trial before a run's first step leaves what is trained as it is, in each stage of the program.
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/every_stage.h"
#include "tests/processes/support/tried_out.h"

namespace larmor::testing {
namespace {

TEST(FirstTrialOfEachStage, ChangesNoBitOfWhatIsTrained) {
  const ScratchFolder scratch;
  for (const auto& words : words_of_every_stage(scratch.path())) {
    SCOPED_TRACE(join(words, " "));
    expect_the_trial_changes_nothing(words, scratch.path());
  }
}

}  // namespace
}  // namespace larmor::testing
