// The safetensors names of element types.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <c10/core/ScalarType.h>

namespace larmor {

/// "F32" for float32; nothing for types the format does not have.
std::optional<std::string> safetensors_name(c10::ScalarType type);
std::optional<c10::ScalarType> type_of_safetensors(std::string_view name);

}  // namespace larmor
