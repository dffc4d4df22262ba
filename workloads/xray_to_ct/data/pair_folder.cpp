#include "workloads/xray_to_ct/data/pair_folder.h"

#include <map>
#include <optional>
#include <utility>

#include <ATen/ATen.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/index/folder_scan.h"
#include "larmor/data/layout/laid_out.h"
#include "larmor/formats/file_kinds.h"

#include "workloads/xray_to_ct/data/ct_volume.h"
#include "workloads/xray_to_ct/data/pair_geometry.h"
#include "workloads/xray_to_ct/data/radiograph_file.h"

namespace larmor::xray_to_ct {
namespace {

struct ViewEnding {
  const char* ending;
  const char* file;
  int rank;
};

constexpr ViewEnding view_endings[] = {
    {"_pa_drr", pair_file::frontal, 0},  {"_lat_drr", pair_file::lateral, 0},
    {"_frontal", pair_file::frontal, 2}, {"_pa", pair_file::frontal, 1},
    {"_lateral", pair_file::lateral, 2}, {"_lat", pair_file::lateral, 1}};
const char* const view_names[] = {"_pa_drr, _pa or _frontal", "_lat_drr, _lat or _lateral"};

bool is_volume_suffix(const std::string& suffix) {
  return suffix == ".nii.gz" || suffix == ".nii" || suffix == ".npy";
}

/// A file of the case, and how good its name was.
struct RankedFile {
  std::string path;
  int rank;
};

std::filesystem::path file_of(const std::filesystem::path& folder, const Case& entry, const char* name,
                              const std::string& what, const std::string& remedy) {
  const auto found = entry.files.find(name);
  if (found == entry.files.end()) fail(Exit::data, what, remedy);
  return folder / found->second;
}

/// The views as they are where the radiographs are scaled to `size` pixels.
std::vector<RadiographView> scaled_views(std::vector<RadiographView> views, int64_t size) {
  for (RadiographView& view : views) {
    for (size_t i = 0; i < 2; ++i) {
      view.spacing[i] *= static_cast<double>(view.pixels[i]) / static_cast<double>(size);
      view.pixels[i] = size;
    }
  }
  return views;
}

/// What was prepared: volume and geometry are known.
void place_prepared(RadiographPair& pair, const Volume& ct, const PairGeometry& geometry,
                    const PairConfig& config, int64_t views, int64_t size) {
  if (geometry.extent != config.extent) {
    fail(Exit::data,
         text("was prepared as a cube of ", geometry.extent, " mm, and data.extent is ", config.extent),
         text("say data.extent=", geometry.extent, ", or prepare it again"));
  }
  if (static_cast<int64_t>(geometry.views.size()) < views)
    fail(Exit::data, text("was prepared with one view, and the model takes ", views), "prepare it again");
  const auto count = static_cast<size_t>(views);
  pair.views = scaled_views({geometry.views.begin(), geometry.views.begin() + views}, config.radiograph_size);
  pair.intensities.assign(geometry.intensities.begin(), geometry.intensities.begin() + views);
  pair.volume = in_cube(ct, config.extent, size);
  for (size_t view = 0; view < count; ++view) {
    if (geometry.correlations[view] >= config.align_at_least) continue;
    fail(Exit::data,
         text("its ", view == 0 ? "frontal" : "lateral",
              " radiograph and the projection of its CT correlate by ", fixed(geometry.correlations[view], 2),
              " only"),
         "prepare it again");
  }
}

/// An array has no place in the body: it fills the cube, its axes as they are.
Volume filling_cube(const Volume& array, double extent) {
  Volume ct{.voxels = array.voxels.to(at::kFloat).contiguous(), .affine = cube_positions(extent, 1)};
  constexpr size_t world_of[3] = {1, 2, 0};
  for (size_t axis = 0; axis < 3; ++axis) {
    const auto count = ct.voxels.size(static_cast<int64_t>(axis) + 1);
    const double step = cube_positions(extent, count)[world_of[axis]][axis];
    ct.affine[world_of[axis]][axis] = step;
    ct.affine[world_of[axis]][3] = -0.5 * step * static_cast<double>(count - 1);
  }
  return ct;
}

/// What others made: the radiographs are held against the CT, and their brightness is fitted to it.
void place_foreign(RadiographPair& pair, const Volume& ct, const PairConfig& config, int64_t views,
                   int64_t size) {
  pair.views = config.views(views);
  pair.volume = in_cube(ct, config.extent, size);
  const at::Tensor projected = line_integrals(pair.volume, pair.views, config);
  for (int64_t view = 0; view < views; ++view) {
    const double correlation = correlation_in_shadow(projected[view], pair.radiographs[view]);
    pair.intensities.push_back(fitted_intensity(projected[view], pair.radiographs[view]));
    if (correlation >= config.align_at_least || config.align_at_least == 0) continue;
    fail(Exit::data,
         text("its ", view == 0 ? "frontal" : "lateral",
              " radiograph is not of its CT: it and the projection "
              "of the CT correlate by ",
              fixed(correlation, 2), ", and ", fixed(config.align_at_least, 2), " are wanted"),
         "check that both are of one patient and one geometry (data.flip_vertical, data.extent), or say a "
         "lower "
         "data.align_at_least");
  }
}

at::Tensor read_views(const std::filesystem::path& folder, const Case& entry, const PairConfig& config,
                      int64_t views) {
  std::vector<at::Tensor> images;
  for (int64_t view = 0; view < views; ++view) {
    const char* const name = view == 0 ? pair_file::frontal : pair_file::lateral;
    const auto path = file_of(
        folder, entry, name,
        text("has no ", view == 0 ? "frontal" : "lateral", " radiograph, and the model takes ", views,
             views == 1 ? " view" : " views"),
        text("add one whose name ends in ", view_names[view], ", or leave the case out with data.exclude",
             view == 0 ? "" : ", or train a model of one view"));
    images.push_back(read_radiograph(path));
  }
  if (views == 2 && images[0].sizes() != images[1].sizes()) {
    fail(Exit::data,
         text("its views differ in size: the frontal one has ", images[0].size(0), " x ", images[0].size(1),
              " pixels, the lateral one ", images[1].size(0), " x ", images[1].size(1)),
         "bring both to one size, or leave the case out with data.exclude");
  }
  for (at::Tensor& image : images)
    image = fitted_radiograph(image, config.radiograph_size, config.flip_vertical);
  return at::stack(images);
}

/// By the path of each case without the endings of its files.
using CasesOfFiles = std::map<std::string, std::map<std::string, RankedFile>>;

void list_pairs(const DataConfig& data, const CasesOfFiles& cases, FoundPairs& found) {
  std::vector<std::string> ids;
  for (const auto& [id, files] : cases) {
    if (files.contains(pair_file::frontal) || files.contains(pair_file::lateral)) {
      ids.push_back(id);
    } else {
      for (const auto& [name, file] : files)
        found.account.pass_over("of a case without a radiograph", file.path);
    }
  }
  LaidOut laid_out = lay_out(data, ids, {}, data.folder);
  found.account.warnings.insert(found.account.warnings.end(), laid_out.warnings.begin(),
                                laid_out.warnings.end());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ListedCase entry{.place = ids[i],
                     .files = {},
                     .patient = std::move(laid_out.files[i].patient),
                     .label = {},
                     .split = laid_out.files[i].split};
    for (const auto& [name, file] : cases.at(ids[i])) {
      if (laid_out.files[i].passed_over != nullptr)
        found.account.pass_over(laid_out.files[i].passed_over, file.path);
      entry.files[name] = file.path;
    }
    if (laid_out.files[i].passed_over == nullptr) found.listed.push_back(std::move(entry));
  }
}

/// None where no name is one of a pair's.
FoundPairs pairs_in(const DataConfig& data) {
  FolderScan scan =
      scan_folder(data.folder, {.suffixes = {""}, .include = data.include, .exclude = data.exclude});
  FoundPairs found{.listed = {}, .account = std::move(scan.account)};
  CasesOfFiles cases;
  for (const std::string& file : scan.files) {
    const std::filesystem::path path = file;
    const PairFileName name = pair_file_name(path.filename().string());
    if (name.id.empty()) {
      found.account.pass_over("no radiograph and no volume by its name", file);
      continue;
    }
    auto& files = cases[(path.parent_path() / name.id).generic_string()];
    RankedFile other{file, name.rank};
    const auto [known, is_new] = files.try_emplace(name.file, other);
    if (is_new) continue;
    if (name.rank < known->second.rank) std::swap(known->second, other);
    found.account.pass_over("another file of its case counts, by their names", other.path);
  }
  list_pairs(data, cases, found);
  return found;
}

}  // namespace

PairFileName pair_file_name(std::string_view name) {
  const std::string suffix = known_suffix(std::filesystem::path(name));
  if (suffix.empty()) return {};
  const std::string stem(name.substr(0, name.size() - suffix.size()));
  for (const ViewEnding& view : view_endings) {
    const std::string_view ending = view.ending;
    if (stem.size() <= ending.size() || !lower(stem).ends_with(ending)) continue;
    return {.id = stem.substr(0, stem.size() - ending.size()), .file = view.file, .rank = view.rank};
  }
  if (!is_volume_suffix(lower(suffix))) return {};
  return {.id = stem, .file = pair_file::ct, .rank = lower(suffix) == ".npy" ? 1 : 0};
}

FoundPairs find_pairs(const DataConfig& data) {
  if (data.folder.empty())
    fail(Exit::data, "data.folder is not set",
         "say where the pairs of radiographs and CTs are: data.folder=FOLDER");
  FoundPairs found = pairs_in(data);
  if (!found.listed.empty()) return found;
  fail(Exit::data,
       text("no radiographs with CTs in ", data.folder, ": looked at ", found.account.files_passed_over(),
            " files"),
       "names are <case>_pa_drr.*, <case>_lat_drr.* and <case>.nii.gz; `larmor prepare xray_to_ct "
       "data.ct=FOLDER` makes them of CTs");
}

std::optional<NamedFolder> radiographs_in(const DataConfig& trained, const std::filesystem::path& folder) {
  FoundPairs found = pairs_in(data_of_named_folder(trained, folder));
  if (found.listed.empty()) return std::nullopt;
  NamedFolder named{.cases = {}, .channels = {}, .account = std::move(found.account)};
  for (ListedCase& entry : found.listed) {
    const auto ct = entry.files.extract(pair_file::ct);
    if (!ct.empty()) named.account.pass_over("the volume of its case", ct.mapped());
    named.cases.push_back({.name = entry.place, .files = std::move(entry.files)});
  }
  return named;
}

RadiographPair read_pair(const std::filesystem::path& folder, const Case& entry, const PairConfig& config,
                         int64_t views, int64_t size) {
  const auto path =
      file_of(folder, entry, pair_file::ct, "has radiographs and no CT",
              "add the volume under the name of the case (.nii.gz, .nii or .npy), or leave the case out with "
              "data.exclude");
  RadiographPair pair;
  pair.radiographs = read_views(folder, entry, config, views);
  const Volume file = read_volume(path);
  const auto geometry = find_geometry(path);
  if (geometry) {
    place_prepared(pair, oriented_ct(file), *geometry, config, views, size);
  } else if (lower(path.extension().string()) == ".npy") {
    place_foreign(pair, filling_cube(file, config.extent), config, views, size);
  } else {
    const Volume ct = oriented_ct(file);
    check_ct(ct, config);
    place_foreign(pair, centred_ct(ct, config.extent), config, views, size);
  }
  return pair;
}

}  // namespace larmor::xray_to_ct
