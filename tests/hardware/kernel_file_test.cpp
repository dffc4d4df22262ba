#include "larmor/hardware/kernel_file.h"

#include <gtest/gtest.h>

namespace larmor {
namespace {

TEST(KernelFile, ReadsFilesThatCallThemselvesEmpty) {
  EXPECT_NE(read_kernel_file("/proc/self/status").value_or("").find("Pid:"), std::string::npos);
  EXPECT_EQ(read_kernel_file("/proc/self/no-such-file"), std::nullopt);
}

TEST(KernelFile, TakesOnlyWholeNumbers) {
  EXPECT_EQ(whole_number(" 42\n"), 42);
  EXPECT_EQ(whole_number("-1"), -1);
  for (const char* word : {"", "max", "4x", "4.5", "99999999999999999999"})
    EXPECT_EQ(whole_number(word), std::nullopt);
}

TEST(KernelFile, FindsAValueByItsWholeKey) {
  constexpr std::string_view table = "MemTotalHuge: 1 kB\nMemTotal:\t 7 kB\nname: a: b";
  EXPECT_EQ(table_value(table, "MemTotal"), "7 kB");
  EXPECT_EQ(table_value(table, "name"), "a: b");
  EXPECT_EQ(table_value(table, "Mem"), "");
}

}  // namespace
}  // namespace larmor
