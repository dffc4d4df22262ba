#include "larmor/plan/phrases.h"

#include <algorithm>

#include "larmor/base/text.h"

namespace larmor {

std::string counted(int64_t count, std::string_view noun) {
  return text(count, " ", noun, count == 1 ? "" : "s");
}

std::string core_ranges(std::vector<int> cores) {
  std::sort(cores.begin(), cores.end());
  std::string out;
  for (size_t first = 0; first < cores.size();) {
    size_t last = first;
    while (last + 1 < cores.size() && cores[last + 1] == cores[last] + 1) ++last;
    out += text(out.empty() ? "" : ",", cores[first]);
    if (last > first) out += text("-", cores[last]);
    first = last + 1;
  }
  return out;
}

std::string gpu_numbers(const std::vector<int>& numbers) {
  std::string out = numbers.size() == 1 ? "GPU " : "GPUs ";
  for (size_t i = 0; i < numbers.size(); ++i) {
    const char* between = i == 0 ? "" : i + 1 == numbers.size() ? " and " : ", ";
    out += text(between, numbers[i]);
  }
  return out;
}

std::string capability_text(const Gpu& gpu) { return text(gpu.capability_major, ".", gpu.capability_minor); }

std::string number_list(const std::vector<int64_t>& numbers) {
  std::vector<std::string> words;
  for (const int64_t number : numbers) words.push_back(text(number));
  return join(words, ", ");
}

std::string human_bytes(int64_t bytes) {
  return human_bytes(static_cast<uint64_t>(std::max<int64_t>(bytes, 0)));
}

}  // namespace larmor
