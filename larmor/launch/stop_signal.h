// A process's view of INT, TERM, HUP and USR1: the first asks for a stop soon, a second ends now.
#pragma once

#include <array>

#include <signal.h>

namespace larmor {

/// A signal that was ignored when the program began, as nohup has it for HUP, is not among those heard.
inline constexpr std::array<int, 4> stop_signals{SIGINT, SIGTERM, SIGHUP, SIGUSR1};
/// What to do with a stop signal from now on, unless it is HUP and ignored. Whether it was set.
bool set_stop_action(int signal, const struct sigaction& action, struct sigaction* before);

/// Installs handlers that only set flags; a second stop signal (signal_count.h) ends the process with 128 +
/// its number. Call it where there is something to finish, and whoever asks stop_requested(): before, a
/// signal ends the process.
void watch_stop_signals();
bool stop_requested();
/// The signal that asked, or 0.
int stop_signal();
/// Asks for a stop from inside: what a signal does, without one.
void request_stop();

/// What the launcher sends to ranks that have lost a peer, besides its request to end: their collectives
/// cannot succeed any more. A process that does not watch for it ignores it.
int lost_peer_signal();
/// Installs the handler that notes it, which watch_stop_signals() does as well: a rank that starts may wait
/// for others, too.
void watch_lost_peers();
/// Whether it has arrived.
bool peer_is_lost();

}  // namespace larmor
