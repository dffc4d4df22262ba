// A rank's view of INT, TERM and USR1: the first asks for a stop at the next step, a second ends now.
#pragma once

namespace larmor {

/// Installs handlers that only set flags; a second stop signal ends the process with 128 + its number. Call
/// early: before, a signal simply ends the process.
void watch_stop_signals();
bool stop_requested();
/// The signal that asked, or 0.
int stop_signal();
/// Asks for a stop from inside: what a signal does, without one.
void request_stop();

/// What the launcher sends to ranks that have lost a peer, besides its request to end: their collectives
/// cannot succeed any more. A process that does not watch for it ignores it.
int lost_peer_signal();
/// Whether it has arrived.
bool peer_is_lost();

}  // namespace larmor
