#include "larmor/base/build_id.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/base/process/process.h"

namespace larmor {
namespace {

TEST(BuildId, IsTheMarkThatStandsInTheProgramsFile) {
  const std::string mark = build_id();
  ASSERT_THAT(mark, ::testing::MatchesRegex("[0-9a-f]{16,}"));
  std::string bytes;
  for (std::size_t i = 0; i < mark.size(); i += 2)
    bytes += static_cast<char>(std::stoi(mark.substr(i, 2), nullptr, 16));
  EXPECT_NE(read_text(own_program()).find(bytes), std::string::npos);
}

}  // namespace
}  // namespace larmor
