#include "larmor/comm/group.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace larmor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Of one rank, with no collectives.
class BackendAlone final : public c10d::Backend {
 public:
  BackendAlone() : Backend(/*rank=*/0, /*size=*/1) {}
  const std::string getBackendName() const override { return "alone"; }  // NOLINT: libtorch's signature
};

/// Makes backends and remembers for which groups.
MakeBackend remembering(std::vector<std::string>& names) {
  return [&names](const std::string& group) {
    names.push_back(group);
    return c10::make_intrusive<BackendAlone>();
  };
}

/// As a group over NCCL has two kinds of backends.
TEST(Group, MakesATwinOfItsOwnKindAndOneOnTheHost) {
  std::vector<std::string> own, on_host;
  Group group({.own = remembering(own), .on_host = remembering(on_host)}, "ranks", c10::kMeta,
              std::chrono::seconds(1));
  EXPECT_EQ(group.device(), c10::kMeta);
  EXPECT_EQ(group.duplicate()->device(), c10::kMeta);
  EXPECT_THAT(own, ElementsAre("ranks", "ranks.1"));
  EXPECT_THAT(on_host, IsEmpty());
  const auto host = group.duplicate_on_host();
  EXPECT_TRUE(host->device().is_cpu());
  EXPECT_TRUE(host->duplicate()->device().is_cpu());
  EXPECT_THAT(own, ElementsAre("ranks", "ranks.1")) << "nothing of it is on a device";
  EXPECT_THAT(on_host, ElementsAre("ranks.2", "ranks.2.1"));
}

}  // namespace
}  // namespace larmor::testing
