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
#include "larmor/base/files/regular_file.h"
#include "larmor/base/printable.h"
#include "larmor/base/text.h"
#include "larmor/formats/file_kinds.h"

namespace larmor {

namespace {

namespace fs = std::filesystem;

constexpr const char* unpack = "unpack it, and name the images in it";
constexpr const char* save_array = "save its array as .npy, or as NIfTI where its voxels have a place";
constexpr const char* is_page = "is a web page: what a server answers in place of a file";
constexpr const char* fetch_page = "fetch the file again: its address may want a login";
constexpr const char* show_config = "larmor config show WORKLOAD -c FILE shows what it says";

/// Begins with the bytes, from the first on or a later one, or is called so.
struct Known {
  std::string_view beginning, suffix;
  const char *what, *remedy;
  std::size_t offset = 0;
};

constexpr const char* is_no_nrrd =
    "is called like an NRRD image, but does not begin with NRRD0001 to NRRD0005";
constexpr const char* is_no_metaimage =
    "is called like a MetaImage, but does not begin with a line ObjectType = or NDims =";
constexpr const char* fetch_again = "fetch the file again, or write it anew with the program that made it";
constexpr const char* save_png = "save it as PNG, for instance with ImageMagick: magick IN OUT.png";
constexpr const char* is_tiff = "is a TIFF picture, which larmor does not read";
constexpr const char* is_pickle = "is a pickle of Python, which could run code, or weights of PyTorch";
constexpr const char* save_csv = "save it as CSV; training reads that with data.kind=list data.list=FILE";
constexpr const char* is_pointer = "is a pointer of git-annex, not the file itself";
constexpr const char* get_annexed = "git annex get FILE, or datalad get FILE, fetches it";

constexpr std::array known_files{
    Known{"", ".nrrd", is_no_nrrd, fetch_again},
    Known{"", ".nhdr", is_no_nrrd, fetch_again},
    Known{"", ".mha", is_no_metaimage, fetch_again},
    Known{"", ".mhd", is_no_metaimage, fetch_again},
    Known{"", ".mgz", "is a FreeSurfer image, which larmor does not read",
          "mri_convert IN.mgz OUT.nii.gz makes a NIfTI file of it"},
    Known{"", ".mgh", "is a FreeSurfer image, which larmor does not read",
          "mri_convert IN.mgh OUT.nii.gz makes a NIfTI file of it"},
    Known{"CDF\x01", ".mnc", "is a MINC image, which larmor does not read",
          "mnc2nii IN.mnc OUT.nii converts it"},
    Known{std::string_view("II*\0", 4), ".tif", is_tiff, save_png},
    Known{std::string_view("MM\0*", 4), ".tiff", is_tiff, save_png},
    Known{"WEBP", ".webp", "is a WebP picture, which larmor does not read", save_png, 8},
    Known{"BM", ".bmp", "is a BMP picture, which larmor does not read", save_png},
    Known{"GIF8", ".gif", "is a GIF picture, which larmor does not read", save_png},
    Known{"ftyphei", ".heic", "is a HEIC picture, which larmor does not read", save_png, 4},
    Known{"ftypavif", ".avif", "is an AVIF picture, which larmor does not read", save_png, 4},
    Known{std::string_view("\0\0\0\x0cjP  ", 8), ".jp2",
          "is a JPEG 2000 picture outside of DICOM, which larmor does not read", save_png},
    Known{"\xff\x4f\xff\x51", ".j2k", "is a JPEG 2000 stream outside of DICOM, which larmor does not read",
          save_png},
    Known{"\x89HDF", ".h5", "is an HDF5 file, which larmor does not read", save_array},
    Known{"MATLAB", ".mat", "is a MATLAB file, which larmor does not read", save_array},
    Known{"\x80\x02", ".pkl", is_pickle, save_array},
    Known{"\x80\x03", ".pickle", is_pickle, save_array},
    Known{"\x80\x04", ".pt", is_pickle, save_array},
    Known{"\x80\x05", ".pth", is_pickle, save_array},
    Known{"PAR1", ".parquet", "is a Parquet table", save_csv},
    Known{"\xd0\xcf\x11\xe0", ".xls", "is a workbook of Excel", save_csv},
    Known{"", ".xlsx", "is a workbook of Excel", save_csv},
    Known{"%PDF", ".pdf", "is a PDF document", "name the image files"},
    Known{"<!DOCTYPE", ".html", is_page, fetch_page},
    Known{"<!doctype", ".htm", is_page, fetch_page},
    Known{"<html", "", is_page, fetch_page},
    Known{"<HTML", "", is_page, fetch_page},
    Known{"<?xml", ".xml", "is XML, which is no image", "name the image files"},
    Known{"version https://git-lfs", "", "is a pointer of Git LFS, not the file itself",
          "git lfs pull fetches it"},
    Known{"/annex/objects/", "", is_pointer, get_annexed},
    Known{"../.git/annex/", "", is_pointer, get_annexed},
    Known{".git/annex/", "", is_pointer, get_annexed},
    Known{"ustar", ".tar", "is an archive", unpack, 257},
    Known{"", ".tar.gz", "is an archive", unpack},
    Known{"", ".tgz", "is an archive", unpack},
    Known{"7z\xbc\xaf", ".7z", "is an archive", unpack},
    Known{"Rar!", ".rar", "is an archive", unpack},
    Known{"BZh", ".bz2", "is packed with bzip2, which larmor does not read", "bunzip2 FILE unpacks it"},
    Known{std::string_view("\xfd\x37zXZ\0", 6), ".xz", "is packed with xz, which larmor does not read",
          "unxz FILE unpacks it"},
    Known{"\x28\xb5\x2f\xfd", ".zst", "is packed with zstd, which larmor does not read",
          "unzstd FILE unpacks it"},
    Known{"", ".csv", "is a table",
          "training reads one with data.kind=list data.list=FILE, predict with --table FILE"},
    Known{"", ".tsv", "is a table with tabs", "training reads one with data.kind=list data.list=FILE"},
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
    if (start.find("xl/") != std::string_view::npos) return MistakenFile{"is a workbook of Excel", save_csv};
    if (start.find(".npy") == std::string_view::npos) return MistakenFile{"is a zip archive", unpack};
  }
  // What it is called counts where its bytes say nothing.
  for (const auto& known : known_files) {
    if (!known.beginning.empty() && start.size() > known.offset &&
        start.substr(known.offset).starts_with(known.beginning))
      return MistakenFile{known.what, known.remedy};
  }
  for (const auto& known : known_files) {
    if (!known.suffix.empty() && name.ends_with(known.suffix)) return MistakenFile{known.what, known.remedy};
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
