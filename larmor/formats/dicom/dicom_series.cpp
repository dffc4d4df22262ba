#include "larmor/formats/dicom/dicom_series.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/hash.h"
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

DicomSeries series_of(const DicomHeader& header, const std::string& file) {
  return {.uid = header.series,
          .files = {file},
          .kind = class_of(header),
          .part = {},
          .modality = header.modality,
          .number = header.series_number,
          .echo = header.echo,
          .description = header.description,
          .slices = header.frames,
          .is_placed = header.plane.position && !header.is_radiograph() && !header.is_mosaic,
          .copies = {}};
}

using Position = std::optional<std::array<double, 3>>;

/// What tells a file of a series from the others.
struct SeriesFile {
  std::string name, instance, echo;
  Position position;
  uint64_t bytes = 0;
};

/// Files that make one volume, or that may be copies of one that is a volume by itself.
struct SeriesGroup {
  DicomSeries series;
  bool alone = false;
  std::vector<SeriesFile> files = {};
};

/// Archives hand out a file twice. What is told by its number and its place is so by its bytes.
void drop_copies(const fs::path& folder, SeriesGroup& group) {
  using Mark = std::tuple<std::string, Position, uint64_t>;
  std::map<Mark, std::vector<std::pair<std::string, std::string>>> seen;  // name, and hash once it is wanted
  const auto hash = [&](const std::string& name) {
    return naming(name, [&] { return sha256_of_file(folder / name); });
  };
  std::vector<SeriesFile> kept;
  for (SeriesFile& file : group.files) {
    auto& alike = seen[{file.instance, file.position, file.bytes}];
    const std::string own = alike.empty() ? "" : hash(file.name);
    const bool is_copy = std::ranges::any_of(alike, [&](auto& other) {
      if (other.second.empty()) other.second = hash(other.first);
      return other.second == own;
    });
    if (is_copy) {
      group.series.copies.push_back(file.name);
      continue;
    }
    alike.emplace_back(file.name, own);
    kept.push_back(std::move(file));
  }
  group.files = std::move(kept);
}

/// Whether two slices lie at one place, and echoes tell them apart.
bool has_echoes(const SeriesGroup& group) {
  std::set<Position> places;
  std::set<std::string> echoes;
  for (const SeriesFile& file : group.files) {
    places.insert(file.position);
    echoes.insert(file.echo);
  }
  return echoes.size() > 1 && places.size() < group.files.size();
}

/// The volumes of a group: one, or one of each echo.
std::vector<DicomSeries> volumes_of(const SeriesGroup& group) {
  std::map<std::string, DicomSeries> volumes;
  const bool by_echo = !group.alone && has_echoes(group);
  for (const SeriesFile& file : group.files) {
    const auto [place, is_new] = volumes.emplace(group.alone ? file.name
                                                 : by_echo   ? file.echo
                                                             : "",
                                                 group.series);
    DicomSeries& one = place->second;
    if (is_new) one.files.clear();
    if (is_new && by_echo) one.part = one.echo = file.echo;
    if (is_new && place != volumes.begin()) one.copies.clear();
    one.files.push_back(file.name);
    if (!group.alone) one.slices = static_cast<int64_t>(one.files.size());
  }
  std::vector<DicomSeries> all;
  for (auto& [key, one] : volumes) all.push_back(std::move(one));
  return all;
}

/// Slices of another class that have the UID of a series, such as the scout that was stored with it.
void name_classes(std::vector<DicomSeries>& series) {
  std::map<std::string, int> volumes;
  for (const DicomSeries& one : series) volumes[one.uid] += one.files.size() > 1 ? 1 : 0;
  for (DicomSeries& one : series) {
    if (one.files.size() > 1 && volumes[one.uid] > 1 && one.kind != DicomClass::image)
      one.part = word_of(one.kind);
  }
}

/// The files of a folder that have pixels, put together.
class SeriesGroups {
 public:
  void add(const DicomHeader& header, const std::string& name) {
    const bool alone = stands_alone(header);
    const std::string own = !alone ? "" : header.instance.empty() ? '/' + name : header.instance;
    const auto [place, is_new] = known_.emplace(Key{header.series, class_of(header), own}, groups_.size());
    if (is_new) groups_.push_back({series_of(header, name), alone});
    groups_[place->second].files.push_back(
        {name, header.instance, header.echo, header.plane.position, header.bytes});
  }

  /// Sorted by first file.
  std::vector<DicomSeries> volumes(const fs::path& folder) {
    std::vector<DicomSeries> all;
    for (SeriesGroup& group : groups_) {
      drop_copies(folder, group);
      std::ranges::move(volumes_of(group), std::back_inserter(all));
    }
    name_classes(all);
    std::ranges::sort(all, {}, [](const DicomSeries& one) { return one.files.front(); });
    return all;
  }

 private:
  using Key = std::tuple<std::string, DicomClass, std::string>;
  std::map<Key, std::size_t> known_;
  std::vector<SeriesGroup> groups_;
};

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

std::string DicomSeries::name() const { return part.empty() ? uid : text(uid, '-', part); }

DicomFolder read_dicom_folder(const fs::path& folder, const std::vector<std::string>& names,
                              DicomText texts) {
  DicomFolder read;
  SeriesGroups groups;
  for (const std::string& name : names) {
    try {
      const auto header = naming(name, [&] { return read_dicom_header(folder / name, texts); });
      if (!header) continue;
      if (header->pixels.tag == 0) {
        read.others.push_back(series_of(*header, name));
      } else {
        groups.add(*header, name);
      }
    } catch (const Error& error) {
      if (error.exit() != Exit::data) throw;
      if (read.damaged.empty()) read.fault = error;
      read.damaged.push_back(name);
    }
  }
  read.series = groups.volumes(folder);
  return read;
}

std::vector<DicomSeries> find_dicom_series(const fs::path& folder, const std::vector<std::string>& names) {
  DicomFolder read = read_dicom_folder(folder, names);
  if (read.fault) throw *std::move(read.fault);
  return std::move(read.series);
}

fs::path path_of(const fs::path& folder, const DicomSeries& series, bool alone) {
  if (series.files.size() == 1) return folder / series.files.front();
  return alone ? folder : fs::path(folder.string() + "#" + series.name());
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
  const std::size_t part = name.find_first_not_of("0123456789.", sign + 1);
  if (part != std::string::npos &&
      (name[part] != '-' ||
       name.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz_", part + 1) != name.npos))
    return path;
  const fs::path folder = name.substr(0, sign);
  return fs::is_directory(folder, error) ? folder : path;
}

DicomSlices choose_dicom_series(const fs::path& path) {
  DicomSlices chosen{.folder = place_of(path), .files = {}};
  const auto all = find_dicom_series(chosen.folder, names_in(chosen.folder));
  const std::string text_of_path = path.string();
  const bool named = chosen.folder != path;
  const std::string name = named ? text_of_path.substr(chosen.folder.string().size() + 1) : "";
  std::vector<std::string> offered;
  for (const DicomSeries& series : all) {
    if ((named && series.name() == name && series.files.size() > 1) || (!named && all.size() == 1))
      chosen.files = series.files, chosen.copies = series.copies;
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
