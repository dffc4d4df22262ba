#include "larmor/config/values.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "larmor/config/load.h"

namespace larmor {
namespace {

TEST(Values, AreThoseThatWereLoadedUnderTheirKeys) {
  int64_t width = 8;
  const WorkloadFields fields{.model = [&](Fields& f) { f.field("width", width, "of the network"); },
                              .loss = [](Fields&) {},
                              .objectives = {"generator"}};
  const auto loaded =
      load_config({.files = {},
                   .environment = {},
                   .overrides = {"model.width=16", "train.length=24st", "optim.learning_rate=0.5",
                                 "optim.generator.learning_rate=0.25"}},
                  "any", "stage", fields);
  const auto values = values_of(loaded.config, fields);
  EXPECT_EQ(values.at("model.width"), "16");
  EXPECT_EQ(values.at("train.length"), "24st");
  EXPECT_EQ(values.at("optim.learning_rate"), "0.5");
  EXPECT_EQ(values.at("optim.generator.learning_rate"), "0.25");
  for (const auto& origin : loaded.origins) EXPECT_EQ(values.at(origin.key), origin.value) << origin.key;
  EXPECT_EQ(values.size(), loaded.origins.size());
}

}  // namespace
}  // namespace larmor
