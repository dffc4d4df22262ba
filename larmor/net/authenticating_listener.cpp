#include "larmor/net/authenticating_listener.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include <fcntl.h>
#include <netdb.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Time limit of the whole handshake.
constexpr milliseconds proof_limit(2000);
/// In one call: a crowd must not keep us from those who are here already.
constexpr int most_accepted = 64;
/// After the system has given no descriptor.
constexpr milliseconds pause_when_full(50);
constexpr size_t most_remembered = 4096;

std::string address_of(const sockaddr_storage& address, socklen_t length) {
  std::array<char, NI_MAXHOST> words{};
  const auto* any = reinterpret_cast<const sockaddr*>(&address);
  return getnameinfo(any, length, words.data(), words.size(), nullptr, 0, NI_NUMERICHOST) == 0 ? words.data()
                                                                                               : "";
}

bool send_all(int socket, const std::string& words) {
  // A new connection takes these few bytes at once, or it is no use.
  return words.empty() ||
         send(socket, words.data(), words.size(), MSG_NOSIGNAL | MSG_DONTWAIT) == std::ssize(words);
}

enum class Heard { nothing, bytes, end };

/// Reads what the handshake wants and no more: the bytes behind it are the channel's.
Heard hear_from(int socket, Handshake& handshake) {
  std::array<char, most_unproven_bytes> buffer{};
  const auto wanted = std::min(handshake.wanted(), buffer.size());
  const auto got = recv(socket, buffer.data(), wanted, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return Heard::nothing;
  if (got <= 0) return Heard::end;
  handshake.receive({buffer.data(), static_cast<size_t>(got)});
  return Heard::bytes;
}

}  // namespace

struct AuthenticatingListener::UnprovenPeer {
  Descriptor socket;
  std::string address;
  steady_clock::time_point came;
  Handshake handshake;
  bool is_gone = false;
};

AuthenticatingListener::AuthenticatingListener(int listening, const RunKey& key, std::string_view purpose)
    : listening_(listening), key_(key), purpose_(purpose) {
  // A peer that has connected may be gone again when it is accepted, which would wait for the next one.
  const int flags = fcntl(listening, F_GETFL);
  if (flags < 0 || fcntl(listening, F_SETFL, flags | O_NONBLOCK) != 0)
    fail(Exit::environment, text("cannot listen to peers: ", std::strerror(errno)));
}

AuthenticatingListener::~AuthenticatingListener() = default;

void AuthenticatingListener::watch(std::vector<pollfd>& watched) const {
  if (steady_clock::now() >= full_until_) watched.push_back({listening_, POLLIN, 0});
  for (const auto& peer : unproven_) watched.push_back({peer->socket.number(), POLLIN, 0});
}

void AuthenticatingListener::make_room() {
  std::map<std::string, size_t> from;
  for (const auto& one : unproven_) from[one->address] += one->handshake.has_greeted() ? 0 : 1;
  const auto most = std::max_element(from.begin(), from.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == from.end() || most->second == 0) return;
  unproven_.erase(std::find_if(unproven_.begin(), unproven_.end(), [&](const auto& one) {
    return one->address == most->first && !one->handshake.has_greeted();
  }));
}

void AuthenticatingListener::accept_peers() {
  for (int i = 0; i < most_accepted; ++i) {
    sockaddr_storage address{};
    socklen_t length = sizeof(address);
    Descriptor socket(
        accept4(listening_, reinterpret_cast<sockaddr*>(&address), &length, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.is_open()) {
      const bool is_full = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (is_full) {
        make_room();
        full_until_ = steady_clock::now() + pause_when_full;
      }
      return;
    }
    if (unproven_.size() >= most_unproven) make_room();
    unproven_.push_back(std::make_unique<UnprovenPeer>(
        UnprovenPeer{std::move(socket), address_of(address, length), steady_clock::now(),
                     Handshake(Handshake::Side::leader, key_, purpose_)}));
    // What it has to say often comes with it: heard now, it need not fear those behind it.
    hear(*unproven_.back());
  }
}

bool AuthenticatingListener::is_new(const std::string& nonce) {
  if (!greeted_.insert(nonce).second) return false;
  greeted_in_order_.push_back(nonce);
  if (greeted_in_order_.size() > most_remembered) {
    greeted_.erase(greeted_in_order_.front());
    greeted_in_order_.pop_front();
  }
  return true;
}

void AuthenticatingListener::hear(UnprovenPeer& peer) {
  auto& handshake = peer.handshake;
  while (!handshake.is_done()) {
    const auto heard = hear_from(peer.socket.number(), handshake);
    if (heard == Heard::nothing) return;
    const auto answer = handshake.take_outgoing();
    const bool is_repeated = !answer.empty() && !is_new(handshake.member_nonce());
    peer.is_gone = heard == Heard::end || handshake.has_failed() || is_repeated ||
                   !send_all(peer.socket.number(), answer);
    if (peer.is_gone) return;
  }
}

std::vector<AuthenticatedPeer> AuthenticatingListener::serve() {
  if (steady_clock::now() >= full_until_) accept_peers();
  std::vector<AuthenticatedPeer> peers;
  for (auto& peer : unproven_) {
    if (!peer->is_gone) hear(*peer);
    if (peer->is_gone || !peer->handshake.is_done()) continue;
    peers.push_back({std::move(peer->socket), peer->handshake.keys()});
    peer->is_gone = true;
  }
  const auto now = steady_clock::now();
  std::erase_if(unproven_, [&](const auto& one) { return one->is_gone || now - one->came > proof_limit; });
  return peers;
}

AuthenticatedPeer authenticate(Descriptor socket, const RunKey& key, std::string_view purpose,
                               milliseconds limit, std::string& reason) {
  const auto deadline = steady_clock::now() + limit;
  Handshake handshake(Handshake::Side::member, key, purpose);
  bool is_sent = send_all(socket.number(), handshake.take_outgoing());
  while (is_sent && !handshake.is_done()) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    pollfd watched{socket.number(), POLLIN, 0};
    if (left.count() <= 0 || poll(&watched, 1, static_cast<int>(left.count())) == 0) {
      reason = "who listens there says nothing";
      return {};
    }
    if (hear_from(socket.number(), handshake) == Heard::end) break;
    if (handshake.has_failed()) {
      reason = "who listens there does not know the key of this run";
      return {};
    }
    is_sent = send_all(socket.number(), handshake.take_outgoing());
  }
  if (handshake.is_done() && is_sent) return {std::move(socket), handshake.keys()};
  reason = "who listens there hung up: it may have another key";
  return {};
}

}  // namespace larmor
