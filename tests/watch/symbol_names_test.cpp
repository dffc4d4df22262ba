#include "larmor/watch/symbol_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "larmor/base/process/process.h"

namespace larmor {

// Known to no loader: only the file of the program names it.
[[gnu::noinline]] int a_function_of_this_program(int number) {
  return number * 3 + static_cast<int>(getpid());
}

namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(SymbolNames, KnowsTheFunctionsOfThisProgram) {
  const SymbolNames names;
  const auto address = reinterpret_cast<const char*>(&a_function_of_this_program);
  const SymbolName first = names.find(address);
  EXPECT_THAT(std::string(first.name), HasSubstr("a_function_of_this_program"));
  EXPECT_EQ(first.offset, 0U);
  EXPECT_EQ(first.file, own_program().string());
  const SymbolName within = names.find(address + 3);
  EXPECT_EQ(within.name, first.name);
  EXPECT_EQ(within.offset, 3U);
  EXPECT_EQ(within.file_offset, first.file_offset + 3);
}

TEST(SymbolNames, KnowsTheFunctionsOfLibraries) {
  const SymbolName found = SymbolNames().find(reinterpret_cast<const void*>(&getpid));
  EXPECT_THAT(std::string(found.name), HasSubstr("getpid"));
  EXPECT_THAT(std::string(found.file), HasSubstr("libc.so"));
}

TEST(SymbolNames, NamesNothingWhereThereIsNothing) {
  const SymbolNames names;
  EXPECT_EQ(names.find(nullptr).name, "");
  const int on_the_stack = 0;
  EXPECT_EQ(names.find(&on_the_stack).name, "");
  static int in_the_data = 0;
  EXPECT_EQ(names.find(&in_the_data).name, "") << "a value is no function";
}

}  // namespace
}  // namespace larmor
