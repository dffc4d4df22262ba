// Bytes of other ranks where the collective that carries them fails without saying so.
#include "larmor/comm/communicator.h"

#include <functional>
#include <utility>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/launch/rank_lost.h"

#include "tests/comm/support/rank_threads.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;

/// What a collective has left in memory, and which of them it was: the first or the second.
using Damage = std::function<void(at::Tensor result, int collective)>;

/// Lets copies between ranks arrive damaged.
class DamagedCommunicator final : public Communicator {
 public:
  DamagedCommunicator(Communicator& inner, Damage damage) : inner_(inner), damage_(std::move(damage)) {}
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  Pending all_reduce(at::Tensor tensor, Reduce operation) override {
    return inner_.all_reduce(std::move(tensor), operation);
  }
  Pending reduce_scatter(const at::Tensor& full, at::Tensor shard, Reduce operation) override {
    return inner_.reduce_scatter(full, std::move(shard), operation);
  }
  Pending all_gather(const at::Tensor& shard, at::Tensor full) override {
    return damaged(inner_.all_gather(shard, full), full);
  }
  Pending broadcast(at::Tensor tensor, int root) override {
    return damaged(inner_.broadcast(tensor, root), tensor);
  }
  void barrier() override { inner_.barrier(); }
  std::unique_ptr<Communicator> duplicate() override { return inner_.duplicate(); }
  void abort() override { inner_.abort(); }

 private:
  Pending damaged(Pending pending, const at::Tensor& result) {
    pending.wait();
    damage_(result, count_++);
    return {};
  }
  Communicator& inner_;
  Damage damage_;
  int count_ = 0;
};

struct DamageKind {
  std::string name;
  Damage damage;
};

void PrintTo(const DamageKind& kind, std::ostream* out) { *out << kind.name; }

void flip_the_last(at::Tensor result) {
  const at::Tensor last = result.narrow(0, result.numel() - 1, 1);
  last.bitwise_xor_(1);
}

std::vector<DamageKind> kinds() {
  return {
      {"NothingArrives", [](const at::Tensor& result, int) { result.zero_(); }},
      {"TheLengthIsRubbish",
       [](at::Tensor result, int collective) {
         if (collective == 0) result.fill_(int64_t{1} << 50);
       }},
      {"TheLengthIsNegative",
       [](at::Tensor result, int collective) {
         if (collective == 0) result.fill_(-1);
       }},
      {"TheBytesDoNotArrive",
       [](at::Tensor result, int collective) {
         if (collective == 1) result.zero_();
       }},
      {"OneBitIsAnother",
       [](const at::Tensor& result, int collective) {
         if (collective == 1) flip_the_last(result);
       }},
      {"OneBitBeforeThemIsAnother",
       [](const at::Tensor& result, int collective) {
         if (collective == 0) flip_the_last(result);
       }},
  };
}

class BrokenBytes : public ::testing::TestWithParam<DamageKind> {};

void expect_the_end_of_a_peer(const std::exception_ptr& failure) {
  ASSERT_TRUE(failure) << "rubbish was taken for a message";
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::rank_lost) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("what no rank has sent"));
  }
}

/// The others lose that rank, where a collective is still to come.
void expect_no_other_end(const std::exception_ptr& failure) {
  EXPECT_TRUE(!failure || is_rank_lost(failure)) << message_of(failure);
}

TEST_P(BrokenBytes, AreThoseOfALostPeerWhereOneRankSends) {
  const auto failures = try_thread_ranks(2, [&](Communicator& communicator) {
    DamagedCommunicator damaged(communicator, GetParam().damage);
    Communicator& own = communicator.rank() == 1 ? damaged : communicator;
    broadcast_bytes(own, communicator.rank() == 0 ? "parallel: {}" : "", 0);
  });
  expect_no_other_end(failures[0]);
  expect_the_end_of_a_peer(failures[1]);
}

TEST_P(BrokenBytes, AreThoseOfALostPeerWhereAllSend) {
  const auto failures = try_thread_ranks(3, [&](Communicator& communicator) {
    DamagedCommunicator damaged(communicator, GetParam().damage);
    Communicator& own = communicator.rank() == 1 ? damaged : communicator;
    all_gather_bytes(own, std::string(static_cast<size_t>(1 + communicator.rank()), 'x'));
  });
  expect_no_other_end(failures[0]);
  expect_the_end_of_a_peer(failures[1]);
  expect_no_other_end(failures[2]);
}

std::string name_of(const ::testing::TestParamInfo<DamageKind>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Where, BrokenBytes, ::testing::ValuesIn(kinds()), name_of);

}  // namespace
}  // namespace larmor::testing
