// Types of comm that own something, made where they cannot be.
#include "tests/support/failing_starts.h"

#include <gtest/gtest.h>

#include "larmor/comm/store_server.h"
#include "larmor/net/socket.h"

namespace larmor {
namespace {

TEST(FailingStarts, OfStoresLeaveNothing) {
  const RunKey key = RunKey::draw();
  testing::expect_nothing_left_without_descriptors([&] {
    Listener listener("127.0.0.1", 0);
    StoreServer(listener.take(), key);
  });
}

}  // namespace
}  // namespace larmor
