#include "larmor/text/piece_trie.h"

#include <utility>

namespace larmor {

std::size_t PieceTrie::place_of(uint32_t key) const {
  const std::size_t mask = edges_.size() - 1;
  std::size_t place = (key * uint64_t{0x9e3779b97f4a7c15} >> 32) & mask;
  while (edges_[place].key != 0 && edges_[place].key != key) place = (place + 1) & mask;
  return place;
}

uint32_t PieceTrie::child(uint32_t node, unsigned char byte) const {
  return edges_[place_of(node * 256 + byte + 1)].node;
}

void PieceTrie::rehash(std::size_t places) {
  const auto old = std::exchange(edges_, std::vector<Edge>(places));
  for (const Edge& edge : old) {
    if (edge.key != 0) edges_[place_of(edge.key)] = edge;
  }
}

uint32_t PieceTrie::grow(uint32_t node, unsigned char byte) {
  if (const uint32_t known = child(node, byte); known != 0) return known;
  if (ids_.size() * 2 > edges_.size()) rehash(edges_.size() * 2);
  const uint32_t key = node * 256 + byte + 1;
  const auto added = static_cast<uint32_t>(ids_.size());
  edges_[place_of(key)] = {key, added};
  ids_.push_back(none);
  return added;
}

void PieceTrie::add(std::string_view piece, int32_t id) {
  uint32_t node = 0;
  for (const char letter : piece) node = grow(node, static_cast<unsigned char>(letter));
  ids_[node] = id;
}

PieceTrie::Match PieceTrie::longest(std::string_view word) const {
  Match match;
  uint32_t node = 0;
  for (std::size_t i = 0; i < word.size(); ++i) {
    node = child(node, static_cast<unsigned char>(word[i]));
    if (node == 0) break;
    if (ids_[node] != none) match = {ids_[node], i + 1};
  }
  return match;
}

int32_t PieceTrie::find(std::string_view piece) const {
  uint32_t node = 0;
  for (const char letter : piece) {
    node = child(node, static_cast<unsigned char>(letter));
    if (node == 0) return none;
  }
  return ids_[node];
}

}  // namespace larmor
