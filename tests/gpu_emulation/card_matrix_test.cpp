// Cards fail: one cell for each kind of fault. All of them: card_matrix_long_test.cpp.
#include "tests/gpu_emulation/support/card_rehearsal.h"

namespace larmor::testing {
namespace {

class CardFaultDiagonal : public CardRehearsal {};
TEST_P(CardFaultDiagonal, IsNamedAndTheRunEndsInTheSameBits) { rehearse(); }
INSTANTIATE_TEST_SUITE_P(Of, CardFaultDiagonal,
                         ::testing::Values(CardFault{"killed", "training", 0},
                                           CardFault{"error", "validating", 1},
                                           CardFault{"gone", "saving", 0}),
                         name_of_card_fault);

}  // namespace
}  // namespace larmor::testing
