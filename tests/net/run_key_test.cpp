#include "larmor/net/run_key.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

namespace larmor {
namespace {

TEST(RunKey, IsDrawnAnewEachTime) { EXPECT_NE(RunKey::draw(), RunKey::draw()); }

TEST(RunKey, ReadsBackItsDigitsAndNoOthers) {
  const auto key = RunKey::draw();
  EXPECT_EQ(key.hex().size(), 64U);
  EXPECT_EQ(RunKey::from_hex(key.hex()), key);
  const std::string nines(64, '9');
  EXPECT_TRUE(RunKey::from_hex(nines));
  for (const std::string& other : {std::string(), nines.substr(1), nines + "9", std::string(64, 'g'),
                                   std::string(64, 'A'), std::string(64, '\0'), " " + nines.substr(1)}) {
    EXPECT_FALSE(RunKey::from_hex(other)) << other;
  }
}

TEST(RunKey, ReachesAProcessThatInheritsItsMemoryFile) {
  const auto key = RunKey::draw();
  const Descriptor file = key.to_descriptor();
  fcntl(file.number(), F_SETFD, 0);
  EXPECT_EQ(RunKey::from_descriptor(file.number()), key);
  EXPECT_EQ(RunKey::from_descriptor(file.number()), key) << "threads of a rank read it one after the other";
  EXPECT_EQ(fcntl(file.number(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC) << "and what they start does not";
}

TEST(RunKey, IsNotReadFromAnythingElse) {
  const Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_THROW(RunKey::from_descriptor(nothing.number()), Error);
  EXPECT_THROW(RunKey::from_descriptor(-1), Error);
}

TEST(RunKey, MakesAnotherKeyForEachPurpose) {
  const auto key = RunKey::draw();
  EXPECT_EQ(key.derived("the store of 1"), key.derived("the store of 1"));
  EXPECT_NE(key.derived("the store of 1"), key.derived("the store of 2"));
  EXPECT_NE(key.derived("the store of 1"), key);
  EXPECT_NE(key.derived("the store of 1"), RunKey::draw().derived("the store of 1"));
}

}  // namespace
}  // namespace larmor
