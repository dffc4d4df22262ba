#include "larmor/data/some_cases.h"

#include <gtest/gtest.h>

namespace larmor {
namespace {

class Numbered final : public Dataset {
 public:
  explicit Numbered(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  Sample get(const ExampleKey&) const override { return {}; }
  std::string name(int64_t example) const override { return std::to_string(example); }

 private:
  int64_t size_;
};

TEST(SomeCases, AreSpreadOverAllOfThem) {
  const auto some = some_cases(std::make_unique<Numbered>(10), 4);
  ASSERT_EQ(some->size(), 4);
  EXPECT_EQ(some->name(0) + some->name(1) + some->name(2) + some->name(3), "0257");
}

TEST(SomeCases, AreAllWhereNoneOrMoreThanThereAreIsAskedFor) {
  EXPECT_EQ(some_cases(std::make_unique<Numbered>(10), 0)->size(), 10);
  EXPECT_EQ(some_cases(std::make_unique<Numbered>(10), 11)->size(), 10);
}

}  // namespace
}  // namespace larmor
