// From a case of an index to its volumes: files read and joined, or phantoms made.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "larmor/config/run_config.h"
#include "larmor/data/index.h"
#include "larmor/data/source_hashes.h"
#include "larmor/formats/picture_reading.h"
#include "larmor/transforms/transforms.h"

namespace larmor {

/// Thread-safe.
class CaseReader {
 public:
  /// `only` names the volumes that are wanted; empty: all. Masks and labels are read as they are, whatever
  /// `reading` says of pictures.
  CaseReader(const DataConfig& data, const Index& index, std::vector<std::string> only,
             const PictureReading& reading);

  bool makes_phantoms() const { return is_phantom_; }
  /// `number`: in the whole index. Throws Error (data).
  Volumes read(const Case& entry, int64_t number) const;
  /// What the result of read() is a function of: names and hashes of what is in the files. Throws Error
  /// (data).
  std::vector<std::pair<std::string, std::string>> contents(const Case& entry, SourceHashes& hashes) const;

 private:
  bool wants(std::string_view name) const;
  Volume read_image(const Case& entry) const;
  /// `volume` as it is, or brought onto the grid of the case's first image.
  Volume on_grid_of(const Volume& image, const std::string& image_file, Volume volume,
                    const std::string& file, Interpolation interpolation) const;

  const uint64_t phantom_seed_;
  const std::vector<int64_t> phantom_size_;
  const bool is_phantom_;
  const std::filesystem::path folder_;
  const bool resamples_;
  const PictureReading reading_;
  const std::vector<std::string> only_;
};

}  // namespace larmor
