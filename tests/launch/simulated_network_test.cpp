// A leader and a member with an adversary between them, who does with their bytes as he likes. Everything is
// played in one thread and by a seed: what fails once fails again.
#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/net/handshake.h"
#include "larmor/net/sealed_frames.h"

namespace larmor {
namespace {

using SimulatedSide = Handshake::Side;

const RunKey simulated_key = *RunKey::from_hex(std::string(64, 'e'));
constexpr int messages_each = 12;

std::string message_of(SimulatedSide side, int number) {
  // Some are long, so that a piece of one is often alone on the wire.
  return text(side == SimulatedSide::leader ? "leader " : "member ", number, " ",
              std::string(number % 3 == 0 ? 500 : 3, 'm'));
}

/// One side: it shows who it is, then sends its messages, and keeps what it believes.
class Party {
 public:
  explicit Party(SimulatedSide side) : side_(side), handshake_(side, simulated_key, "gathering") {}

  std::string outgoing() {
    std::string bytes = handshake_.take_outgoing();
    if (!handshake_.is_done() || ended_) return bytes;
    open_channel();
    if (sent_ < messages_each) bytes += writer_->seal(message_of(side_, sent_++));
    return bytes;
  }
  void incoming(std::string bytes) {
    while (!bytes.empty() && handshake_.wanted() > 0) {
      const auto taken = std::min(bytes.size(), handshake_.wanted());
      handshake_.receive(bytes.substr(0, taken));
      bytes.erase(0, taken);
    }
    if (handshake_.has_failed()) ended_ = true;
    if (ended_ || !handshake_.is_done()) return;
    open_channel();
    for (auto& message : reader_->open(bytes)) believed.push_back(std::move(message));
    if (reader_->is_broken()) ended_ = true;
  }
  /// The connection is over as far as this side is concerned: it has a reason.
  bool has_ended() const { return ended_; }
  bool trusts_the_other() const { return handshake_.is_done(); }

  std::vector<std::string> believed;

 private:
  void open_channel() {
    if (writer_) return;
    writer_.emplace(handshake_.keys().send);
    reader_.emplace(handshake_.keys().receive);
  }

  SimulatedSide side_;
  Handshake handshake_;
  std::optional<FrameWriter> writer_;
  std::optional<FrameReader> reader_;
  int sent_ = 0;
  bool ended_ = false;
};

using Wire = std::deque<std::string>;  // pieces on their way in one direction

enum class Action {
  pass,
  cut_up,
  join,
  drop,
  repeat,
  reorder,
  delay,
  flip,
  insert,
  reflect,
  replay,
  hang_up
};
constexpr int actions = 12;

/// Whoever holds the wire. He has recorded an earlier session, whose key was the same.
class Adversary {
 public:
  Adversary(unsigned seed, int hostility, const std::vector<std::string>& recorded)
      : random_(seed), hostility_(hostility), recorded_(recorded) {}

  /// Does something with the next piece; what arrives.
  std::vector<std::string> act(Wire& wire, Wire& other_way) {
    if (wire.empty()) return {};
    std::string piece = wire.front();
    wire.pop_front();
    if (draw(100) >= hostility_) return {piece};
    switch (static_cast<Action>(draw(actions))) {
      case Action::pass:
        return {piece};
      case Action::cut_up: {  // what TCP may do as well
        const auto at = draw(static_cast<int>(piece.size()) + 1);
        wire.push_front(piece.substr(at));
        return {piece.substr(0, at)};
      }
      case Action::join:
        if (wire.empty()) return {piece};
        wire.front() = piece + wire.front();
        return {};
      case Action::drop:
        return touched({});
      case Action::repeat:
        return touched({piece, piece});
      case Action::reorder:
        if (wire.empty()) return {piece};
        std::swap(piece, wire.front());
        return touched({piece});
      case Action::delay:
        wire.push_front(piece);
        return {};
      case Action::flip:
        if (!piece.empty()) piece[draw(static_cast<int>(piece.size()))] ^= static_cast<char>(1 << draw(8));
        return touched({piece});
      case Action::insert:
        return touched({std::string(draw(80) + 1, static_cast<char>(draw(256))), piece});
      case Action::reflect:
        other_way.push_back(piece);
        return touched({piece});
      case Action::replay:
        return touched({recorded_[draw(static_cast<int>(recorded_.size()))]});
      case Action::hang_up:
        is_cut_ = true;
        return {};
    }
    return {};
  }
  bool is_cut() const { return is_cut_; }
  /// He has done more than a slow network does.
  bool has_touched_it() const { return has_touched_; }

 private:
  std::vector<std::string> touched(std::vector<std::string> pieces) {
    has_touched_ = true;
    return pieces;
  }
  size_t draw(int below) {
    return std::uniform_int_distribution<size_t>(0, static_cast<size_t>(below) - 1)(random_);
  }

  std::mt19937 random_;
  size_t hostility_;
  const std::vector<std::string>& recorded_;
  bool is_cut_ = false, has_touched_ = false;
};

struct Outcome {
  Party leader{SimulatedSide::leader}, member{SimulatedSide::member};
  bool is_cut = false, was_touched = false;
};

/// `tape`: what was on the wire, piece by piece.
Outcome play(unsigned seed, int hostility, const std::vector<std::string>& recorded,
             std::vector<std::string>* tape = nullptr) {
  Outcome outcome;
  Adversary adversary(seed, hostility, recorded);
  Wire to_leader, to_member;
  const auto put = [&](Wire& wire, std::string bytes) {
    if (tape && !bytes.empty()) tape->push_back(bytes);
    if (!bytes.empty()) wire.push_back(std::move(bytes));
  };
  for (int round = 0; round < 400 && !adversary.is_cut(); ++round) {
    put(to_leader, outcome.member.outgoing());
    put(to_member, outcome.leader.outgoing());
    for (auto& piece : adversary.act(to_leader, to_member)) outcome.leader.incoming(std::move(piece));
    for (auto& piece : adversary.act(to_member, to_leader)) outcome.member.incoming(std::move(piece));
  }
  outcome.is_cut = adversary.is_cut();
  outcome.was_touched = adversary.has_touched_it();
  return outcome;
}

/// What one side believes is what the other has said, from its beginning on.
void expect_true_so_far(const Party& party, SimulatedSide other, unsigned seed) {
  ASSERT_LE(party.believed.size(), static_cast<size_t>(messages_each)) << seed;
  for (size_t i = 0; i < party.believed.size(); ++i)
    ASSERT_EQ(party.believed[i], message_of(other, static_cast<int>(i))) << seed;
}

std::vector<std::string> record() {
  std::vector<std::string> tape;
  play(1, 0, {"-"}, &tape);
  return tape;
}

TEST(SimulatedNetwork, CarriesEverythingWhereNobodyTouchesIt) {
  const auto outcome = play(1, 0, record());
  EXPECT_EQ(outcome.leader.believed.size(), static_cast<size_t>(messages_each));
  EXPECT_EQ(outcome.member.believed.size(), static_cast<size_t>(messages_each));
  EXPECT_FALSE(outcome.leader.has_ended() || outcome.member.has_ended());
}

TEST(SimulatedNetwork, IsRightOrEndsWhateverIsDoneToIt) {
  const auto recorded = record();
  std::map<std::string, int> seen;
  for (unsigned seed = 0; seed < 6000; ++seed) {
    const auto outcome = play(seed, seed % 2 == 0 ? 8 : 40, recorded);
    ASSERT_NO_FATAL_FAILURE(expect_true_so_far(outcome.leader, SimulatedSide::member, seed));
    ASSERT_NO_FATAL_FAILURE(expect_true_so_far(outcome.member, SimulatedSide::leader, seed));
    const bool all = outcome.leader.believed.size() == static_cast<size_t>(messages_each) &&
                     outcome.member.believed.size() == static_cast<size_t>(messages_each);
    const bool ended = outcome.leader.has_ended() || outcome.member.has_ended();
    // Without an end of its own a side still waits; that end is the limit of silence (remote_host.h,
    // member.h).
    if (!outcome.was_touched && !outcome.is_cut) {
      EXPECT_TRUE(all && !ended) << "a slow network alone must not hurt: " << seed;
    }
    ++seen[outcome.is_cut ? "cut" : all ? "right" : ended ? "ended" : "waits"];
  }
  for (const char* kind : {"cut", "right", "ended", "waits"}) EXPECT_GT(seen[kind], 20) << kind;
}

TEST(SimulatedNetwork, IsNotEnteredByWhoPlaysARecordedSession) {
  const auto tape = record();
  for (size_t from = 0; from < tape.size(); ++from) {
    Party leader(SimulatedSide::leader), member(SimulatedSide::member);
    for (size_t i = from; i < tape.size(); ++i) {
      leader.outgoing();
      member.outgoing();
      leader.incoming(tape[i]);
      member.incoming(tape[i]);
    }
    EXPECT_FALSE(leader.trusts_the_other() || member.trusts_the_other()) << from;
    EXPECT_TRUE(leader.believed.empty() && member.believed.empty()) << from;
  }
}

TEST(SimulatedNetwork, IsNotEnteredByWhoStandsBetweenTwoOfItsSessions) {
  // The member of one start is connected with the leader of another connection of the same start, half-way.
  for (int after = 0; after < 3; ++after) {
    Party first_leader(SimulatedSide::leader), first_member(SimulatedSide::member),
        leader(SimulatedSide::leader), member(SimulatedSide::member);
    for (int step = 0; step < 4; ++step) {
      auto& to = step < after ? first_leader : leader;
      to.incoming(first_member.outgoing());
      first_member.incoming(to.outgoing());
      first_leader.incoming(member.outgoing());
      member.incoming(first_leader.outgoing());
    }
    expect_true_so_far(leader, SimulatedSide::member, 0);
    expect_true_so_far(first_leader, SimulatedSide::member, 0);
    if (after > 0) {
      EXPECT_TRUE(leader.believed.empty());
    }
  }
}

}  // namespace
}  // namespace larmor
