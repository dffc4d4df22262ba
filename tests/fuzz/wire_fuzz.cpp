// libFuzzer target: what an unproven peer writes into a connection of a run is no message and makes it no
// member; and whatever is changed, repeated, left out or swapped in the sealed bytes of others, their
// messages arrive as they were said, up to some point (tests/fuzz/oracles.h).
#include <algorithm>
#include <vector>

#include "larmor/base/hash.h"
#include "larmor/base/hmac.h"
#include "larmor/base/random_bytes.h"
#include "larmor/base/text.h"
#include "larmor/net/handshake.h"
#include "larmor/net/sealed_frames.h"

#include "tests/fuzz/oracles.h"

namespace {

/// Another one for every input. The fuzzer sees what bytes are compared with: under one key for all it would
/// learn the code of a message, say a whole frame as a message of its own, and have a change bring it to the
/// front.
larmor::Digest frame_key(std::string_view bytes) { return larmor::hmac_sha256({}, {bytes}); }

/// Under keys that are new each time, for the same reason.
void refuse_unproven(std::string_view bytes) {
  larmor::Digest unknown{};
  larmor::fill_with_random(unknown);
  if (!larmor::FrameReader(unknown).open(bytes).empty())
    larmor::fuzz::broken("an unproven peer's bytes are a message");
  const auto key = larmor::RunKey::draw();
  for (const auto side : {larmor::Handshake::Side::leader, larmor::Handshake::Side::member}) {
    larmor::Handshake handshake(side, key, "fuzz");
    handshake.take_outgoing();
    std::string_view rest = bytes;
    while (handshake.wanted() > 0 && !rest.empty() && !handshake.has_failed()) {
      const std::size_t some = std::min(handshake.wanted(), rest.size());
      handshake.receive(rest.substr(0, some));
      handshake.take_outgoing();
      rest.remove_prefix(some);
    }
    if (handshake.is_done()) larmor::fuzz::broken("an unproven peer's bytes are a proof");
  }
}

/// One change, which the bytes themselves choose.
std::string changed(std::string sealed, uint64_t choice) {
  if (sealed.empty()) return sealed;
  const std::size_t place = choice / 8 % sealed.size();
  const std::size_t length = 1 + choice / 65536 % (sealed.size() - place);
  switch (choice % 5) {
    case 0:
      sealed[place] = static_cast<char>(sealed[place] ^ (1 << (choice / 524288 % 8)));
      break;
    case 1:
      sealed.erase(place, length);
      break;
    case 2:
      sealed.insert(place, sealed.substr(place, length));
      break;
    case 3:
      sealed = sealed.substr(place) + sealed.substr(0, place);
      break;
    default:
      break;
  }
  return sealed;
}

larmor::fuzz::Product read(std::string_view bytes) {
  refuse_unproven(bytes);
  const std::vector<std::string> said = larmor::split(bytes, '\n');
  larmor::FrameWriter writer(frame_key(bytes));
  std::string sealed;
  for (const auto& message : said) sealed += writer.seal(message);
  const uint64_t choice = larmor::fast_hash(bytes);
  const std::string arriving = changed(sealed, choice);
  const std::size_t first_part = choice % (arriving.size() + 1);
  larmor::FrameReader reader(frame_key(bytes));
  auto heard = reader.open(std::string_view(arriving).substr(0, first_part));
  for (auto& message : reader.open(std::string_view(arriving).substr(first_part)))
    heard.push_back(std::move(message));
  const bool is_beginning =
      heard.size() <= said.size() && std::equal(heard.begin(), heard.end(), said.begin());
  if (!is_beginning) larmor::fuzz::broken("what arrives is not what was said");
  if (arriving == sealed && heard.size() != said.size())
    larmor::fuzz::broken("what was said does not arrive");
  return larmor::fuzz::Product().add(larmor::text(heard.size()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  return larmor::fuzz::hold(data, size, read, {.whole = false});
}
