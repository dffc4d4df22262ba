#include "workloads/fast_ddpm/denoiser/target_choice.h"

#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/device/draw_position.h"

namespace larmor::fast_ddpm {
namespace {

DrawPosition rows_of_epoch(int64_t rows, int64_t epoch) {
  DrawPosition position{.seed = 5, .epochs = {}, .examples = {}};
  for (int64_t row = 0; row < rows; ++row) {
    position.epochs.push_back(epoch);
    position.examples.push_back(row);
  }
  return position;
}

TEST(TargetChoice, IsEvenAmongTheModalitiesThatARowHas) {
  constexpr int64_t rows = 4000;
  at::Tensor present = at::ones({rows, 4}, at::kBool);
  present.slice(0, 0, rows / 2).select(1, 2).fill_(false);  // the first half lacks the third
  const DrawScope draws(rows_of_epoch(rows, 0));
  const at::Tensor chosen = draw_targets(present);
  EXPECT_TRUE(chosen.sum(1).eq(1).all().item<bool>());
  EXPECT_FALSE(chosen.bitwise_and(present.bitwise_not()).any().item<bool>());
  const at::Tensor lacking = chosen.slice(0, 0, rows / 2).to(at::kDouble).mean(0),
                   whole = chosen.slice(0, rows / 2).to(at::kDouble).mean(0);
  for (const int64_t channel : {0, 1, 3}) EXPECT_NEAR(lacking[channel].item<double>(), 1.0 / 3, 0.04);
  for (int64_t channel = 0; channel < 4; ++channel) EXPECT_NEAR(whole[channel].item<double>(), 0.25, 0.04);
}

TEST(TargetChoice, BelongsToTheExampleWhateverBatchItIsIn) {
  const auto chosen_of = [](const DrawPosition& position) {
    const DrawScope draws(position);
    return draw_targets(at::ones({static_cast<int64_t>(position.examples.size()), 4}, at::kBool));
  };
  const at::Tensor all = chosen_of(rows_of_epoch(8, 0));
  for (int64_t row = 0; row < 8; ++row)
    EXPECT_TRUE(chosen_of({.seed = 5, .epochs = {0}, .examples = {row}})[0].equal(all[row])) << row;
  EXPECT_FALSE(chosen_of(rows_of_epoch(8, 1)).equal(all)) << "another epoch draws another target";
}

TEST(TargetChoice, ExchangesTheTargetOfEachRowAndNothingElse) {
  const at::Tensor image = at::arange(2 * 3 * 8, at::kFloat).view({2, 3, 2, 2, 2});
  at::Tensor is_target = at::zeros({2, 3}, at::kBool);
  is_target[0][2] = is_target[1][0] = true;
  const at::Tensor target = channel_of(image, is_target);
  EXPECT_TRUE(target[0][0].equal(image[0][2]));
  EXPECT_TRUE(target[1][0].equal(image[1][0]));
  const at::Tensor changed = with_channel(image, is_target, target + 100);
  EXPECT_TRUE((changed - image).equal(is_target.to(at::kFloat).view({2, 3, 1, 1, 1}).expand_as(image) * 100));
  EXPECT_TRUE(same_target(2, 3, 1, image).equal(at::tensor({0, 1, 0, 0, 1, 0}).view({2, 3}).to(at::kBool)));
}

}  // namespace
}  // namespace larmor::fast_ddpm
