#include "tests/processes/support/weights.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/json.h"

namespace larmor::testing {

namespace {

template <class Value>
std::vector<double> values_in(std::string_view bytes) {
  std::vector<double> values;
  for (size_t offset = 0; offset + sizeof(Value) <= bytes.size(); offset += sizeof(Value)) {
    Value value;
    std::memcpy(&value, bytes.data() + offset, sizeof(Value));
    values.push_back(static_cast<double>(value));
  }
  return values;
}

}  // namespace

Weights read_weights(const std::filesystem::path& file) {
  const auto bytes = read_text(file);
  uint64_t header_bytes = 0;  // little-endian, like this machine
  std::memcpy(&header_bytes, bytes.data(), sizeof(header_bytes));
  const auto data_start = sizeof(header_bytes) + header_bytes;
  const auto header = parse_json(bytes.substr(sizeof(header_bytes), header_bytes), file.string());
  Weights weights;
  for (const auto& [name, tensor] : header.items()) {
    if (name == "__metadata__") continue;
    const auto begin = tensor.at("data_offsets").at(0).get<size_t>(),
               end = tensor.at("data_offsets").at(1).get<size_t>();
    if (data_start + end > bytes.size())
      fail(Exit::unexpected, name + " lies beyond the end of " + file.string());
    const auto type = tensor.at("dtype").get<std::string>();
    if (type != "F32" && type != "F64") fail(Exit::unexpected, name + " is neither F32 nor F64");
    const auto values = std::string_view(bytes).substr(data_start + begin, end - begin);
    weights[name] = type == "F32" ? values_in<float>(values) : values_in<double>(values);
  }
  return weights;
}

double largest_difference(const Weights& left, const Weights& right) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (left.empty() || left.size() != right.size()) return infinite;
  double largest = 0;
  for (const auto& [name, values] : left) {
    const auto found = right.find(name);
    if (found == right.end() || found->second.size() != values.size()) return infinite;
    for (size_t i = 0; i < values.size(); ++i) {
      const double difference = std::abs(values[i] - found->second[i]);
      if (std::isnan(difference)) return infinite;
      largest = std::max(largest, difference);
    }
  }
  return largest;
}

}  // namespace larmor::testing
