// A rank's view of INT, TERM and USR1: the first asks for a stop at the next step, a second ends now.
#pragma once

namespace larmor {

/// Installs handlers that only set a flag; a second signal ends the process with 128 + its number.
void watch_stop_signals();
bool stop_requested();
/// The signal that asked, or 0.
int stop_signal();
/// For tests.
void request_stop();

}  // namespace larmor
