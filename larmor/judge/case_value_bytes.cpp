#include "larmor/judge/case_value_bytes.h"

#include <cstddef>
#include <cstring>
#include <ranges>
#include <vector>

#include "larmor/base/ensure.h"

namespace larmor {
namespace {

template <class Number>
void append_numbers(std::string& bytes, const std::vector<Number>& numbers) {
  bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number));
}

template <class Number>
std::vector<Number> take_numbers(std::string_view& bytes, std::size_t count) {
  std::vector<Number> numbers(count);
  ensure(bytes.size() >= count * sizeof(Number));
  std::memcpy(numbers.data(), bytes.data(), count * sizeof(Number));
  bytes.remove_prefix(count * sizeof(Number));
  return numbers;
}

}  // namespace

void append_values(std::string& bytes, Json& counts, const CaseValues& all) {
  for (const auto& [name, values] : all) {
    counts.push_back({name, values.size()});
    const auto examples = std::views::keys(values);
    const auto numbers = std::views::values(values);
    append_numbers(bytes, std::vector<int64_t>(examples.begin(), examples.end()));
    append_numbers(bytes, std::vector<double>(numbers.begin(), numbers.end()));
  }
}

void take_values(std::string_view& bytes, const Json& counts, CaseValues& all) {
  for (const auto& entry : counts) {
    const auto count = entry[1].get<std::size_t>();
    const auto examples = take_numbers<int64_t>(bytes, count);
    const auto numbers = take_numbers<double>(bytes, count);
    auto& values = all[entry[0].get<std::string>()];
    for (std::size_t i = 0; i < count; ++i) values.emplace_back(examples[i], numbers[i]);
  }
}

}  // namespace larmor
