// Radiographs and the CT volume that they are of, as samples: read from a folder of pairs, computed from CTs,
// or invented.
#pragma once

#include <cstdint>
#include <memory>

#include <ATen/core/Tensor.h>

#include "larmor/config/run_config.h"
#include "larmor/data/index/index.h"
#include "larmor/data/preparable_dataset.h"
#include "larmor/task/prepare_context.h"

#include "workloads/xray_to_ct/data/pair_config.h"

namespace larmor::xray_to_ct {

/// What a sample holds, by name.
namespace pair {
/// [views, 1, rows, columns] float32 in [-1, 1]: frontal, then lateral.
constexpr const char* radiographs = "radiographs";
/// [1, depth, height, width] float32: HU, data.hu_range to [-1, 1] and clamped. Axes as in
/// PairConfig::positions().
constexpr const char* volume = "volume";
/// [views, ray_numbers] float64: the rays of `radiographs` through the grid of `volume`, for project().
constexpr const char* rays = "rays";
/// [views, 2] float32: a radiograph is line integrals of attenuation times the first, plus the second. Known
/// where the radiographs were computed, and fitted to the CT where they were read.
constexpr const char* intensity = "intensity";
/// [] bool: augmentation has mirrored the patient left to right. What belongs to the unmirrored case (the
/// volume of an earlier stage) is mirrored by whoever adds it.
constexpr const char* mirrored = "mirrored";
}  // namespace pair

/// The attenuation of volumes in [-1, 1], any shape, in 1/mm, for project(); and HU. Differentiable.
at::Tensor attenuation_of_unit(const at::Tensor& volume, const PairConfig& config);
at::Tensor hu_of_unit(const at::Tensor& volume, const PairConfig& config);
at::Tensor unit_of_hu(const at::Tensor& hu, const PairConfig& config);
/// Radiographs [N, views, 1, rows, columns] of volumes [N, 1, D, H, W] in [-1, 1] on the scale of a batch's
/// own radiographs: `rays` [N, views, ray_numbers] and `intensity` [N, views, 2] are the batch's. The physics
/// term compares this with `radiographs`. Differentiable.
at::Tensor radiographs_of(const at::Tensor& volumes, const at::Tensor& rays, const at::Tensor& intensity,
                          int64_t rows, int64_t columns, const PairConfig& config);

/// The cases of data.folder (kind pairs), of data.ct (kind pairs with data.ct), or invented ones (kind
/// phantom). Throws Error (data).
Index pair_index(const RunConfig& config, const PairConfig& pairs);

/// Samples of a split, volumes of `size` voxels an edge, `views` radiographs (1: frontal; 2: and lateral). A
/// case that lacks a view, or whose radiographs are not of its CT, is a bad file. Training examples are
/// augmented as the config says; the same draw for the volume and for all views.
std::unique_ptr<PreparableDataset> pair_dataset(const RunConfig& config, const PairConfig& pairs,
                                                const Index& index, Split split, int64_t size, int64_t views);

/// What `larmor prepare` does for pairs: where data.ct is set, each CT of `index` becomes a folder of
/// data.folder with its radiographs, its volume and their geometry; those that are there already stay.
/// Otherwise the pairs of data.folder are looked at, but for those that context.bad names. Each case's
/// correlations are listed; a CT that cannot be used is a bad file, and so is a pair that does not belong
/// together.
void prepare_pairs(const RunConfig& config, const PairConfig& pairs, const Index& index,
                   PrepareContext& context);

}  // namespace larmor::xray_to_ct
