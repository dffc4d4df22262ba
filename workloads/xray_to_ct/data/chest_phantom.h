// Invented chests whose truth is known: ellipsoids of Hounsfield units, a function of seed and number alone.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "larmor/formats/volume.h"

namespace larmor::xray_to_ct {

/// An ellipsoid along the axes of the world, which is that of the cube of the body: mm to the Right,
/// Anterior, Superior of its middle.
struct ChestPart {
  std::array<double, 3> middle{}, radii{};
  double hu = 0;  // inside
};

/// Chest `number` of those with `seed`, a part over those before it: fat, muscle, lungs, heart, great
/// vessels, airway, liver, vertebrae, ribs and collar bones as rows of beads, and up to three nodules in the
/// lungs. Chests differ in size, proportions, heart, diaphragm, slope of the ribs, and nodules.
std::vector<ChestPart> chest_parts(uint64_t seed, int64_t number);

/// The parts in the cube of `extent` mm with `size` voxels an edge (cube_positions()), in air; edges as soft
/// as a voxel. [1, size, size, size]
Volume draw_chest(const std::vector<ChestPart>& parts, double extent, int64_t size);

}  // namespace larmor::xray_to_ct
