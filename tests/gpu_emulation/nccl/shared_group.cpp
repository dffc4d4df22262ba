#include "tests/gpu_emulation/nccl/shared_group.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <array>
#include <climits>
#include <cstdio>
#include <ctime>
#include <utility>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

namespace emulated {

struct SharedGroup::Shared {
  std::atomic<uint32_t> arrived, round;
  std::array<Call, most_ranks> calls;
  std::array<std::array<char, 32>, most_ranks> cards;
};

namespace {

constexpr int spins = 200;
constexpr long patience = 20'000'000;  // nanoseconds between looks at whether this rank has given up

/// Sleeps until `word` is no longer `seen`, for a while at most.
void sleep_on(std::atomic<uint32_t>& word, uint32_t seen) {
  const timespec limit{.tv_sec = 0, .tv_nsec = patience};
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

void wake_all(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

const char* name_of(Collective collective) {
  switch (collective) {
    case Collective::start:
      return "start";
    case Collective::all_reduce:
      return "all_reduce";
    case Collective::reduce_scatter:
      return "reduce_scatter";
    case Collective::all_gather:
      return "all_gather";
    case Collective::broadcast:
      return "broadcast";
  }
  return "";
}

SharedGroup::SharedGroup(std::string name, int rank, int size)
    : name_(std::move(name)),
      rank_(rank),
      size_(size),
      bytes_(sizeof(Shared) + static_cast<size_t>(size) * slot_bytes) {
  const int file = shm_open(name_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) return;
  if (ftruncate(file, static_cast<off_t>(bytes_)) == 0) {
    void* const area = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (area != MAP_FAILED) shared_ = static_cast<Shared*>(area);
  }
  close(file);
}

SharedGroup::~SharedGroup() {
  if (shared_ != nullptr) munmap(shared_, bytes_);
}

bool SharedGroup::wait_for_all(const std::atomic<bool>& given_up) {
  const uint32_t round = shared_->round.load();
  if (shared_->arrived.fetch_add(1) + 1 == static_cast<uint32_t>(size_)) {
    shared_->arrived = 0;
    shared_->round.fetch_add(1);
    wake_all(shared_->round);
    return true;
  }
  for (int turn = 0; shared_->round.load() == round; ++turn) {
    if (given_up) return false;
    turn < spins ? static_cast<void>(sched_yield()) : sleep_on(shared_->round, round);
  }
  return true;
}

void SharedGroup::forget_name() { shm_unlink(name_.c_str()); }

Call& SharedGroup::call_of(int rank) { return shared_->calls[static_cast<size_t>(rank)]; }

std::string SharedGroup::card_of(int rank) const { return shared_->cards[static_cast<size_t>(rank)].data(); }

void SharedGroup::set_card(const std::string& pci_address) {
  auto& own = shared_->cards[static_cast<size_t>(rank_)];
  std::snprintf(own.data(), own.size(), "%s", pci_address.c_str());
}

char* SharedGroup::slot_of(int rank) const {
  return reinterpret_cast<char*>(shared_ + 1) + static_cast<size_t>(rank) * slot_bytes;
}

}  // namespace emulated
