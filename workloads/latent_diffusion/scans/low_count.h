// Invented pairs of scans: a head as a scan with few counts shows it, and the head itself.
#pragma once

#include <cstdint>
#include <vector>

#include "larmor/config/fields.h"
#include "larmor/config/run_config.h"
#include "larmor/data/make_volumes.h"
#include "larmor/formats/volume.h"

namespace larmor::latent_diffusion {

/// `scan` as it looks where a voxel of brightness 1000 has `counts` counts: each voxel a Poisson draw of its
/// own, scaled back. The same bits for the same seed and number. Requires: counts > 0, no voxel below 0.
Volume with_low_counts(const Volume& scan, double counts, uint64_t seed, int64_t number);

/// What the stages add to the section `data` for kind phantom.
struct PhantomPairs {
  double low_counts = 0;  // of a voxel of brightness 1000; 0: phantoms have no second scan

  void describe(Fields& f);
  /// "image" is the scan with low counts, "label" the phantom. Empty where there are no pairs.
  MakeVolumes maker(const DataConfig& data) const;
};

}  // namespace larmor::latent_diffusion
