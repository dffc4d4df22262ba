// Bytes that nobody can guess, from the kernel, and their hexadecimal digits.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace larmor {

/// Fills them from the kernel's generator. Blocks only while a machine that has just been started has no
/// entropy. Throws Error (environment) when there is none.
void fill_with_random(std::span<std::byte> bytes);

/// Two lower-case digits a byte.
std::string to_hex(std::span<const std::byte> bytes);

/// Sixteen hexadecimal digits that nobody can guess, for the name of a file.
std::string random_name();

}  // namespace larmor
