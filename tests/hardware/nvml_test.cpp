#include "larmor/hardware/nvml.h"

#include <gtest/gtest.h>

namespace larmor::testing {
namespace {

TEST(Nvml, IsNoneWhereItsLibraryIsAnothers) {
  EXPECT_FALSE(Nvml("libthere-is-no-such.so").is_open());
  const Nvml other("libm.so.6");
  EXPECT_TRUE(other.is_open());
  EXPECT_FALSE(other.is_complete());
  EXPECT_FALSE(other.has_events());
  EXPECT_EQ(other.slowing_of(nullptr), 0U);
  EXPECT_EQ(other.explain(15), "status 15");
}

TEST(Nvml, SaysInWordsWhatSlowsAGpu) {
  EXPECT_EQ(Nvml::slowing_message(0), "");
  EXPECT_EQ(Nvml::slowing_message(0x8), "the hardware protects itself");
  EXPECT_EQ(Nvml::slowing_message(0x48), "it is much too hot");
  EXPECT_EQ(Nvml::slowing_message(0xa8), "it is too hot, the power supply asks for it");
}

TEST(Nvml, SaysInWordsWhatAnXidIs) {
  EXPECT_EQ(Nvml::xid_message(79), "Xid 79 (the GPU has fallen off the bus)");
  EXPECT_EQ(Nvml::xid_message(7), "Xid 7");
}

}  // namespace
}  // namespace larmor::testing
