// The vocabulary as a tree of letters: the longest piece that a word begins with is found in one walk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace larmor {

/// A value; thread-safe once it is filled.
class PieceTrie {
 public:
  static constexpr int32_t none = -1;

  /// Requires: `id` >= 0, a piece once.
  void add(std::string_view piece, int32_t id);

  struct Match {
    int32_t id = none;
    std::size_t bytes = 0;
  };
  Match longest(std::string_view word) const;
  /// The id of exactly this piece, or none.
  int32_t find(std::string_view piece) const;

 private:
  // An edge is found by its key, node · 256 + byte + 1, in a table of open addresses; 0 is an empty place.
  struct Edge {
    uint32_t key = 0, node = 0;
  };
  std::size_t place_of(uint32_t key) const;
  uint32_t child(uint32_t node,
                 unsigned char byte) const;  // 0 where there is none: the root is nobody's child
  uint32_t grow(uint32_t node, unsigned char byte);
  void rehash(std::size_t places);

  std::vector<Edge> edges_ = std::vector<Edge>(1024);
  std::vector<int32_t> ids_ = {none};  // of nodes
};

}  // namespace larmor
