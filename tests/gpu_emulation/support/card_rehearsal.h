// A card that fails in a phase of a run, and what becomes of the run: which rank is named, where, with which
// status, and whether the next start ends with the weights of a run that nothing has disturbed.
#pragma once

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/gpu_emulation/support/emulated_program.h"

namespace larmor::testing {

struct CardFault {
  std::string kind;   // of runtime/fault.h; `memory` leaves the card no room for more
  std::string phase;  // of runtime/fault_phase.h
  int rank = 0;
};
void PrintTo(const CardFault& fault, std::ostream* out);
std::string name_of_card_fault(const ::testing::TestParamInfo<CardFault>& info);

class CardRehearsal : public ::testing::TestWithParam<CardFault> {
 protected:
  void rehearse();

 private:
  std::vector<std::string> words(const std::string& name) const;
  std::filesystem::path run() const { return scratch_.path() / "runs" / "run"; }
  void expect_named(const Finished& end) const;
  void expect_peers_ended_soon() const;
  std::string weights_without_faults() const;

  ScratchFolder scratch_;
};

}  // namespace larmor::testing
