// Cards fail: each kind of fault in each phase in which it can strike, of either rank. The end of a run asks
// nothing of a card, and what is saved meets over the host: no collective of NCCL is begun there.
#include <vector>

#include "tests/gpu_emulation/support/card_rehearsal.h"

namespace larmor::testing {
namespace {

std::vector<CardFault> card_fault_cells() {
  std::vector<CardFault> cells;
  for (const int rank : {0, 1}) {
    for (const char* kind : {"error", "gone"}) {
      for (const char* phase : {"starting", "training", "validating"}) cells.push_back({kind, phase, rank});
      if (rank == 0) cells.push_back({kind, "saving", rank});  // replicas are saved by one rank
    }
    for (const char* kind : {"collective", "killed", "stuck"}) {
      for (const char* phase : {"starting", "training", "validating"}) cells.push_back({kind, phase, rank});
    }
    for (const char* phase : {"starting", "training"}) cells.push_back({"memory", phase, rank});
  }
  return cells;
}

class CardFaultMatrix : public CardRehearsal {};
TEST_P(CardFaultMatrix, IsNamedAndTheRunEndsInTheSameBits) { rehearse(); }
INSTANTIATE_TEST_SUITE_P(Of, CardFaultMatrix, ::testing::ValuesIn(card_fault_cells()), name_of_card_fault);

}  // namespace
}  // namespace larmor::testing
