#include "larmor/net/handshake.h"

#include <array>
#include <cstring>
#include <utility>

#include "larmor/base/ensure.h"
#include "larmor/base/random_bytes.h"

namespace larmor {
namespace {

constexpr size_t nonce_bytes = 16, mark_bytes = 16, code_bytes = 32;
static_assert(nonce_bytes + mark_bytes + code_bytes <= most_unproven_bytes);
/// Of these messages, and of those that follow them.
constexpr std::string_view protocol_name = "larmor agents 2 ";

std::string draw_nonce() {
  std::array<std::byte, nonce_bytes> nonce{};
  fill_with_random(nonce);
  return std::string(as_text(nonce));
}

Digest to_digest(std::string_view bytes) {
  Digest digest{};
  std::memcpy(digest.data(), bytes.data(), digest.size());
  return digest;
}

}  // namespace

Handshake::Handshake(Side side, const RunKey& key, std::string_view purpose)
    : key_(key),
      purpose_(purpose),
      side_(side),
      stage_(side == Side::leader ? Stage::greeting : Stage::answer) {
  if (side == Side::leader) return;
  member_nonce_ = draw_nonce();
  outgoing_ = member_nonce_ + code("greeting", /*with_both=*/false).substr(0, mark_bytes);
}

std::string Handshake::code(std::string_view what, bool with_both) const {
  const std::string_view other = with_both ? std::string_view(leader_nonce_) : std::string_view();
  return std::string(as_text(key_.code({protocol_name, purpose_, " ", what, " ", member_nonce_, other})));
}

size_t Handshake::wanted() const {
  size_t all = 0;
  if (stage_ == Stage::greeting) all = nonce_bytes + mark_bytes;
  if (stage_ == Stage::answer) all = nonce_bytes + code_bytes;
  if (stage_ == Stage::proof) all = code_bytes;
  return all - incoming_.size();
}

void Handshake::receive(std::string_view bytes) {
  ensure(bytes.size() <= wanted());
  incoming_ += bytes;
  if (bytes.empty() || wanted() > 0) return;
  if (stage_ == Stage::greeting) {
    take_greeting();
  } else if (stage_ == Stage::answer) {
    take_answer();
  } else if (stage_ == Stage::proof) {
    take_proof();
  }
  incoming_.clear();
}

void Handshake::take_greeting() {
  member_nonce_ = incoming_.substr(0, nonce_bytes);
  const auto mark = std::string_view(incoming_).substr(nonce_bytes);
  const bool is_right =
      equal_in_constant_time(mark, code("greeting", /*with_both=*/false).substr(0, mark_bytes));
  stage_ = is_right ? Stage::proof : Stage::failed;
  if (!is_right) return;
  leader_nonce_ = draw_nonce();
  outgoing_ += leader_nonce_ + code("leader");
}

void Handshake::take_answer() {
  leader_nonce_ = incoming_.substr(0, nonce_bytes);
  const bool is_right =
      equal_in_constant_time(std::string_view(incoming_).substr(nonce_bytes), code("leader"));
  stage_ = is_right ? Stage::done : Stage::failed;
  if (is_right) outgoing_ += code("member");
}

void Handshake::take_proof() {
  stage_ = equal_in_constant_time(incoming_, code("member")) ? Stage::done : Stage::failed;
}

std::string Handshake::take_outgoing() { return std::exchange(outgoing_, {}); }

ChannelKeys Handshake::keys() const {
  ensure(is_done());
  ChannelKeys keys{.send = to_digest(code("words of the leader")),
                   .receive = to_digest(code("words of the member"))};
  if (side_ == Side::member) std::swap(keys.send, keys.receive);
  return keys;
}

}  // namespace larmor
