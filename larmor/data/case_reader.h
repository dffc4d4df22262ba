// From a case of an index to its volumes: files read and joined, or volumes invented.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/config/run_config.h"
#include "larmor/data/cache/source_hashes.h"
#include "larmor/data/index/index.h"
#include "larmor/data/make_volumes.h"
#include "larmor/data/sample_form.h"
#include "larmor/formats/pictures/picture_reading.h"
#include "larmor/transforms/transforms.h"

namespace larmor {

/// Thread-safe.
class CaseReader {
 public:
  /// Masks and labels are read as they are, whatever `reading` says of pictures. `make` makes the volumes of
  /// an invented index, phantoms where it is empty; otherwise it is not used.
  CaseReader(const DataConfig& data, const Index& index, const SampleForm& form,
             const PictureReading& reading, MakeVolumes make);

  bool is_invented() const { return make_ != nullptr; }
  /// `number`: in the whole index. Throws Error (data).
  Volumes read(const Case& entry, int64_t number) const;
  /// What the result of read() is a function of: names and hashes of what is in the files. Throws Error
  /// (data).
  std::vector<std::pair<std::string, std::string>> contents(const Case& entry, SourceHashes& hashes) const;
  /// Which channels the case has, [C] bool; undefined where the form does not ask for it.
  at::Tensor present(const Case& entry) const;

 private:
  bool wants(std::string_view name) const;
  /// The files that are the channels of the case's image, by their names in the case, in order; "" for one
  /// that the case lacks.
  std::vector<std::string> channel_files(const Case& entry) const;
  /// What the volume of a file, no image, is called.
  std::string name_of_volume(const std::string& file) const;
  /// Whether the case's file is read at all.
  bool is_read(const Case& entry, const std::string& name) const;
  Volume read_image(const Case& entry) const;
  void read_own_grids(const Case& entry, Volumes& volumes) const;

  const MakeVolumes make_;  // empty: there are files
  const std::filesystem::path folder_;
  const bool resamples_, labels_are_masks_;
  const PictureReading reading_;
  const SampleForm form_;
  std::vector<std::string> channels_;  // modalities; empty: every image of the case, by name
};

}  // namespace larmor
