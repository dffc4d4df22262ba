#include "larmor/run/quarantine.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {

std::vector<BadFile> joined(std::vector<BadFile> files, const std::vector<BadFile>& earlier) {
  for (const auto& file : earlier) {
    if (!holds(files, file.path)) files.push_back(file);
  }
  return files;
}

}  // namespace

// A record that cannot be read is begun anew: no run ends for it.
std::vector<BadFile> recorded_bad_files(const std::filesystem::path& file) {
  try {
    return bad_files_from(read_json(file));
  } catch (const std::exception&) {
    return {};
  }
}

void record_bad_files(Storage& storage, const std::filesystem::path& file, const std::vector<BadFile>& bad) {
  const bool is_there = std::filesystem::exists(file);
  if (is_there && bad.empty()) return;
  const auto earlier = recorded_bad_files(file);
  write_text(storage, file, to_text(to_json(joined(bad, earlier))));
}

Quarantine::Quarantine(std::filesystem::path file, int64_t allowed, Storage& storage,
                       Communicator& communicator, Tracker& tracker, std::vector<BadFile> known)
    : file_(std::move(file)),
      allowed_(allowed),
      storage_(storage),
      communicator_(communicator),
      tracker_(tracker),
      bad_files_(std::move(known)) {
  if (communicator_.is_first()) earlier_ = recorded_bad_files(file_);
}

void Quarantine::share(const std::vector<BadFile>& of_this_rank, const Moment& when) {
  shared_ = of_this_rank.size();
  const auto before = bad_files_.size();
  const auto own = to_json(of_this_rank).dump(-1, ' ', false, Json::error_handler_t::replace);
  for (const auto& bytes : all_gather_bytes(communicator_, own)) {
    for (auto& file : bad_files_from(parse_json(bytes, "a rank's quarantine"))) {
      if (!holds(bad_files_, file.path)) bad_files_.push_back(std::move(file));
    }
  }
  for (size_t i = before; i < bad_files_.size(); ++i) {
    tracker_.event(when, "warning", {},
                   text(bad_files_[i].path, " cannot be used and is passed over (", i + 1, " of at most ",
                        allowed_, "): ", bad_files_[i].reason));
  }
  if (communicator_.is_first() && bad_files_.size() > before) write(when);
  if (static_cast<int64_t>(bad_files_.size()) > allowed_) {
    fail_over_budget(bad_files_, allowed_);
  }
}

void Quarantine::write(const Moment& when) {
  try {
    write_text(storage_, file_, to_text(to_json(joined(bad_files_, earlier_))));
  } catch (const Error& error) {
    if (error.exit() == Exit::rank_lost) throw;
    tracker_.event(when, "warning", {}, error.message());
  }
}

}  // namespace larmor
