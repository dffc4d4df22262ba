#include "larmor/comm/group.h"

#include <chrono>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/ATen.h>
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

/// What became of the backend of a group on a device.
enum class End { none, shut_down, aborted };

/// One whose collectives end when somebody waits for them, or fail.
class BackendOnADevice final : public c10d::Backend {
 public:
  BackendOnADevice(End& end, bool fails) : Backend(/*rank=*/0, /*size=*/1), end_(end), fails_(fails) {}
  const std::string getBackendName() const override { return "device"; }  // NOLINT: libtorch's signature
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& /*tensors*/,
                                           const c10d::AllreduceOptions& /*options*/) override {
    return c10::make_intrusive<Collective>(fails_);
  }
  void shutdown() override { end_ = End::shut_down; }
  void abort() override { end_ = End::aborted; }

 private:
  struct Collective final : c10d::Work {
    explicit Collective(bool fails) : fails(fails) {}
    bool isCompleted() override { return false; }  // its kernel still runs
    bool wait(std::chrono::milliseconds /*limit*/) override {
      if (fails) throw std::runtime_error("connection reset");
      return true;
    }
    bool fails;
  };
  End& end_;
  bool fails_;
};

/// How the backend of a group ends of which this is done.
End end_after(const std::function<void(Group&)>& work, bool fails = false) {
  End end = End::none;
  const Backends make{
      .own = [&](const std::string&) { return c10::make_intrusive<BackendOnADevice>(end, fails); },
      .on_host = {}};
  try {
    Group group(make, "ranks", c10::Device(c10::kCUDA, 0), std::chrono::seconds(1));
    work(group);
  } catch (const std::exception&) {
  }
  return end;
}

TEST(GroupOnADevice, WaitsForTheKernelsOfCollectivesThatWereWaitedFor) {
  const at::Tensor one = at::ones({1});
  EXPECT_EQ(end_after([](Group&) {}), End::shut_down);
  EXPECT_EQ(end_after([&](Group& group) { group.all_reduce(one, Reduce::sum).wait(); }), End::shut_down);
  EXPECT_EQ(end_after([&](Group& group) {
              group.all_reduce(one, Reduce::sum).wait();
              throw std::runtime_error("of this rank alone");
            }),
            End::shut_down)
      << "the others join what was waited for";
}

TEST(GroupOnADevice, LeavesCollectivesThatTheOthersWillNotJoin) {
  const at::Tensor one = at::ones({1});
  EXPECT_EQ(end_after([&](Group& group) { group.all_reduce(one, Reduce::sum); }), End::aborted);
  EXPECT_EQ(end_after([&](Group& group) { group.all_reduce(one, Reduce::sum).wait(); }, /*fails=*/true),
            End::aborted);
  EXPECT_EQ(end_after([](Group& group) { group.lose_peer(); }), End::aborted);
}

TEST(GroupOnADevice, LeavesThemWhileAnErrorIsHandledToo) {
  const at::Tensor one = at::ones({1});
  End while_handled = End::none;
  try {
    throw std::runtime_error("of this rank");
  } catch (const std::exception&) {
    while_handled = end_after([&](Group& group) { group.all_reduce(one, Reduce::sum); });
  }
  EXPECT_EQ(while_handled, End::aborted);
}

}  // namespace
}  // namespace larmor::testing
