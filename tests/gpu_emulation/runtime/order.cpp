#include "tests/gpu_emulation/runtime/order.h"

#include <algorithm>
#include <iterator>

namespace emulated {
namespace {

bool is_before(const Moment& earlier, int stream, const Clock& clock) {
  return earlier.stream == stream || earlier.count <= clock.of(earlier.stream);
}

std::string sentence(const Moment& moment, bool writes, size_t bytes, const Moment& earlier, bool wrote) {
  return std::string(moment.what) + " on stream " + std::to_string(moment.stream) +
         (writes ? " writes " : " reads ") + std::to_string(bytes) + " bytes that " + earlier.what +
         " on stream " + std::to_string(earlier.stream) + (wrote ? " writes" : " reads") +
         ", and nothing orders the two";
}

}  // namespace

uint64_t Clock::of(int stream) const {
  const auto place = static_cast<size_t>(stream);
  return place < counts_.size() ? counts_[place] : 0;
}

void Clock::set(int stream, uint64_t count) {
  const auto place = static_cast<size_t>(stream);
  if (place >= counts_.size()) counts_.resize(place + 1);
  counts_[place] = count;
}

void Clock::merge(const Clock& other) {
  if (counts_.size() < other.counts_.size()) counts_.resize(other.counts_.size());
  for (size_t i = 0; i < other.counts_.size(); ++i) counts_[i] = std::max(counts_[i], other.counts_[i]);
}

bool Clock::covers(const Clock& other) const {
  for (size_t i = 0; i < other.counts_.size(); ++i) {
    if (other.counts_[i] > of(static_cast<int>(i))) return false;
  }
  return true;
}

void OrderCheck::split_at(uintptr_t address) {
  auto next = segments_.upper_bound(address);
  if (next == segments_.begin()) return;
  const auto found = std::prev(next);
  if (found->first == address || found->second.end <= address) return;
  Segment rest = found->second;
  found->second.end = address;
  segments_.emplace_hint(next, address, std::move(rest));
}

std::optional<std::string> OrderCheck::note(uintptr_t begin, size_t bytes, bool writes, const Moment& moment,
                                            const Clock& clock) {
  if (bytes == 0) return std::nullopt;
  const uintptr_t end = begin + bytes;
  split_at(begin);
  split_at(end);
  std::optional<std::string> problem;
  const auto compare = [&](const Moment& earlier, bool wrote) {
    if (problem || is_before(earlier, moment.stream, clock)) return;
    problem = sentence(moment, writes, bytes, earlier, wrote);
  };
  const auto first = segments_.lower_bound(begin), last = segments_.lower_bound(end);
  for (auto each = first; each != last; ++each) {
    if (each->second.write) compare(*each->second.write, /*wrote=*/true);
    if (!writes) continue;
    for (const Moment& read : each->second.reads) compare(read, /*wrote=*/false);
  }
  if (writes) {
    segments_.erase(first, last);
    segments_[begin] = {.end = end, .write = moment, .reads = {}};
    return problem;
  }
  uintptr_t place = begin;  // what nobody has touched yet lies between the segments
  for (auto each = first; each != last; ++each) {
    if (place < each->first)
      segments_[place] = {.end = each->first, .write = std::nullopt, .reads = {moment}};
    std::erase_if(each->second.reads, [&](const Moment& read) { return read.stream == moment.stream; });
    each->second.reads.push_back(moment);
    place = each->second.end;
  }
  if (place < end) segments_[place] = {.end = end, .write = std::nullopt, .reads = {moment}};
  return problem;
}

void OrderCheck::forget(uintptr_t begin, size_t bytes) {
  split_at(begin);
  split_at(begin + bytes);
  segments_.erase(segments_.lower_bound(begin), segments_.lower_bound(begin + bytes));
}

}  // namespace emulated
