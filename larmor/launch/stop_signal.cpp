#include "larmor/launch/stop_signal.h"

#include <atomic>

#include <unistd.h>

#include "larmor/launch/signal_count.h"

namespace larmor {
namespace {

constexpr int from_inside = -1;

// Signals are a property of the process, and a handler can reach nothing but a global.
std::atomic<int> first_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a handler must not wait for a lock");

struct Sender {
  SignalCount signals;
  std::atomic<bool> was_heard = false;
};
Sender parent, others;

// SLURM sends a signal to every process of a step: to us, and to the agent, which passes it on. That is one
// signal, so the second is the second of the same sender.
void note_signal(int signal, siginfo_t* sent, void*) {
  Sender& sender = sent->si_code == SI_USER && sent->si_pid == getppid() ? parent : others;
  if (!sender.signals.counts(signal)) return;
  if (sender.was_heard.exchange(true)) _exit(128 + signal);
  int none = 0;
  // A stop asked for from inside leaves the person their first signal.
  if (!first_signal.compare_exchange_strong(none, signal) && none == from_inside)
    first_signal.compare_exchange_strong(none, signal);
}

std::atomic<bool> lost_peer = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a handler must not wait for a lock");

void note_lost_peer(int) { lost_peer = true; }

}  // namespace

bool set_stop_action(int signal, const struct sigaction& action, struct sigaction* before) {
  struct sigaction now{};
  sigaction(signal, nullptr, &now);
  if (signal == SIGHUP && now.sa_handler == SIG_IGN) return false;
  return sigaction(signal, &action, before) == 0;
}

void watch_stop_signals() {
  struct sigaction action{};
  action.sa_sigaction = note_signal;
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  for (const int signal : stop_signals) set_stop_action(signal, action, nullptr);
  watch_lost_peers();
}

void watch_lost_peers() {
  struct sigaction loss{};
  loss.sa_handler = note_lost_peer;
  loss.sa_flags = SA_RESTART;
  sigaction(lost_peer_signal(), &loss, nullptr);
}

int lost_peer_signal() { return SIGURG; }  // ignored by default

bool peer_is_lost() { return lost_peer.load(); }

bool stop_requested() { return first_signal.load() != 0; }

int stop_signal() {
  const int signal = first_signal.load();
  return signal == from_inside ? 0 : signal;
}

void request_stop() {
  int none = 0;
  first_signal.compare_exchange_strong(none, from_inside);
}

}  // namespace larmor
