#include "larmor/formats/mistaken_file.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <system_error>

#include "larmor/base/error.h"
#include "larmor/base/printable.h"
#include "larmor/base/regular_file.h"
#include "larmor/base/text.h"
#include "larmor/formats/file_kinds.h"

namespace larmor {

namespace {

namespace fs = std::filesystem;

constexpr const char* convert =
    "convert it to NIfTI: with SimpleITK WriteImage(ReadImage(IN), \"OUT.nii.gz\"), or with the program that "
    "wrote it";
constexpr const char* unpack = "unpack it, and name the images in it";
constexpr const char* save_array = "save its array as .npy, or as NIfTI where its voxels have a place";
constexpr const char* is_page = "is a web page: what a server answers in place of a file";
constexpr const char* fetch_page = "fetch the file again: its address may want a login";
constexpr const char* show_config = "larmor config show WORKLOAD -c FILE shows what it says";

/// Begins with the bytes, or is called so where there are none.
struct Known {
  std::string_view beginning, suffix;
  const char *what, *remedy;
};

constexpr std::array known_files{
    Known{"NRRD", ".nrrd", "is an NRRD image, which larmor does not read", convert},
    Known{"ObjectType", ".mhd", "is a MetaImage, which larmor does not read", convert},
    Known{"", ".mha", "is a MetaImage, which larmor does not read", convert},
    Known{"", ".mgz", "is a FreeSurfer image, which larmor does not read",
          "mri_convert IN.mgz OUT.nii.gz makes a NIfTI file of it"},
    Known{"\x89HDF", ".h5", "is an HDF5 file, which larmor does not read", save_array},
    Known{"MATLAB", ".mat", "is a MATLAB file, which larmor does not read", save_array},
    Known{"%PDF", ".pdf", "is a PDF document", "name the image files"},
    Known{"<!DOCTYPE", ".html", is_page, fetch_page},
    Known{"<html", ".htm", is_page, fetch_page},
    Known{"version https://git-lfs", "", "is a pointer of Git LFS, not the file itself",
          "git lfs pull fetches it"},
    Known{"", ".tar.gz", "is an archive", unpack},
    Known{"", ".tgz", "is an archive", unpack},
    Known{"", ".tar", "is an archive", unpack},
    Known{"7z\xbc\xaf", ".7z", "is an archive", unpack},
    Known{"Rar!", ".rar", "is an archive", unpack},
    Known{"", ".csv", "is a table",
          "training reads one with data.kind=list data.list=FILE, predict with --table FILE"},
    Known{"", ".tsv", "is a table with tabs, which larmor does not read", "save it with commas, as CSV"},
    Known{"", ".yaml", "is a configuration", show_config},
    Known{"", ".yml", "is a configuration", show_config},
    Known{"", ".json", "is JSON, which is no image",
          "a config goes behind -c, a machine behind plan --hardware, a list of cases behind data.list="}};

bool is_safetensors(const fs::path& path, std::string_view start, uint64_t size) {
  if (path.extension() == ".safetensors") return true;
  uint64_t length = 0;
  if (start.size() <= sizeof length) return false;
  std::memcpy(&length, start.data(), sizeof length);
  return length < size && start[sizeof length] == '{';
}

bool is_text(std::string_view start) {
  return std::ranges::none_of(start, [](unsigned char letter) {
    return letter < ' ' && letter != '\n' && letter != '\r' && letter != '\t';
  });
}

std::optional<MistakenFile> by_content(const fs::path& path, std::string_view start, uint64_t size) {
  if (size == 0)
    return MistakenFile{"is empty: it has no bytes",
                        "fetch the file again; a copy of it was cut off at once"};
  const std::string name = lower(path.filename().string());
  if (is_safetensors(path, start, size))
    return MistakenFile{"is a safetensors file: weights, not an image",
                        "larmor predict WORKLOAD --weights FILE computes with them"};
  if (start.starts_with("PK\x03\x04") && !name.ends_with(".npz")) {
    if (start.find(".pkl") != std::string_view::npos || start.find("/version") != std::string_view::npos)
      return MistakenFile{"is a file of PyTorch: weights, not an image",
                          "tools/weights_to_safetensors.py makes a file of it that --weights takes"};
    if (start.find(".npy") == std::string_view::npos) return MistakenFile{"is a zip archive", unpack};
  }
  for (const auto& known : known_files) {
    const bool begins_so = !known.beginning.empty() && start.starts_with(known.beginning);
    const bool is_called_so = !known.suffix.empty() && name.ends_with(known.suffix);
    if (begins_so || is_called_so) return MistakenFile{known.what, known.remedy};
  }
  if (is_text(start))
    return MistakenFile{
        text("is text, not an image: \"", printable(trim(start.substr(0, start.find('\n')))), '"'),
        text("name an image: ", known_suffixes())};
  return std::nullopt;
}

std::optional<MistakenFile> folder_of_larmor(const fs::path& folder) {
  std::error_code absent;
  if (fs::exists(folder / "config.yaml", absent) && fs::exists(folder / "plan.json", absent))
    return MistakenFile{"is the folder of a run, not one of images",
                        text("larmor checkpoint list ", folder.string(),
                             " shows its checkpoints, larmor evaluate ", folder.string(), " judges it")};
  if (fs::exists(folder / "manifest.json", absent) && fs::exists(folder / "model.safetensors", absent))
    return MistakenFile{"is a checkpoint, not a folder of images",
                        "larmor checkpoint verify RUN reads every byte of those of a run"};
  return std::nullopt;
}

}  // namespace

std::optional<MistakenFile> mistaken_file(const fs::path& path) {
  std::error_code absent;
  if (fs::is_directory(path, absent)) return folder_of_larmor(path);
  try {
    const RegularFile file = open_regular(path);
    std::array<std::byte, 4096> bytes{};
    const auto count = file.read_at(0, bytes);
    const std::string start(reinterpret_cast<const char*>(bytes.data()), count);
    const auto begins = std::span(bytes).first(count);
    const bool is_image = std::ranges::any_of(
        file_kinds(), [&](const FileKind& kind) { return count > 0 && kind.looks_like(begins); });
    if (is_image && !start.starts_with("PK")) return std::nullopt;
    return by_content(path, start, file.size());
  } catch (const Error&) {  // what cannot be opened is said by who reads it
    return std::nullopt;
  }
}

}  // namespace larmor
