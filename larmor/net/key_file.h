// Where the agents of a start find their key before they meet: a file that only their user can read.
#pragma once

#include <filesystem>
#include <string>

#include "larmor/net/run_key.h"

namespace larmor {

class KeyFile {
 public:
  /// The one that somebody else has made and named (LARMOR_RUN_KEY_FILE): a job file, or a mounted secret.
  static KeyFile named(std::filesystem::path file);
  /// `run.folder`/.rendezvous/HASH, of the master's address and port as all agents were told them. With a
  /// loopback address HASH is of this host's network as well: another host that shares the folder has its
  /// own.
  static KeyFile of_rendezvous(const std::filesystem::path& run_folder, const std::string& address, int port);

  const std::filesystem::path& path() const { return path_; }
  /// The leader's: a new key in the place of an older one; a named file is only read. Throws Error
  /// (environment) when the folder is not ours alone to write in, or what read() throws.
  RunKey renew() const;
  /// Throws Error (environment) when there is none, or others than its owner may read it, or it is no key.
  RunKey read() const;
  /// Once all have met. A named file, and one that holds another key, stay.
  void remove(const RunKey& key) const;

 private:
  KeyFile(std::filesystem::path path, bool is_ours) : path_(std::move(path)), is_ours_(is_ours) {}

  std::filesystem::path path_;
  bool is_ours_;
};

}  // namespace larmor
