// Which checkpoints a folder holds, and which of them are whole.
#include <algorithm>
#include <exception>
#include <system_error>

#include "larmor/base/error.h"
#include "larmor/base/hash.h"
#include "larmor/base/text.h"
#include "larmor/checkpoint/checkpoint.h"
#include "larmor/checkpoint/manifest.h"
#include "larmor/checkpoint/whole_checkpoints.h"
#include "larmor/device/heartbeat.h"

namespace larmor {

namespace fs = std::filesystem;

namespace {

// A file of tensors that no manifest vouches for: left by a mix-up, or put there.
bool has_unlisted_tensors(const CheckpointEntry& entry) {
  const auto listed = checkpoint_files(entry);
  for (const auto& item : fs::directory_iterator(entry.folder)) {
    if (item.path().extension() == ".safetensors" && !listed.contains(item.path().filename().string()))
      return true;
  }
  return false;
}

std::string fault_of(const fs::path& folder, const ListedFile& file) {
  const auto path = folder / file.name;
  std::error_code none;
  const auto status = fs::symlink_status(path, none);
  if (!fs::exists(status)) return file.name + " is missing";
  if (!fs::is_regular_file(status)) return file.name + " is a link or no file";
  if (const auto bytes = fs::file_size(path); bytes != file.bytes)
    return text(file.name, " has ", bytes, " bytes and should have ", file.bytes);
  return sha256_of_file(path) == file.sha256 ? "" : file.name + " does not match its SHA-256";
}

// Of a state whose bytes are those listed: that a resume can read it, and that it is of this step.
std::string fault_of_state(const CheckpointEntry& entry) {
  const auto state = read_checkpoint_state(entry);
  if (!state.is_object()) return text(state_name, " is no object");
  const auto trainer = state.find("trainer");
  if (trainer == state.end()) return "";
  return trainer->value("step", entry.step) == entry.step ? "" : text(state_name, " is of another step");
}

}  // namespace

CheckpointEntry read_entry(const fs::path& folder) {
  CheckpointEntry entry;
  entry.folder = folder;
  const auto name = folder.filename().string();
  // What a damaged one is called by.
  entry.step = step_of_name(name).value_or(-1);
  try {
    std::error_code none;
    if (!fs::is_directory(folder, none)) fail(Exit::checkpoint, "there is no such folder");
    entry.pinned = fs::exists(folder / pin_name, none);
    auto manifest = open_manifest(folder);
    check_manifest(manifest, name);
    entry.manifest = std::move(manifest);
    entry.epoch = entry.manifest.at("epoch").get<double>();
    entry.examples = entry.manifest.at("examples").get<int64_t>();
    entry.world_size = entry.manifest.at("world_size").get<int64_t>();
    if (const auto& metric = entry.manifest.at("metric"); metric.is_number())
      entry.metric = metric.get<double>();
    for (const auto& file : files_of(entry.manifest)) entry.bytes += file.bytes;
  } catch (const Error& error) {
    entry.ok = false;
    entry.reason = error.message();
  } catch (const std::exception& error) {
    entry.ok = false;
    entry.reason = text("its manifest cannot be read: ", error.what());
  }
  return entry;
}

void check_files(CheckpointEntry& entry) {
  try {
    entry.look = look_of(entry.folder, entry.manifest);
    if (has_unlisted_tensors(entry))
      entry.reason = "a .safetensors file lies in it that its manifest does not list";
    for (const auto& file : files_of(entry.manifest)) {
      if (entry.reason.empty()) entry.reason = fault_of(entry.folder, file);
      send_heartbeat();
    }
    if (entry.reason.empty()) entry.reason = fault_of_state(entry);
  } catch (const Error& error) {
    entry.reason = error.message();
  } catch (const std::exception& error) {
    entry.reason = text("it cannot be read: ", error.what());
  }
  entry.ok = entry.reason.empty();
}

CheckpointEntry open_checkpoint(const fs::path& folder) {
  std::error_code none;
  const bool by_own_name = step_of_name(folder.filename().string()) && !fs::is_symlink(folder, none);
  const auto real = by_own_name ? folder : fs::canonical(folder, none);
  return read_entry(none ? folder : real);
}

CheckpointEntry verify_checkpoint(const fs::path& folder) {
  auto entry = open_checkpoint(folder);
  if (entry.ok) check_files(entry);
  return entry;
}

std::vector<CheckpointEntry> list_checkpoints(const fs::path& folder, bool verify) {
  std::vector<CheckpointEntry> entries;
  try {
    if (!fs::exists(folder)) return {};
    for (const auto& item : fs::directory_iterator(folder)) {
      if (item.is_symlink() || !item.is_directory() || !step_of_name(item.path().filename().string()))
        continue;
      entries.push_back(verify ? verify_checkpoint(item.path()) : read_entry(item.path()));
    }
  } catch (const fs::filesystem_error& error) {
    // Taken for an empty folder, it would have the run start anew.
    fail(Exit::environment, text("cannot look into ", folder.string(), ": ", error.code().message()),
         "see that the folder's file system is there and can be read");
  }
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.step > b.step; });
  return entries;
}

std::optional<CheckpointEntry> newest_good(const fs::path& folder,
                                           std::vector<CheckpointEntry>* passed_over) {
  const auto entries = list_checkpoints(folder, /*verify=*/false);
  for (const auto& listed : entries) {
    auto entry = verify_checkpoint(listed.folder);
    if (entry.ok) return entry;
    if (passed_over != nullptr) passed_over->push_back(std::move(entry));
  }
  if (entries.empty()) return std::nullopt;
  fail(Exit::checkpoint,
       text("none of the ", entries.size(), " checkpoints in ", folder.string(), " is whole"),
       "larmor checkpoint verify says what is wrong with each; start anew with --resume never");
}

NamedTensors read_checkpoint_file(const CheckpointEntry& entry, const std::string& file) {
  std::string sha256;
  auto tensors = read_tensors(entry.folder / file, nullptr, &sha256);
  for (const auto& listed : files_of(entry.manifest)) {
    if (listed.name == file && listed.sha256 != sha256)
      fail(Exit::checkpoint,
           text((entry.folder / file).string(),
                " holds other bytes than the manifest of its checkpoint lists"),
           "larmor checkpoint verify says what is wrong with it; --resume takes an older checkpoint");
  }
  return tensors;
}

bool has_checkpoint_file(const CheckpointEntry& entry, const std::string& file) {
  return checkpoint_files(entry).contains(file);
}

std::set<std::string> checkpoint_files(const CheckpointEntry& entry) {
  std::set<std::string> names;
  for (auto& file : files_of(entry.manifest)) names.insert(std::move(file.name));
  return names;
}

Json read_checkpoint_state(const CheckpointEntry& entry) { return read_json(entry.folder / state_name); }

}  // namespace larmor
