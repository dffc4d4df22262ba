#include "larmor/task/batch_device.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/data/loader/loader.h"
#include "larmor/kernels/draw/draw.h"

namespace larmor::testing {
namespace {

class NumberedExamples final : public Dataset {
 public:
  int64_t size() const override { return 11; }
  Sample get(const ExampleKey& key) const override { return {{"image", at::full({3}, key.example)}}; }
  std::string name(int64_t example) const override { return std::to_string(example); }
};

/// What four steps of a global batch of eight draw, put together in the order of the run: [32, numbers].
at::Tensor drawn_by(int ranks, int64_t accumulation) {
  const NumberedExamples dataset;
  const int64_t micro_batch = 8 / ranks / accumulation;
  std::vector<at::Tensor> rows(32);
  for (int rank = 0; rank < ranks; ++rank) {
    Loader loader(dataset, ExampleOrder(42, 11),
                  {.global_batch = 8,
                   .micro_batch = micro_batch,
                   .accumulation = accumulation,
                   .rank = rank,
                   .ranks = ranks},
                  /*consumed=*/0, {.workers = 2});
    for (int64_t micro = 0; micro < 4 * accumulation; ++micro) {
      const Batch batch = loader.next();
      const DrawScope draws(draw_position_of(batch));
      const at::Tensor like = at::ones({batch.size(), 300});
      const at::Tensor numbers =
          at::cat({draw_normal_like(like, "noise"), draw_uniform_like(like, "place"),
                   draw_kept_like(like, 0.9, "mask").to(at::kFloat), draw_dropout(like, 0.9, "dropout"),
                   draw_integers(1000, "time").to(at::kFloat).unsqueeze(1),
                   draw_antithetic(1000, "other time").to(at::kFloat).unsqueeze(1)},
                  1);
      for (int64_t row = 0; row < batch.size(); ++row)
        rows[static_cast<size_t>(batch.positions[static_cast<size_t>(row)])] = numbers[row];
    }
  }
  return at::stack(rows);
}

TEST(DrawPositionOf, ABatchDrawsTheSameOnAnyNumberOfRanksAndHoweverItIsDivided) {
  const at::Tensor alone = drawn_by(1, 1);
  EXPECT_FALSE(at::equal(alone[0], alone[1]));
  for (const auto& [ranks, accumulation] : {std::pair(1, 8), std::pair(1, 2), std::pair(2, 1),
                                            std::pair(2, 4), std::pair(4, 1), std::pair(8, 1)}) {
    EXPECT_TRUE(at::equal(drawn_by(ranks, accumulation), alone)) << ranks << " ranks, " << accumulation;
  }
}

TEST(DrawPositionOf, PairsStandOnBothSidesOfTheMiddle) {
  const at::Tensor times = drawn_by(4, 2).select(1, -1);
  for (int64_t pair = 0; pair < 16; ++pair)
    EXPECT_EQ((times[2 * pair] + times[2 * pair + 1]).item<float>(), 999) << pair;
}

TEST(DrawPositionOf, CasesOfAValidationStandWhereTheSplitHasThem) {
  Batch batch;
  batch.keys = {{.seed = 3, .epoch = 0, .example = 4}, {.seed = 3, .epoch = 0, .example = 5}};
  EXPECT_EQ(draw_position_of(batch).positions, (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(draw_position_of(batch).seed, 3U);
}

}  // namespace
}  // namespace larmor::testing
