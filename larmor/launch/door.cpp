#include "larmor/launch/door.h"

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

#include "larmor/base/text.h"

namespace larmor {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// For everything that a stranger has to say.
constexpr milliseconds knocking_limit(2000);
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

struct Door::Stranger {
  Descriptor socket;
  std::string address;
  steady_clock::time_point came;
  Handshake handshake;
  bool is_gone = false;
};

Door::Door(int listening, const RunKey& key, std::string_view purpose)
    : listening_(listening), key_(key), purpose_(purpose) {
  // Who knocked may be gone again when it is accepted.
  fcntl(listening, F_SETFL, fcntl(listening, F_GETFL) | O_NONBLOCK);
}

Door::~Door() = default;

void Door::watch(std::vector<pollfd>& watched) const {
  if (steady_clock::now() >= full_until_) watched.push_back({listening_, POLLIN, 0});
  for (const auto& stranger : strangers_) watched.push_back({stranger->socket.number(), POLLIN, 0});
}

void Door::make_room() {
  std::map<std::string, size_t> from;
  for (const auto& one : strangers_) from[one->address] += one->handshake.has_greeted() ? 0 : 1;
  const auto most = std::max_element(from.begin(), from.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == from.end() || most->second == 0) return;
  strangers_.erase(std::find_if(strangers_.begin(), strangers_.end(), [&](const auto& one) {
    return one->address == most->first && !one->handshake.has_greeted();
  }));
}

void Door::let_knock() {
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
    if (strangers_.size() >= most_strangers) make_room();
    strangers_.push_back(std::make_unique<Stranger>(
        Stranger{std::move(socket), address_of(address, length), steady_clock::now(),
                 Handshake(Handshake::Side::leader, key_, purpose_)}));
    // What it has to say often comes with it: heard now, it need not fear those behind it.
    hear(*strangers_.back());
  }
}

bool Door::is_new(const std::string& nonce) {
  if (!greeted_.insert(nonce).second) return false;
  greeted_in_order_.push_back(nonce);
  if (greeted_in_order_.size() > most_remembered) {
    greeted_.erase(greeted_in_order_.front());
    greeted_in_order_.pop_front();
  }
  return true;
}

void Door::hear(Stranger& stranger) {
  auto& handshake = stranger.handshake;
  while (!handshake.is_done()) {
    const auto heard = hear_from(stranger.socket.number(), handshake);
    if (heard == Heard::nothing) return;
    const auto answer = handshake.take_outgoing();
    const bool is_repeated = !answer.empty() && !is_new(handshake.member_nonce());
    stranger.is_gone = heard == Heard::end || handshake.has_failed() || is_repeated ||
                       !send_all(stranger.socket.number(), answer);
    if (stranger.is_gone) return;
  }
}

std::vector<Guest> Door::serve() {
  if (steady_clock::now() >= full_until_) let_knock();
  std::vector<Guest> guests;
  for (auto& stranger : strangers_) {
    if (!stranger->is_gone) hear(*stranger);
    if (stranger->is_gone || !stranger->handshake.is_done()) continue;
    guests.push_back({std::move(stranger->socket), stranger->handshake.keys()});
    stranger->is_gone = true;
  }
  const auto now = steady_clock::now();
  std::erase_if(strangers_,
                [&](const auto& one) { return one->is_gone || now - one->came > knocking_limit; });
  return guests;
}

Guest pass_door(Descriptor socket, const RunKey& key, std::string_view purpose, milliseconds limit,
                std::string& reason) {
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
