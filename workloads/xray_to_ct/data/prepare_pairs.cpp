#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include <ATen/ATen.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/removal.h"
#include "larmor/base/files/temporary_name.h"
#include "larmor/base/text.h"
#include "larmor/data/cache/source_hashes.h"
#include "larmor/formats/file_kinds.h"

#include "workloads/xray_to_ct/data/pair_dataset.h"
#include "workloads/xray_to_ct/data/pair_geometry.h"
#include "workloads/xray_to_ct/data/pair_source.h"

namespace larmor::xray_to_ct {
namespace {

namespace fs = std::filesystem;

constexpr int set_version = 1;
/// Of the volume by which pairs of others are judged.
constexpr int64_t judged_size = 64;
constexpr int64_t all_views = 2;

/// A name for the folder of a CT's pair: its path, without what names of files had better not hold.
std::string pair_name(const std::string& path, const fs::path& folder, std::set<std::string>& taken) {
  std::string name = path.substr(0, path.size() - known_suffix(path).size());
  if (name == ".") name = folder.filename().string();
  for (char& c : name) {
    const bool is_plain =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
    if (!is_plain) c = '_';
  }
  std::string free = name;
  for (int i = 2; !taken.insert(free).second; ++i) free = text(name, "-", i);
  return free;
}

class PairWriter {
 public:
  PairWriter(const RunConfig& config, const PairConfig& pairs, const Index& index, PrepareContext& context)
      : data_(config.data),
        pairs_(pairs),
        index_(index),
        context_(context),
        hashes_(context.storage, fs::path(config.data.folder) / ".larmor_hashes"),
        set_(config.data.folder) {}

  /// The geometry of the case's pair, made now or found.
  PairGeometry write(int64_t number) {
    const std::string& path = index_.cases[static_cast<size_t>(number)].name();
    const std::string name = pair_name(path, index_.folder, taken_);
    const fs::path folder = set_ / name, volume = folder / (name + ".nii.gz");
    const Json made_from = what_it_is_made_from(path);
    if (auto found = find_made(volume); found && found->made_from == made_from) return *found;
    const RadiographPair pair = make_pair_of(data_, pairs_, index_, number, all_views, pairs_.volume_size);
    const PairGeometry geometry{.views = pair.views,
                                .intensities = pair.intensities,
                                .correlations = alignment_of(pair, pairs_),
                                .extent = pairs_.extent,
                                .made_from = made_from};
    Storage& storage = context_.storage;
    const fs::path unfinished = temporary_beside(folder);
    try {
      storage.create_folders(unfinished);
      write_nifti(storage, unfinished / volume.filename(), pair.volume);
      for (int64_t view = 0; view < all_views; ++view)
        write_radiograph(unfinished / text(name, view == 0 ? "_pa_drr" : "_lat_drr", ".nii.gz"), pair, view);
      write_text(storage, unfinished / geometry_file(volume).filename(), to_text(to_json(geometry)));
      make_room(folder);
      storage.rename(unfinished, folder);
    } catch (...) {
      std::error_code ignored;
      fs::remove_all(unfinished, ignored);
      throw;
    }
    storage.sync_folder(set_);
    ++made_;
    return geometry;
  }

  int64_t made() const { return made_; }

 private:
  /// For a pair that takes the place of an earlier one.
  void make_room(const fs::path& folder) {
    const std::string name = folder.filename().string();
    const auto is_of_pair = [&](const fs::path& within) {
      const std::string file = within.string();
      return file == name + ".nii.gz" || file == name + "_pa_drr.nii.gz" ||
             file == name + "_lat_drr.nii.gz" ||
             file == geometry_file(folder / (name + ".nii.gz")).filename().string();
    };
    std::error_code absent;
    for (const auto& item : fs::directory_iterator(folder, absent)) {
      if (!is_of_pair(item.path().filename()))
        fail(Exit::data,
             text(item.path().string(), " lies where a pair of radiographs and a CT is to be made anew"),
             "move it elsewhere, or choose another data.folder");
    }
    remove_own(context_.storage, folder, is_of_pair);
  }

  static std::optional<PairGeometry> find_made(const fs::path& volume) {
    std::error_code error;
    if (!fs::is_regular_file(volume, error)) return std::nullopt;
    try {
      return find_geometry(volume);
    } catch (const Error&) {
      return std::nullopt;  // made again
    }
  }

  Json what_it_is_made_from(const std::string& path) {
    Json json;
    json["version"] = set_version;
    json["source"] = hashes_.of(index_.folder / path);
    json["extent"] = pairs_.extent;
    json["volume_size"] = pairs_.volume_size;
    json["radiograph_size"] = pairs_.radiograph_size;
    json["beam"] = pairs_.beam;
    json["distances"] = {pairs_.source_to_isocentre, pairs_.source_to_detector};
    json["hu_range"] = pairs_.hu_range;
    return json;
  }

  /// As others have their radiographs: from 0 to 1, columns first.
  void write_radiograph(const fs::path& path, const RadiographPair& pair, int64_t view) {
    const RadiographView& geometry = pair.views[static_cast<size_t>(view)];
    Volume picture{.voxels = ((pair.radiographs[view] + 1) / 2).t().unsqueeze(0).unsqueeze(-1).contiguous()};
    picture.affine[0][0] = geometry.spacing[1];
    picture.affine[1][1] = -geometry.spacing[0];
    write_nifti(context_.storage, path, picture);
  }

  const DataConfig& data_;
  const PairConfig& pairs_;
  const Index& index_;
  PrepareContext& context_;
  SourceHashes hashes_;
  const fs::path set_;
  std::set<std::string> taken_;
  int64_t made_ = 0;
};

/// Of a pair that lies in the folder already.
std::vector<double> correlations_of(const RunConfig& config, const PairConfig& pairs, const Index& index,
                                    int64_t number, int64_t views) {
  PairConfig lenient = pairs;
  lenient.align_at_least = 0;
  return alignment_of(make_pair_of(config.data, lenient, index, number, views, judged_size), pairs);
}

int64_t views_of(const Case& entry) { return entry.files.contains("image_lateral") ? 2 : 1; }

/// Each case's correlations, as the verb shows them; a case whose radiographs are not of its CT is a bad
/// file.
class Alignments {
 public:
  Alignments(const PairConfig& pairs, PrepareContext& context) : pairs_(pairs), context_(context) {}

  void add(const std::string& name, const std::vector<double>& correlations) {
    Json entry;
    entry["case"] = name;
    entry["frontal"] = correlations.front();
    if (correlations.size() > 1) entry["lateral"] = correlations[1];
    std::string line =
        text(name, ": correlation of the frontal radiograph with its CT ", fixed(correlations.front(), 3));
    if (correlations.size() > 1) line += text(", of the lateral one ", fixed(correlations[1], 3));
    context_.lines.push_back(line);
    all_.push_back(std::move(entry));
    for (const double correlation : correlations) {
      if (correlation >= pairs_.align_at_least) continue;
      context_.bad.push_back(
          {.path = name,
           .reason = text("a radiograph is not of its CT: they correlate by ", fixed(correlation, 2),
                          ", and ", fixed(pairs_.align_at_least, 2), " are wanted")});
      return;
    }
  }
  void finish() { context_.outputs["alignment"] = all_; }

 private:
  const PairConfig& pairs_;
  PrepareContext& context_;
  Json all_ = Json::array();
};

}  // namespace

void prepare_pairs(const RunConfig& config, const PairConfig& pairs, const Index& index,
                   PrepareContext& context) {
  const bool makes = !pairs.ct.empty();
  if (makes && config.data.folder.empty()) {
    fail(Exit::usage, "data.folder is not set", "say where the pairs are to be written: data.folder=FOLDER");
  }
  if (makes) context.storage.create_folders(config.data.folder);
  PairWriter writer(config, pairs, index, context);
  Alignments alignments(pairs, context);
  const auto all = static_cast<int64_t>(index.cases.size());
  for (int64_t number = 0; number < all; ++number) {
    const Case& entry = index.cases[static_cast<size_t>(number)];
    if (holds(context.bad, entry.name())) continue;
    try {
      alignments.add(entry.name(), makes ? writer.write(number).correlations
                                         : correlations_of(config, pairs, index, number, views_of(entry)));
    } catch (const Error& error) {
      if (error.exit() != Exit::data) throw;
      context.bad.push_back({.path = entry.name(), .reason = reason_behind(entry.name(), error.message())});
    }
    context.progress(number + 1, all);
  }
  alignments.finish();
  if (!makes) return;
  context.outputs["pairs"]["folder"] = config.data.folder;
  context.outputs["pairs"]["made"] = writer.made();
  context.lines.push_back(text("pairs in ", config.data.folder, ": ", writer.made(), " made, ",
                               all - writer.made() - static_cast<int64_t>(context.bad.size()),
                               " were there"));
}

}  // namespace larmor::xray_to_ct
