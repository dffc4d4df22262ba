// Faults of cards, made on purpose. EMULATED_FAULTS names them between commas, each as FAULT@CARD=NUMBER,
// where CARD counts the machine's cards from 0, and NUMBER what a process asks of that card from 1:
//   memory@1=2G       the card gives no more memory than that, which NVML does not know
//   allocation@1=40   the 40th request for memory is refused
//   error@1=500       the 500th kernel touches an illegal address: later calls say so, whatever they were for
//   gone@1=500        with the 500th kernel the card is lost: later calls fail, and no new process finds it
//   collective@1=20   the 20th collective ends with an error of NCCL
//   killed@1=20       within the 20th collective the process is killed
//   stuck@1=20        the 20th collective never ends
// Counted is only what happens in the phase that EMULATED_FAULT_PHASE names (fault_phase.h).
// A fault other than of memory strikes once: the file that EMULATED_FAULT_MARK names is made by it, and holds
// it off.
#pragma once

#include <cstddef>
#include <optional>

namespace emulated {

enum class Fault { memory, allocation, error, gone, collective, killed, stuck };

/// The number that EMULATED_FAULTS gives for such a fault of this card.
std::optional<size_t> number_of(Fault fault, unsigned card);

/// Counts one more for this fault and card. Whether the fault strikes now.
bool strikes(Fault fault, unsigned card);

}  // namespace emulated
