#include "larmor/base/process/descriptor.h"

#include <array>
#include <cerrno>
#include <type_traits>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>

namespace larmor {
namespace {

static_assert(!std::is_copy_constructible_v<Descriptor> && !std::is_copy_assignable_v<Descriptor>);
static_assert(std::is_nothrow_move_constructible_v<Descriptor> &&
              std::is_nothrow_move_assignable_v<Descriptor>);

Descriptor open_nothing() { return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }
bool is_open(int number) { return ::fcntl(number, F_GETFD) >= 0; }

TEST(Descriptor, ClosesAtTheEndOfItsScopeAndLeavesErrno) {
  int number = -1;
  {
    const Descriptor one = open_nothing();
    number = one.number();
    EXPECT_TRUE(one.is_open());
    EXPECT_TRUE(is_open(number));
    errno = ENOSPC;
  }
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_FALSE(is_open(number));
}

TEST(Descriptor, OfAFailedCallIsNone) {
  Descriptor none(::open("/absent/file", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(errno, ENOENT);
  EXPECT_FALSE(none.is_open());
  EXPECT_EQ(none.close(), 0);
  EXPECT_EQ(none.release(), -1);
}

TEST(Descriptor, MovesToOneOwner) {
  Descriptor first = open_nothing();
  const int number = first.number();
  const Descriptor second = std::move(first);
  EXPECT_FALSE(first.is_open());
  EXPECT_EQ(second.number(), number);
  EXPECT_TRUE(is_open(number));
}

TEST(Descriptor, ClosesWhatItHeldWhenItTakesAnother) {
  Descriptor one = open_nothing(), other = open_nothing();
  const int before = one.number(), after = other.number();
  one = std::move(other);
  EXPECT_FALSE(is_open(before));
  EXPECT_FALSE(other.is_open());
  EXPECT_EQ(one.number(), after);
  EXPECT_TRUE(is_open(after));
}

TEST(Descriptor, KeepsWhatItHoldsWhenItIsMovedToItself) {
  Descriptor one = open_nothing();
  Descriptor& same = one;
  const int number = one.number();
  one = std::move(same);
  EXPECT_EQ(one.number(), number);
  EXPECT_TRUE(is_open(number));
}

TEST(Descriptor, GivesItsNumberAwayOpen) {
  int number = -1;
  {
    Descriptor one = open_nothing();
    number = one.release();
    EXPECT_FALSE(one.is_open());
  }
  EXPECT_TRUE(is_open(number));
  const Descriptor last(number);
}

TEST(Descriptor, ResetsToAnotherOrToNone) {
  Descriptor one = open_nothing();
  const int before = one.number(), after = open_nothing().release();
  one.reset(after);
  EXPECT_FALSE(is_open(before));
  EXPECT_EQ(one.number(), after);
  one.reset();
  EXPECT_FALSE(one.is_open());
  EXPECT_FALSE(is_open(after));
}

TEST(Descriptor, SaysWhatClosingFailedOf) {
  Descriptor one = open_nothing();
  const int number = one.number();
  EXPECT_EQ(one.close(), 0);
  EXPECT_FALSE(one.is_open());
  Descriptor gone(number);
  EXPECT_EQ(gone.close(), EBADF);
  EXPECT_FALSE(gone.is_open());
}

}  // namespace
}  // namespace larmor
