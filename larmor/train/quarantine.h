// The files that failed while training went on without them: told of once, counted against data.bad_files by
// all ranks together, and kept in quarantine.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "larmor/base/storage.h"
#include "larmor/comm/communicator.h"
#include "larmor/data/bad_file.h"
#include "larmor/track/tracker.h"

namespace larmor {

/// One thread.
class Quarantine {
 public:
  /// Keeps what `file` holds from earlier starts of the run; those do not count against `allowed`, because
  /// they may have been repaired. Borrows all but the path.
  Quarantine(std::filesystem::path file, int64_t allowed, Storage& storage, Communicator& communicator,
             Tracker& tracker);

  /// Whether this rank has met files since it last shared them.
  bool lacks_some(const std::vector<BadFile>& of_this_rank) const { return of_this_rank.size() > shared_; }
  /// Brings together what the ranks have met: a warning for each file that is new, and the file written anew.
  /// A file that cannot be written is a warning, too. Throws Error (data) on all ranks once more than
  /// `allowed` have been met. Collective. Blocks.
  void share(const std::vector<BadFile>& of_this_rank, const Moment& when);

 private:
  void write(const Moment& when);

  std::filesystem::path file_;
  int64_t allowed_;
  Storage& storage_;
  Communicator& communicator_;
  Tracker& tracker_;
  std::vector<BadFile> earlier_;  // rank 0
  std::vector<BadFile> met_;      // since this start, by any rank
  size_t shared_ = 0;             // of this rank's
};

}  // namespace larmor
