// A workload's part of the config as tests need it: a field of every kind, two objectives.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "larmor/base/files/file.h"
#include "larmor/config/load.h"

namespace larmor {

struct MadeUpWorkload {
  std::vector<int64_t> channels = {32, 64};
  std::vector<bool> attention_levels = {false, true};
  std::optional<bool> nonlocal_attention;
  double norm_eps = 1e-6;
  std::optional<uint64_t> memory_limit;
  std::string weights;

  std::string recon_loss = "l1";
  double kl_weight = 1e-7;
  int64_t discriminator_channels = 8;

  /// Borrows this.
  WorkloadFields fields();
};

/// load_config for the made-up workload, which `workload` receives when it is given.
LoadedConfig load(const Sources& sources, MadeUpWorkload* workload = nullptr);
LoadedConfig load_overrides(const std::vector<std::string>& overrides);
/// The message of the Error that loading throws; "" when it throws none. Expects exit status usage.
std::string refusal_of(const Sources& sources);
std::string refusal_of_overrides(const std::vector<std::string>& overrides);

/// A config file in a scratch folder.
class ConfigFile {
 public:
  explicit ConfigFile(const std::string& content, const std::string& name = "default.yaml");
  std::filesystem::path path() const { return folder_.path() / name_; }
  Sources sources() const { return {.files = {path()}, .environment = {}, .overrides = {}}; }

 private:
  ScratchFolder folder_;
  std::string name_;
};

const Origin& origin_of(const LoadedConfig& loaded, const std::string& key);

}  // namespace larmor
