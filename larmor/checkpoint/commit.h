// One commit of one snapshot: the protocol, without threads. Order is everything; see commit.cpp.
#pragma once

#include <filesystem>
#include <string>

#include "larmor/checkpoint/checkpoint.h"
#include "larmor/checkpoint/whole_checkpoints.h"

namespace larmor {

/// Where and under what heading a snapshot is committed.
struct CommitPlace {
  std::filesystem::path folder;  // checkpoints/
  Storage& storage;
  Communicator& group;
  const CheckpointOptions& options;
  WholeCheckpoints& whole;  // rank 0's
};

/// Collective. Blocks. Whatever goes wrong on some rank ends in an outcome that is not committed, the same on
/// all ranks; only the loss of a peer throws, and a fence (base/files/fenced_storage.h): Error (rank_lost) on
/// all ranks.
SaveOutcome commit(const Snapshot& snapshot, const CommitPlace& place);

}  // namespace larmor
