#include "larmor/net/handshake.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace larmor {
namespace {

using Side = Handshake::Side;

const RunKey key = *RunKey::from_hex(std::string(64, '3'));

/// Feeds the whole of `words`, as much as is wanted at a time; what is left.
std::string feed(Handshake& side, std::string words) {
  while (!words.empty() && side.wanted() > 0) {
    const auto taken = std::min(words.size(), side.wanted());
    side.receive(words.substr(0, taken));
    words.erase(0, taken);
  }
  return words;
}

struct Sides {
  Handshake leader, member;
  explicit Sides(const RunKey& members_key = key, const char* members_purpose = "gathering")
      : leader(Side::leader, key, "gathering"), member(Side::member, members_key, members_purpose) {}
  /// Until nobody has anything to say.
  void talk() {
    for (int i = 0; i < 4; ++i) {
      feed(leader, member.take_outgoing());
      feed(member, leader.take_outgoing());
    }
  }
};

TEST(Handshake, EndsWithTheSameKeysCrossedOver) {
  Sides sides;
  sides.talk();
  ASSERT_TRUE(sides.leader.is_done() && sides.member.is_done());
  const auto leader = sides.leader.keys(), member = sides.member.keys();
  EXPECT_EQ(leader.send, member.receive);
  EXPECT_EQ(leader.receive, member.send);
  EXPECT_NE(leader.send, leader.receive);
  Sides others;
  others.talk();
  EXPECT_NE(others.leader.keys().send, leader.send) << "other keys for each connection";
}

TEST(Handshake, TakesItsBytesInAnyPieces) {
  Sides sides;
  for (int i = 0; i < 3; ++i) {
    for (const char byte : sides.member.take_outgoing()) sides.leader.receive(std::string(1, byte));
    for (const char byte : sides.leader.take_outgoing()) sides.member.receive(std::string(1, byte));
  }
  EXPECT_TRUE(sides.leader.is_done() && sides.member.is_done());
}

TEST(Handshake, AsksAStrangerForNoMoreThan64BytesAndTellsHimNothing) {
  Handshake leader(Side::leader, key, "gathering");
  EXPECT_EQ(leader.wanted(), 32U);
  leader.receive(std::string(32, 'x'));
  EXPECT_TRUE(leader.has_failed());
  EXPECT_EQ(leader.take_outgoing(), "");
  EXPECT_EQ(leader.wanted(), 0U);

  Sides sides;
  sides.leader.receive(sides.member.take_outgoing());
  EXPECT_FALSE(sides.leader.is_done()) << "the first words can have been recorded";
  EXPECT_EQ(32U + sides.leader.wanted(), most_unproven_bytes);
}

TEST(Handshake, FailsOfAnotherKeyOrPurpose) {
  for (Sides sides : {Sides(RunKey::draw()), Sides(key, "store")}) {
    sides.talk();
    EXPECT_TRUE(sides.leader.has_failed());
    EXPECT_FALSE(sides.member.is_done());
  }
}

TEST(Handshake, FailsOfAnyBitThatIsChanged) {
  // Of the member's greeting, of the leader's answer, of the member's proof.
  for (const int message : {0, 1, 2}) {
    const size_t length = message == 1 ? 48 : 32;
    for (size_t bit = 0; bit < 8 * length; ++bit) {
      Sides sides;
      const auto passed = [&](int number, std::string words) {
        if (number == message) words[bit / 8] = static_cast<char>(words[bit / 8] ^ (1 << (bit % 8)));
        return words;
      };
      feed(sides.leader, passed(0, sides.member.take_outgoing()));
      feed(sides.member, passed(1, sides.leader.take_outgoing()));
      const auto proof = sides.member.take_outgoing();
      if (!proof.empty()) feed(sides.leader, passed(2, proof));
      EXPECT_FALSE(sides.leader.is_done()) << message << " " << bit;
      EXPECT_EQ(sides.member.is_done(), message == 2);
    }
  }
}

TEST(Handshake, IsNotPassedByWhoRepeatsWhatWasSaid) {
  Sides recorded;
  const auto greeting = recorded.member.take_outgoing();
  recorded.leader.receive(greeting);
  const auto answer = recorded.leader.take_outgoing();
  recorded.member.receive(answer);
  const auto proof = recorded.member.take_outgoing();

  Handshake leader(Side::leader, key, "gathering");
  leader.receive(greeting);
  EXPECT_TRUE(leader.has_greeted());
  EXPECT_NE(leader.take_outgoing(), answer);
  leader.receive(proof);
  EXPECT_TRUE(leader.has_failed());

  Handshake member(Side::member, key, "gathering");
  member.receive(answer);
  EXPECT_TRUE(member.has_failed());
}

TEST(Handshake, IsNotPassedByWhoReflectsIt) {
  // Two members that are connected with one another, and one whose own words come back.
  Handshake one(Side::member, key, "gathering"), other(Side::member, key, "gathering");
  feed(one, other.take_outgoing());
  feed(one, std::string(16, '\0'));
  EXPECT_FALSE(one.is_done());
  Handshake alone(Side::member, key, "gathering");
  const auto own = alone.take_outgoing();
  feed(alone, own + own.substr(0, 16));
  EXPECT_TRUE(alone.has_failed());
  // A leader whose words are passed on to another leader.
  Sides sides;
  sides.leader.receive(sides.member.take_outgoing());
  Handshake second(Side::leader, key, "gathering");
  feed(second, sides.leader.take_outgoing());
  EXPECT_TRUE(second.has_failed());
}

}  // namespace
}  // namespace larmor
