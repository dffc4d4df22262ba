// Files of /proc and /sys: short, of no known size, and often absent.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace larmor {

/// The whole text, or nothing when the file cannot be read.
std::optional<std::string> read_kernel_file(const std::filesystem::path& path);

/// A decimal number that fills the whole word (blanks around it aside), or nothing.
std::optional<int64_t> whole_number(std::string_view word);

/// The value of "MemTotal:   24682416 kB" in such a table, without the key; "" when absent.
std::string_view table_value(std::string_view table, std::string_view key);

}  // namespace larmor
