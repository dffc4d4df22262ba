#include "larmor/config/fold.h"

#include <gtest/gtest.h>

namespace larmor {
namespace {

TEST(Folds, AreReadFromTheirNumberAndTheirCount) {
  EXPECT_EQ(fold_from_text("2/5"), (Fold{2, 5}));
  EXPECT_EQ(fold_from_text("10/10"), (Fold{10, 10}));
  for (const char* wrong :
       {"", "2", "/", "0/5", "6/5", "-1/5", "1/1", "1/0", "1/-2", "1 / 5", "a/5", "1/5x", "1/2/3", "1.0/5"})
    EXPECT_EQ(fold_from_text(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace larmor
