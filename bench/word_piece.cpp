// The tokenizer on one core: texts one at a time, and as a padded batch of 128 tokens. As JSON, in
// milliseconds for all texts, the median of some passes: word_piece VOCABULARY TEXTS [BLOCKS]; TEXTS has one
// a line.
#include "larmor/text/word_piece.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "larmor/base/json.h"

namespace {

template <class Work>
double median_ms(int blocks, const Work& work) {
  std::vector<double> times;
  for (int i = 0; i < blocks; ++i) {
    const auto began = std::chrono::steady_clock::now();
    work();
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) {
    std::cerr << "word_piece VOCABULARY TEXTS [BLOCKS]\n";
    return 2;
  }
  const auto tokenizer = larmor::read_tokenizer(words[1]);
  const int blocks = count > 3 ? std::stoi(words[3]) : 15;
  std::vector<std::string> texts;
  std::ifstream file(words[2]);
  for (std::string line; std::getline(file, line);) texts.push_back(line);
  constexpr std::size_t longest = 128;
  uint64_t tokens = 0, tokens_of_batch = 0;
  const double single = median_ms(blocks, [&] {
    tokens = 0;
    for (const std::string& text : texts) tokens += tokenizer.encode(text, longest).size();
  });
  std::vector<int64_t> ids(texts.size() * longest);
  const double batch = median_ms(blocks, [&] {
    tokens_of_batch = 0;
    for (std::size_t i = 0; i < texts.size(); ++i)
      tokens_of_batch += tokenizer.encode(texts[i], std::span(ids).subspan(i * longest, longest));
  });
  const auto per_second = [&](double ms) { return static_cast<double>(texts.size()) / ms * 1000; };
  std::cout << larmor::Json({{"texts", texts.size()},
                             {"tokens", tokens},
                             {"tokens_batch", tokens_of_batch},
                             {"one_by_one_ms", single},
                             {"one_by_one_per_second", per_second(single)},
                             {"batch_ms", batch},
                             {"batch_per_second", per_second(batch)}})
                   .dump()
            << "\n";
  return 0;
}
