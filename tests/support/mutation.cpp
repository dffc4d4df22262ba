#include "tests/support/mutation.h"

#include <cstddef>
#include <cstdint>

#include "tests/support/image_files.h"

namespace larmor::testing {

std::string mutated(std::string bytes, Draws& draws) {
  const auto place = [&] { return draws.below(bytes.size()); };
  for (uint64_t change = 0; change <= draws.below(4); ++change) {
    switch (draws.below(5)) {
      case 0:
        bytes[place()] ^= static_cast<char>(1 << draws.below(8));
        break;
      case 1:
        bytes[place()] = static_cast<char>(draws.below(256));
        break;
      case 2:
        bytes.resize(1 + place());
        break;
      case 3:
        bytes[place()] = draws.below(2) != 0 ? '\x7f' : '\xff';
        break;
      default: {
        const uint64_t words[] = {0, ~uint64_t{0}, uint64_t{1} << 63, 0x7fffffff7fffffff, 0x7fc000007fc00000};
        const std::string word = published(words[draws.below(5)]).substr(0, std::size_t{2} << draws.below(3));
        const std::size_t at = place() / 2 * 2;
        if (at + word.size() <= bytes.size()) bytes.replace(at, word.size(), word);
      }
    }
  }
  return bytes;
}

}  // namespace larmor::testing
