#include "larmor/checkpoint/manifest.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/temporary_name.h"
#include "larmor/base/hash.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {
constexpr const char* seal_key = "self";
constexpr std::string_view step_prefix = "step-";
constexpr uint64_t largest_manifest = uint64_t{16} << 20;
constexpr int64_t most_ranks = 1 << 20;
constexpr size_t longest_name = 255;

[[noreturn]] void refuse(const std::string& why) {
  fail(Exit::checkpoint, "its manifest " + why, "larmor checkpoint verify lists every damaged checkpoint");
}

const Json& value_of(const Json& manifest, const char* key) {
  const auto found = manifest.find(key);
  if (found == manifest.end()) refuse(text("has no ", key));
  return *found;
}

int64_t whole_number(const Json& manifest, const char* key, int64_t least, int64_t most) {
  const auto& value = value_of(manifest, key);
  // A number above the largest int64 is unsigned only, and would turn negative.
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() || value.get<uint64_t>() <= static_cast<uint64_t>(most));
  if (!fits || value.get<int64_t>() < least || value.get<int64_t>() > most)
    refuse(text("has a ", key, value.is_number() ? " of " + value.dump() : "",
                " that is no whole number from ", least, " to ", most));
  return value.get<int64_t>();
}

void check_texts(const Json& manifest) {
  for (const char* key : {"config_sha256", "index_sha256", "build"}) {
    if (!value_of(manifest, key).is_string()) refuse(text("has a ", key, " that is no text"));
  }
  if (!value_of(manifest, "bitwise").is_boolean()) refuse("has a bitwise that is neither true nor false");
}

void check_numbers(const Json& manifest) {
  constexpr int64_t many = int64_t{1} << 60;
  whole_number(manifest, "examples", 0, many);
  whole_number(manifest, "world_size", 1, most_ranks);
  whole_number(manifest, "generation", 0, many);
  const auto& epoch = value_of(manifest, "epoch");
  if (!epoch.is_number() || !(epoch.get<double>() >= 0) || !std::isfinite(epoch.get<double>()))
    refuse("has an epoch that is no number from 0");
  const auto& metric = value_of(manifest, "metric");
  if (!metric.is_null() && !(metric.is_number() && std::isfinite(metric.get<double>())))
    refuse("has a metric that is neither a number nor null");
}

// A file of the folder itself, and of a kind that the program writes.
bool is_plain(const std::string& name) {
  constexpr std::string_view marks = "._-";
  const auto is_plain_letter = [&](char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
           (letter >= 'A' && letter <= 'Z') || marks.find(letter) != std::string_view::npos;
  };
  return !name.empty() && name.size() <= longest_name && name.front() != '.' && name != manifest_name &&
         std::all_of(name.begin(), name.end(), is_plain_letter);
}

bool is_sha256(const Json& value) {
  if (!value.is_string()) return false;
  const auto& digits = value.get_ref<const std::string&>();
  return digits.size() == 64 && digits.find_first_not_of("0123456789abcdef") == std::string::npos;
}

void check_list(const Json& files) {
  if (!files.is_array() || files.empty()) refuse("lists no files");
  std::set<std::string> names;
  for (size_t i = 0; i < files.size(); ++i) {
    const auto& file = files[i];
    const bool is_complete =
        file.is_object() && file.contains("name") && file.contains("bytes") && file.contains("sha256");
    if (!is_complete || !file["name"].is_string() || !file["bytes"].is_number_unsigned() ||
        !is_sha256(file["sha256"])) {
      refuse(text("lists as file ", i + 1, " what has no name, no size or no SHA-256"));
    }
    const auto name = file["name"].get<std::string>();
    if (!is_plain(name)) refuse(text("lists as file ", i + 1, " what is no plain name of a file beside it"));
    if (!names.insert(name).second) refuse(text("lists ", name, " twice"));
  }
  for (const char* name : {state_name, model_name}) {
    if (!names.contains(name)) refuse(text("does not list ", name));
  }
}

}  // namespace

Json to_json(const std::vector<ListedFile>& files) {
  Json list = Json::array();
  for (const auto& file : files) {
    Json entry;
    entry["name"] = file.name;
    entry["bytes"] = file.bytes;
    entry["sha256"] = file.sha256;
    list.push_back(entry);
  }
  return list;
}

std::vector<ListedFile> files_of(const Json& manifest) {
  std::vector<ListedFile> files;
  for (const auto& entry : manifest.at("files")) {
    files.push_back({entry.at("name").get<std::string>(), entry.at("bytes").get<uint64_t>(),
                     entry.at("sha256").get<std::string>()});
  }
  return files;
}

std::string seal(Json manifest) {
  manifest[seal_key] = "";
  manifest[seal_key] = sha256(to_text(manifest));
  return to_text(manifest);
}

Json open_manifest(const std::filesystem::path& folder) {
  const auto path = folder / manifest_name;
  const auto damaged = [&](const std::string& why) {
    fail(Exit::checkpoint, text(path.string(), " ", why),
         "larmor checkpoint verify lists every damaged checkpoint");
  };
  std::string written;
  Json manifest;
  std::error_code unknown;
  const auto status = std::filesystem::symlink_status(path, unknown);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    damaged("is a link or no file");
  try {
    written = read_text(path, largest_manifest);
    manifest = parse_json(written, path.string());
  } catch (const Error& error) {
    damaged("cannot be read: " + error.message());
  }
  if (!manifest.is_object() || !manifest.contains("format")) damaged("is not a manifest");
  if (manifest["format"] != checkpoint_format && manifest["format"] != oldest_checkpoint_format) {
    damaged(text("has format ", manifest["format"].dump(), "; this program reads formats ",
                 oldest_checkpoint_format, " and ", checkpoint_format));
  }
  // Sealing again must give the very bytes: a flip anywhere, even in white space, shows.
  if (seal(manifest) != written) damaged("does not match its own hash");
  return manifest;
}

void check_manifest(const Json& manifest, const std::string& folder) {
  constexpr int64_t last_step = int64_t{1} << 60;
  const auto step = whole_number(manifest, "step", 0, last_step);
  if (const auto name = folder_name(step); folder != name)
    refuse(text("is of step ", step, ", whose folder is called ", name));
  check_numbers(manifest);
  check_texts(manifest);
  check_list(value_of(manifest, "files"));
}

std::optional<int64_t> step_of_name(const std::string& name) {
  if (!name.starts_with(step_prefix)) return std::nullopt;
  const auto digits = std::string_view(name).substr(step_prefix.size());
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  int64_t step = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  return read.ec == std::errc() ? step : -1;
}

std::string folder_name(int64_t step) {
  const auto digits = std::to_string(step);
  constexpr size_t width = 8;
  return std::string(step_prefix) + std::string(digits.size() < width ? width - digits.size() : 0, '0') +
         digits;
}

bool is_checkpoint_file(const std::filesystem::path& within) {
  const auto name = within.string();
  return name == manifest_name || name == state_name || name == pin_name ||
         within.extension() == ".safetensors" || is_temporary_name(name);
}

}  // namespace larmor
