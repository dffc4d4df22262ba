#include "larmor/device/tensors/tensor_type.h"

#include <array>
#include <utility>

namespace larmor {

namespace {
constexpr std::array<std::pair<c10::ScalarType, std::string_view>, 10> names{{
    {c10::kFloat, "F32"},
    {c10::kDouble, "F64"},
    {c10::kHalf, "F16"},
    {c10::kBFloat16, "BF16"},
    {c10::kLong, "I64"},
    {c10::kInt, "I32"},
    {c10::kShort, "I16"},
    {c10::kChar, "I8"},
    {c10::kByte, "U8"},
    {c10::kBool, "BOOL"},
}};
}  // namespace

std::optional<std::string> safetensors_name(c10::ScalarType type) {
  for (const auto& [known, name] : names) {
    if (known == type) return std::string(name);
  }
  return std::nullopt;
}

std::optional<c10::ScalarType> type_of_safetensors(std::string_view name) {
  for (const auto& [type, known] : names) {
    if (known == name) return type;
  }
  return std::nullopt;
}

}  // namespace larmor
