#include "larmor/watch/rank_cell.h"

#include <algorithm>
#include <bit>

namespace larmor {

namespace {

constexpr int64_t most_number = (int64_t{1} << 40) - 1;

// Number, group, kind, element, finished; never 0, for numbers begin at 1.
uint64_t state_of(const Collective& collective) {
  return static_cast<uint64_t>(std::min(collective.number, most_number)) << 24 |
         static_cast<uint64_t>(std::min(collective.group, 0xffff)) << 8 |
         static_cast<uint64_t>(collective.kind) << 5 | static_cast<uint64_t>(collective.element) << 1;
}

// How often its place in the ring has been taken, and how many elements, in one word.
constexpr int lap_shift = 52;
constexpr uint64_t most_elements = (uint64_t{1} << lap_shift) - 1;

uint64_t lap_of(uint64_t place) { return place / most_collectives << lap_shift; }

}  // namespace

// Stores release and loads acquire, here and below, in place of fences, which the thread sanitizer does not
// know. A reader that sees a word
// written two versions later also sees the changed version number, and retries.
RankProgress SharedProgress::read() const {
  for (;;) {
    const uint64_t version = version_.load(std::memory_order_acquire);
    Words words;
    for (size_t i = 0; i < words.size(); ++i)
      words[i] = copies_[version % 2][i].load(std::memory_order_acquire);
    if (version_.load(std::memory_order_relaxed) == version) return std::bit_cast<RankProgress>(words);
  }
}

void SharedProgress::write(const RankProgress& progress) {
  const uint64_t next = version_.load(std::memory_order_relaxed) + 1;
  const auto words = std::bit_cast<Words>(progress);
  for (size_t i = 0; i < words.size(); ++i) copies_[next % 2][i].store(words[i], std::memory_order_release);
  version_.store(next, std::memory_order_release);
}

// The first word holds the others together: two threads may write the same entry, when one of them stands
// still while the other one begins a whole ring of collectives.
PackedCollective::Words PackedCollective::encode(uint64_t place, const Collective& collective) {
  const uint64_t elements = std::min(static_cast<uint64_t>(collective.elements), most_elements);
  const uint64_t lap_and_elements = lap_of(place) | elements;
  const uint64_t word = state_of(collective);
  return {word ^ lap_and_elements, lap_and_elements, word};
}

std::optional<Collective> PackedCollective::decode(uint64_t place, const Words& words) {
  const auto& [check, lap_and_elements, word] = words;
  if (word == 0 || check != ((word & ~finished_bit) ^ lap_and_elements)) return std::nullopt;
  if ((lap_and_elements & ~most_elements) != lap_of(place)) return std::nullopt;
  return Collective{.group = static_cast<int>(word >> 8 & 0xffff),
                    .number = static_cast<int64_t>(word >> 24),
                    .kind = static_cast<CollectiveKind>(word >> 5 & 7),
                    .elements = static_cast<int64_t>(lap_and_elements & most_elements),
                    .element = static_cast<ElementKind>(word >> 1 & 15),
                    .finished = (word & finished_bit) != 0};
}

CollectiveRing::Ticket CollectiveRing::begin(const Collective& collective) {
  const uint64_t place = begun_.fetch_add(1, std::memory_order_relaxed);
  auto& entry = entries_[place % most_collectives];
  const auto words = PackedCollective::encode(place, collective);
  for (size_t i = 0; i < words.size(); ++i) entry[i].store(words[i], std::memory_order_release);
  return {.place = place, .word = words[PackedCollective::state]};
}

void CollectiveRing::finish(const Ticket& ticket) {
  // Its place may have been given to a later one.
  uint64_t expected = ticket.word;
  entries_[ticket.place % most_collectives][PackedCollective::state].compare_exchange_strong(
      expected, ticket.word | PackedCollective::finished_bit, std::memory_order_release,
      std::memory_order_relaxed);
}

std::optional<Collective> CollectiveRing::at(uint64_t place) const {
  const auto& entry = entries_[place % most_collectives];
  PackedCollective::Words words;
  for (size_t i = 0; i < words.size(); ++i) words[i] = entry[i].load(std::memory_order_acquire);
  return PackedCollective::decode(place, words);
}

}  // namespace larmor
