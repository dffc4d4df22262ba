// The files that failed while training went on without them: told of once, counted against data.bad_files by
// all ranks together, and kept in quarantine.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "larmor/base/files/storage.h"
#include "larmor/comm/communicator.h"
#include "larmor/data/bad_file.h"
#include "larmor/track/tracker.h"

namespace larmor {

/// What `file` is to hold of bad files that were found before any rank has started: these, and those of
/// earlier starts. Written only where there is something new in it.
void record_bad_files(Storage& storage, const std::filesystem::path& file, const std::vector<BadFile>& bad);
/// What it holds; nothing where it is not there or cannot be read.
std::vector<BadFile> recorded_bad_files(const std::filesystem::path& file);

/// One thread.
class Quarantine {
 public:
  /// Keeps what `file` holds from earlier starts of the run; those do not count against `allowed`, because
  /// they may have been repaired. `known` are those that this start knows of already: they count, and nothing
  /// is said of them again. Borrows the rest but the path.
  Quarantine(std::filesystem::path file, int64_t allowed, Storage& storage, Communicator& communicator,
             Tracker& tracker, std::vector<BadFile> known = {});

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
  std::vector<BadFile> earlier_;    // rank 0
  std::vector<BadFile> bad_files_;  // since this start, by any rank
  size_t shared_ = 0;               // of this rank's
};

}  // namespace larmor
