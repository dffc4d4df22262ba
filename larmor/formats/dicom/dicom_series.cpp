#include "larmor/formats/dicom/dicom_series.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <system_error>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/formats/dicom/dicom_header.h"

namespace larmor {

namespace {

namespace fs = std::filesystem;

/// Slices of a series need a place in it; pictures, mosaics and files of many frames are volumes of their
/// own.
bool stands_alone(const DicomHeader& header) {
  return header.frames != 1 || !header.plane.position || header.is_mosaic || header.is_radiograph();
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (!name.starts_with('.') && entries->is_regular_file(error)) names.insert(name);
  }
  if (error) fail(Exit::data, text("cannot be listed: ", error.message()), "check its permissions");
  return {names.begin(), names.end()};
}

}  // namespace

std::vector<DicomSeries> find_dicom_series(const fs::path& folder, const std::vector<std::string>& names) {
  std::vector<DicomSeries> found;
  std::map<std::string, std::size_t> known;
  for (const std::string& name : names) {
    const auto header = naming(name, [&] { return read_dicom_header(folder / name); });
    if (!header || header->pixels.tag == 0) continue;
    if (stands_alone(*header)) {
      found.push_back({header->series, {name}, class_of(*header)});
      continue;
    }
    const auto [place, is_new] = known.emplace(header->series, found.size());
    if (is_new) found.push_back({header->series, {}, class_of(*header)});
    found[place->second].files.push_back(name);
  }
  return found;
}

fs::path path_of(const fs::path& folder, const DicomSeries& series, bool alone) {
  if (series.files.size() == 1) return folder / series.files.front();
  return alone ? folder : fs::path(folder.string() + "#" + series.uid);
}

bool names_dicom_series(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error) || place_of(path) != path;
}

fs::path place_of(const fs::path& path) {
  std::error_code error;
  const std::string name = path.string();
  const std::size_t sign = name.rfind('#');
  if (sign == std::string::npos || fs::exists(path, error)) return path;
  if (name.find_first_not_of("0123456789.", sign + 1) != std::string::npos) return path;
  const fs::path folder = name.substr(0, sign);
  return fs::is_directory(folder, error) ? folder : path;
}

DicomSlices choose_dicom_series(const fs::path& path) {
  DicomSlices chosen{place_of(path), {}};
  const auto all = find_dicom_series(chosen.folder, names_in(chosen.folder));
  const std::string text_of_path = path.string();
  const bool named = chosen.folder != path;
  const std::string uid = named ? text_of_path.substr(chosen.folder.string().size() + 1) : "";
  std::vector<std::string> offered;
  for (const DicomSeries& series : all) {
    if ((named && series.uid == uid && series.files.size() > 1) || (!named && all.size() == 1))
      chosen.files = series.files;
    const std::string kind = series.kind == DicomClass::image ? "" : ", " + to_text(series.kind);
    offered.push_back(text(path_of(chosen.folder, series, false).string(), " (", series.files.size(),
                           series.files.size() == 1 ? " file" : " slices", kind, ')'));
  }
  if (!chosen.files.empty()) return chosen;
  if (all.empty()) fail(Exit::data, "holds no DICOM images", "name a folder with the slices of a series");
  constexpr std::size_t most = 20;
  const std::size_t hidden = offered.size() - std::min(offered.size(), most);
  offered.resize(offered.size() - hidden);
  if (hidden > 0) offered.push_back(text("and ", hidden, " more"));
  fail(Exit::data,
       text(named ? "there is no such series; the folder holds " : "holds several DICOM series: ",
            join(offered, ", ")),
       "name one of them");
}

}  // namespace larmor
