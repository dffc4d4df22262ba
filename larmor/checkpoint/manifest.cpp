#include "larmor/checkpoint/manifest.h"

#include "larmor/base/error.h"
#include "larmor/base/file.h"
#include "larmor/base/hash.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {
constexpr const char* seal_key = "self";
constexpr uint64_t largest_manifest = uint64_t{16} << 20;
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
  try {
    written = read_text(path, largest_manifest);
    manifest = parse_json(written, path.string());
  } catch (const Error& error) {
    damaged("cannot be read: " + error.message());
  }
  if (!manifest.is_object() || !manifest.contains("format")) damaged("is not a manifest");
  if (manifest["format"] != checkpoint_format) {
    damaged(
        text("has format ", manifest["format"].dump(), "; this program reads format ", checkpoint_format));
  }
  // Sealing again must give the very bytes: a flip anywhere, even in white space, shows.
  if (seal(manifest) != written) damaged("does not match its own hash");
  return manifest;
}

std::string folder_name(int64_t step) {
  const auto digits = std::to_string(step);
  constexpr size_t width = 8;
  return "step-" + std::string(digits.size() < width ? width - digits.size() : 0, '0') + digits;
}

}  // namespace larmor
