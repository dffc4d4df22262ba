// Which phase of a run this process is in, as its status board says: faults may wait for one.
#pragma once

namespace emulated {

/// Whether the rank is where EMULATED_FAULT_PHASE says: "PHASE" or "PHASE:STEP", from that step on. PHASE is
/// starting, training, validating, saving or finished. Without the variable it always is.
bool is_phase_of_faults();

}  // namespace emulated
