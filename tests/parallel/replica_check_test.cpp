#include "larmor/parallel/replica_check.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

#include "tests/comm/support/rank_threads.h"

namespace larmor {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;
using ::testing::Not;

constexpr auto every_type = {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf, at::kLong, at::kByte};

TensorList weights(c10::ScalarType type) {
  // Ranks are threads, which share libtorch's generator.
  const auto values = [&](const std::vector<int64_t>& shape) {
    return ((at::ones(shape).cumsum(-1).sin() + 2) * 50).to(type);
  };
  return {{"encoder.weight", values({3, 5, 2, 2, 2}).contiguous(at::MemoryFormat::ChannelsLast3d)},
          {"encoder.bias", values({5})},
          {"decoder.weight", values({40, 7}).t()},
          {"scale", at::full({}, 3.5).to(type)}};
}

/// The bytes of an element in memory, whatever its type and the order of its dimensions.
void flip(const at::Tensor& tensor, int64_t bit) {
  auto* const bytes = static_cast<uint8_t*>(tensor.mutable_data_ptr());
  bytes[bit / 8] = static_cast<uint8_t>(bytes[bit / 8] ^ (1U << (bit % 8)));
}

std::vector<std::string> said_by_ranks(int ranks, const std::function<void(int, TensorList&)>& change) {
  std::vector<std::string> said;
  for (const auto& error : testing::try_thread_ranks(ranks, [&](Communicator& communicator) {
         auto own = weights(at::kFloat);
         change(communicator.rank(), own);
         require_equal_replicas(own, communicator);
       })) {
    said.push_back(message_of(error));
  }
  return said;
}

TEST(Fingerprints, DifferWhereverOneBitDoes) {
  for (const auto type : every_type) {
    const auto whole = fingerprints_of(weights(type));
    auto changed = weights(type);
    for (size_t i = 0; i < changed.size(); ++i) {
      const at::Tensor& tensor = changed[i].second;
      for (int64_t bit = 0; bit < tensor.numel() * tensor.element_size() * 8; ++bit) {
        flip(tensor, bit);
        const auto differs =
            fingerprints_of({changed[i]}).item<int64_t>() != whole[static_cast<int64_t>(i)].item<int64_t>();
        ASSERT_TRUE(differs) << type << ' ' << changed[i].first << " bit " << bit;
        flip(tensor, bit);
      }
    }
  }
}

TEST(Fingerprints, DoNotDependOnTheLayout) {
  const auto tensor = at::randn({2, 3, 4, 5, 6});
  const auto last = tensor.contiguous(at::MemoryFormat::ChannelsLast3d);
  EXPECT_TRUE(fingerprints_of({{"a", tensor}}).equal(fingerprints_of({{"a", last}})));
}

TEST(EqualReplicas, AreLeftAlone) {
  for (const int ranks : {1, 2, 5}) {
    for (const auto& words : said_by_ranks(ranks, [](int, TensorList&) {})) EXPECT_EQ(words, "");
  }
}

TEST(EqualReplicas, WhereOneRankDiffersNameItAndItsTensorOnEveryRank) {
  for (const auto& words : said_by_ranks(4, [](int rank, TensorList& own) {
         if (rank == 2) flip(own[2].second, 1000);
       })) {
    EXPECT_THAT(words, AllOf(HasSubstr("rank 2 of 4 no longer has the weights of the others: decoder.weight"),
                             Not(HasSubstr("more tensor"))));
  }
}

TEST(EqualReplicas, WhereSeveralDifferNameAllOfThem) {
  for (const auto& words : said_by_ranks(5, [](int rank, TensorList& own) {
         if (rank == 1 || rank == 4) flip(own[0].second, 3 + rank);
         if (rank == 4) flip(own[3].second, 0);
       })) {
    EXPECT_THAT(
        words,
        HasSubstr(
            "ranks 1 and 4 of 5 no longer have the weights of the others: encoder.weight and 1 more tensor"));
  }
}

TEST(EqualReplicas, OfWhichNoMostAgreeAreAllNamed) {
  for (const auto& words : said_by_ranks(2, [](int rank, TensorList& own) {
         if (rank == 0) flip(own[1].second, 9);
       })) {
    EXPECT_THAT(words, HasSubstr("ranks 0 and 1 no longer have the same weights: encoder.bias"));
  }
}

TEST(EqualReplicas, EndTheRanksAsALostOneDoes) {
  const auto errors = testing::try_thread_ranks(2, [](Communicator& communicator) {
    auto own = weights(at::kBFloat16);
    if (communicator.is_first()) flip(own[0].second, 0);
    require_equal_replicas(own, communicator);
  });
  for (const auto& error : errors) {
    try {
      std::rethrow_exception(error);
    } catch (const Error& known) {
      EXPECT_EQ(known.exit(), Exit::rank_lost);
      EXPECT_THAT(known.hint(), HasSubstr("larmor train RUN"));
    }
  }
}

}  // namespace
}  // namespace larmor
