// A small training of two ranks in which one rank does what LARMOR_FAULT says, and what came of it.
#pragma once

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/processes/support/small_training.h"
#include "tests/processes/support/trained_state.h"

namespace larmor::testing {

struct Rehearsed {
  std::string action;  // of LARMOR_FAULT's do=
  std::string phase;   // "starting", "computing", "saving", "validating"
  int rank = 0;
};
inline std::ostream& operator<<(std::ostream& out, const Rehearsed& rehearsed) {
  return out << rehearsed.action << "_" << rehearsed.phase << "_rank" << rehearsed.rank;
}
/// For names of tests.
std::string name_of(const ::testing::TestParamInfo<Rehearsed>& info);

/// One cell of the matrix of faults.
class Rehearsal : public ::testing::TestWithParam<Rehearsed> {
 protected:
  /// A rank that dies is named within a second, the group starts again and ends in the bits of a run without
  /// faults, and nothing is left of it.
  void rehearse_death();
  /// The same of one that stands still, within 1.25 times the limit.
  void rehearse_hang();
  /// Periodic saves warn, the last one ends the run, and with room it goes on to the same bits.
  void rehearse_full_disk();

 private:
  struct Traces;
  std::filesystem::path folder() const { return scratch_.path(); }
  std::filesystem::path run() const { return scratch_.path() / "runs" / "run"; }
  ProgramOptions here() const { return {.folder = scratch_.path()}; }
  ProgramOptions with_fault() const;
  std::string log() const;

  /// The process of that rank once it is started; 0 where it never is.
  int process_of(const Running& training, int rank) const;
  /// What launcher.log has to say of it.
  std::string sentence() const;
  void expect_named_within(double seconds);
  void expect_going_on(Running& training, const Traces& traces);
  void expect_the_bits_of_a_run_without_faults() const;

  ScratchFolder scratch_;
};

}  // namespace larmor::testing
