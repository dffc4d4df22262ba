#include "larmor/train/step/records.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/comm/support/rank_threads.h"

namespace larmor::testing {
namespace {

/// What reaches a collective that nobody here can compute.
struct Reached : std::exception {};

/// A group whose tensors have to be on libtorch's meta device: it stands for a GPU, which this machine need
/// not have. A tensor of another device is refused by the operators that would mix them, as on a GPU.
class GroupElsewhere final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  c10::Device device() const override { return c10::kMeta; }
  Pending all_reduce(at::Tensor tensor, Reduce operation) override {
    EXPECT_EQ(tensor.device(), device());
    EXPECT_EQ(tensor.scalar_type(), at::kDouble);
    EXPECT_EQ(operation, Reduce::mean);
    values = tensor.numel();
    throw Reached();
  }
  Pending reduce_scatter(const at::Tensor&, at::Tensor, Reduce) override { return {}; }
  Pending all_gather(const at::Tensor&, at::Tensor) override { return {}; }
  Pending broadcast(at::Tensor, int) override { return {}; }
  void barrier() override {}
  std::unique_ptr<Communicator> duplicate() override { return nullptr; }
  void abort() override {}

  int64_t values = 0;
};

TEST(Records, AreMeansOverMicroBatchesUnderTheirNames) {
  Records records;
  for (const double value : {1.0, 2.0, 6.0}) records.add("loss", at::scalar_tensor(value));
  records.add("events", at::tensor({3}, at::kLong));
  const auto solo = make_solo();
  RecordNames known;
  EXPECT_TRUE(records.has_new(known));
  records.share_names(known, *solo);
  EXPECT_FALSE(records.has_new(known));
  const Values means = records.mean(3, "train/", known, *solo);
  EXPECT_THAT(means,
              ::testing::ElementsAre(::testing::Pair("train/events", 1), ::testing::Pair("train/loss", 3)));
  EXPECT_TRUE(Records().mean(3, "train/", {}, *solo).empty());
}

/// As survival has them on a GPU: the loss there, the number of events and the concordance on the host.
TEST(Records, OfSeveralDevicesMeetOnTheCommunicators) {
  const auto elsewhere = at::TensorOptions(c10::kMeta).dtype(at::kFloat);
  Records records;
  for (int micro_batch = 0; micro_batch < 2; ++micro_batch) {
    records.add("loss", at::empty({}, elsewhere));
    records.add("events", at::scalar_tensor(4));
    records.add("c_index", at::scalar_tensor(0.7, at::kDouble));
  }
  GroupElsewhere group;
  EXPECT_THROW(records.mean(2, "train/", {.means = {"c_index", "events", "loss"}, .ratios = {}}, group),
               Reached);
  EXPECT_EQ(group.values, 6) << "and for each whether there is one";
}

TEST(Records, OfTheHostAloneReachAnotherDeviceToo) {
  Records records;
  records.add("events", at::scalar_tensor(4));
  GroupElsewhere group;
  EXPECT_THROW(records.mean(1, "train/", {.means = {"events"}, .ratios = {}}, group), Reached);
  EXPECT_EQ(group.values, 2);
}

/// Of one name, an early value may have come from another device than a later one.
TEST(Records, OfOneNameMayChangeTheirDevice) {
  Records records;
  records.add("loss", at::empty({}, at::TensorOptions(c10::kMeta)));
  records.add("loss", at::scalar_tensor(4));
  GroupElsewhere group;
  EXPECT_THROW(records.mean(2, "train/", {.means = {"loss"}, .ratios = {}}, group), Reached);
}

/// Rank 0 has records of two heads, rank 1 of one of them and of nothing else.
TEST(Records, ThatSomeRanksLackCountAsZero) {
  run_thread_ranks(2, [](Communicator& communicator) {
    Records records;
    RecordNames known;
    if (communicator.is_first()) {
      records.add("loss", at::scalar_tensor(6));
      records.add_ratio("first_head", at::scalar_tensor(2), at::scalar_tensor(3));
    }
    records.add_ratio("second_head", at::scalar_tensor(4), at::scalar_tensor(1));
    EXPECT_TRUE(records.has_new(known));
    records.share_names(known, communicator);
    EXPECT_FALSE(records.has_new(known));
    const Values values = records.mean(1, "train/", known, communicator);
    EXPECT_THAT(values, ::testing::ElementsAre(
                            ::testing::Pair("train/first_head", ::testing::DoubleEq(2.0 / 3)),
                            ::testing::Pair("train/loss", 3), ::testing::Pair("train/second_head", 4)));
    EXPECT_TRUE(Records().mean(1, "train/", known, communicator).empty()) << "a step in which nobody has any";
  });
}

}  // namespace
}  // namespace larmor::testing
