// Values put into a tree one at a time, each under a key of several words.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "larmor/config/source.h"

namespace larmor {

Node empty_mapping();
/// The value under the dotted key; null where there is none.
const Entry* find_value(const Node& tree, std::string_view key);
/// Puts a value under the words one below the other: a, b gives {a: {b: value}}. A key that has one already
/// is a problem.
void put_value(Node& tree, std::span<const std::string> words, const SourcePlace& place, Node value,
               Problems& problems);

}  // namespace larmor
