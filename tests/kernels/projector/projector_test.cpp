#include "larmor/kernels/projector/projector.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "larmor/base/error.h"
#include "larmor/kernels/draw/draw.h"
#include "larmor/kernels/projector/projector_voxel.h"

#include "tests/kernels/support/expect_twin.h"

namespace larmor::testing {
namespace {

/// A volume whose middle is the world's origin.
VoxelPositions centred(std::array<int64_t, 3> size, std::array<double, 3> spacing) {
  VoxelPositions positions{};
  for (size_t i = 0; i < 3; ++i) {
    positions[i][i] = spacing[i];
    positions[i][3] = -0.5 * static_cast<double>(size[i] - 1) * spacing[i];
  }
  positions[3][3] = 1;
  return positions;
}

/// Views of a volume of some 50 mm: few pixels, so that each ray can be looked at.
RadiographView small_view(Beam beam, double degrees) {
  return {.beam = beam,
          .degrees = degrees,
          .pixels = {9, 11},
          .spacing = {7, 6},
          .source_to_isocentre = 150,
          .source_to_detector = 200};
}

std::vector<RadiographView> small_views() {
  std::vector<RadiographView> views;
  for (const double degrees : {0.0, 90.0, 30.0, 44.0, -135.0, 200.0}) {
    views.push_back(small_view(Beam::cone, degrees));
    views.push_back(small_view(Beam::parallel, degrees));
  }
  return views;
}

const std::array<int64_t, 3> small_size{7, 9, 8};

at::Tensor small_rays() { return ray_geometry(small_views(), centred(small_size, {6, 5, 7})); }

at::Tensor project_small(const at::Tensor& volume, const at::Tensor& rays) {
  return project(volume, rays, 9, 11);
}

TEST(Projector, ALineThroughAUniformVolumeIsAsLongAsTheVolume) {
  // Rays through the middle, along each axis: n - 1 steps between voxels, and half a voxel's tent at each
  // end.
  const at::Tensor volume = at::ones({1, 10, 20, 30}, at::kDouble);
  RadiographView view{.beam = Beam::parallel, .degrees = 0, .pixels = {1, 1}};
  const auto positions = centred({10, 20, 30}, {4, 3, 2});
  EXPECT_NEAR(project(volume, ray_geometry({view}, positions), 1, 1).item<double>(), 60, 1e-9);
  view.degrees = 90;
  EXPECT_NEAR(project(volume, ray_geometry({view}, positions), 1, 1).item<double>(), 40, 1e-9);
  view.degrees = 30;  // comes in and leaves through the faces across y
  EXPECT_NEAR(project(volume, ray_geometry({view}, positions), 1, 1).item<double>(), 60 / std::cos(M_PI / 6),
              1e-9);
}

TEST(Projector, AVoxelLiesWhereTheGeometryPutsIt) {
  // One bright voxel at (x, y, z) = (20, -10, 30) mm.
  at::Tensor volume = at::zeros({1, 41, 41, 41}, at::kDouble);
  volume[0][30][15][35] = 1;
  const auto brightest = [&](Beam beam, double degrees) {
    const RadiographView view{.beam = beam,
                              .degrees = degrees,
                              .pixels = {101, 81},
                              .spacing = {2, 1},
                              .source_to_isocentre = 1000,
                              .source_to_detector = 1500};
    const int64_t index = project(volume, ray_geometry({view}, centred({41, 41, 41}, {2, 2, 2})), 101, 81)
                              .argmax()
                              .item<int64_t>();
    return std::pair(index / 81, index % 81);
  };
  // Frontal: row 50 - 30 / 2, the patient's right on the left; lateral: anterior on the right.
  EXPECT_EQ(brightest(Beam::parallel, 0), std::pair(int64_t{35}, int64_t{20}));
  EXPECT_EQ(brightest(Beam::parallel, 90), std::pair(int64_t{35}, int64_t{30}));
  // Of a cone 1500 / 990 and 1500 / 1020 times as large.
  EXPECT_EQ(brightest(Beam::cone, 0), std::pair(int64_t{50 - 23}, int64_t{40 - 30}));
  EXPECT_EQ(brightest(Beam::cone, 90), std::pair(int64_t{50 - 22}, int64_t{40 - 15}));
}

double inner_product(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) * b.to(at::kDouble)).sum().item<double>();
}

TEST(Projector, TheAdjointIsExact) {
  const at::Tensor rays = small_rays();
  for (const auto& [type, tolerance] : {std::pair(at::kFloat, 1e-5), std::pair(at::kDouble, 1e-10)}) {
    const at::Tensor volume = draw_normal(1, "volume", {2, 7, 9, 8}).to(type);
    const at::Tensor images = draw_normal(1, "images", {2, 12, 9, 11}).to(type);
    const at::Tensor projected = project_small(volume, rays);
    const double forward = inner_product(projected, images);
    const double backward = inner_product(volume, back_project(images, rays, small_size));
    EXPECT_NEAR(forward, backward, tolerance * (projected.norm() * images.norm()).item<double>());
    EXPECT_GT(std::abs(forward), 1);
  }
}

/// The sums as a GPU's threads make them, one a pixel and one a voxel (projector_voxel.h), on the CPU.
struct GpuSums {
  GpuSums(const at::Tensor& rays, int64_t volumes)
      : geometry(rays.expand({volumes, -1, -1}).contiguous()),
        projection{.grid = {{small_size[0], small_size[1], small_size[2]}},
                   .volumes = volumes,
                   .views = geometry.size(1),
                   .rows = 9,
                   .columns = 11,
                   .geometry = geometry.const_data_ptr<double>()} {}

  template <class Number>
  at::Tensor project(const at::Tensor& volumes) const {
    const at::Tensor whole = volumes.contiguous();
    const at::Tensor images = at::empty(
        {projection.volumes, projection.views, projection.rows, projection.columns}, whole.options());
    auto* pixel = images.mutable_data_ptr<Number>();
    for (int64_t i = 0; i < images.numel(); ++i) {
      const int64_t of_volume = i / 99 / projection.views;
      const rays::Ray ray = rays::make_ray(projection.view(of_volume, i / 99 % projection.views), i / 11 % 9,
                                           i % 11, projection.grid);
      pixel[i] = rays::integral(whole.const_data_ptr<Number>() + of_volume * projection.voxels(), ray,
                                projection.grid, static_cast<Number>(std::sqrt(ray.mm_per_slice_squared)));
    }
    return images;
  }

  template <class Number>
  at::Tensor back_project(const at::Tensor& images) const {
    const at::Tensor whole = images.contiguous();
    const at::Tensor volumes = at::empty({projection.volumes, 7, 9, 8}, whole.options());
    auto* voxel = volumes.mutable_data_ptr<Number>();
    for (int64_t i = 0; i < volumes.numel(); ++i)
      voxel[i] = rays::voxel_sum(projection, whole.const_data_ptr<Number>(), i,
                                 [](double square) { return std::sqrt(square); });
    return volumes;
  }

  at::Tensor geometry;
  Projection projection;
};

TEST(Projector, ProjectionIsItsTwin) {
  const KernelFunction kernel = [](const at::Tensor& volume, const std::vector<at::Tensor>& others) {
    return project_small(volume, others[0]);
  };
  const KernelFunction twin = [](const at::Tensor& volume, const std::vector<at::Tensor>& others) {
    const GpuSums sums(others[0], volume.size(0));
    return volume.scalar_type() == at::kDouble ? sums.project<double>(volume)
                                               : sums.project<float>(volume.to(at::kFloat));
  };
  expect_twin(kernel, twin, {.sizes = {2, 1, 7, 9, 8}, .others = {small_rays()}, .tolerance = 1e-4});
  expect_twin(
      kernel, twin,
      {.sizes = {2, 1, 7, 9, 8}, .others = {small_rays()}, .tolerance = 1e-11, .types = {at::kDouble}});
}

TEST(Projector, BackProjectionIsItsTwin) {
  const KernelFunction kernel = [](const at::Tensor& images, const std::vector<at::Tensor>& others) {
    return back_project(images, others[0], small_size);
  };
  const KernelFunction twin = [](const at::Tensor& images, const std::vector<at::Tensor>& others) {
    const GpuSums sums(others[0], images.size(0));
    return images.scalar_type() == at::kDouble ? sums.back_project<double>(images)
                                               : sums.back_project<float>(images.to(at::kFloat));
  };
  expect_twin(kernel, twin, {.sizes = {1, 12, 9, 11}, .others = {small_rays()}, .tolerance = 1e-4});
  expect_twin(
      kernel, twin,
      {.sizes = {1, 12, 9, 11}, .others = {small_rays()}, .tolerance = 1e-11, .types = {at::kDouble}});
}

TEST(Projector, TheNumberOfThreadsDoesNotShow) {
  const at::Tensor volume = draw_normal(1, "volume", {2, 7, 9, 8}), rays = small_rays();
  const at::Tensor images = draw_normal(1, "images", {2, 12, 9, 11});
  const int before = at::get_num_threads();
  std::vector<at::Tensor> projected, smeared;
  for (const int threads : {1, 2, 5}) {
    at::set_num_threads(threads);
    projected.push_back(project_small(volume, rays));
    smeared.push_back(back_project(images, rays, small_size));
  }
  at::set_num_threads(before);
  for (size_t i = 1; i < projected.size(); ++i) {
    EXPECT_TRUE(at::equal(projected[i], projected[0]));
    EXPECT_TRUE(at::equal(smeared[i], smeared[0]));
  }
}

TEST(Projector, EachVolumeMayHaveAGeometryOfItsOwn) {
  const at::Tensor volumes = draw_normal(1, "volume", {2, 7, 9, 8});
  const at::Tensor far = ray_geometry(small_views(), centred(small_size, {3, 4, 5}));
  const at::Tensor both = project(volumes, at::stack({small_rays(), far}), 9, 11);
  EXPECT_TRUE(at::equal(both[0], project_small(volumes, small_rays())[0]));
  EXPECT_TRUE(at::equal(both[1], project_small(volumes, far)[1]));
  EXPECT_FALSE(at::equal(both[1], project_small(volumes, small_rays())[1]));
}

TEST(Projector, GradientsHaveGradients) {
  const at::Tensor volume = draw_normal(1, "volume", {1, 7, 9, 8}).to(at::kDouble).requires_grad_();
  const at::Tensor square = project_small(volume, small_rays()).square().sum();
  const at::Tensor first = torch::autograd::grad({square}, {volume}, {}, true, true).front();
  const at::Tensor second = torch::autograd::grad({first.sum()}, {volume}).front();
  const at::Tensor expected =
      2 * back_project(project_small(at::ones_like(volume), small_rays()), small_rays(), small_size);
  EXPECT_TRUE(at::allclose(second, expected, 1e-10));
}

TEST(Projector, ASourceOrADetectorWithinTheVolumeEndsTheRay) {
  const at::Tensor volume = at::ones({1, 3, 41, 3}, at::kDouble);
  const RadiographView view{
      .beam = Beam::cone, .pixels = {1, 1}, .source_to_isocentre = 10, .source_to_detector = 15};
  // From y = -10 mm to 5 mm: sixteen slices of 1 mm.
  EXPECT_NEAR(project(volume, ray_geometry({view}, centred({3, 41, 3}, {1, 1, 1})), 1, 1).item<double>(), 16,
              1e-9);
}

TEST(Projector, TellsHowFarRaysAreApartInTheMiddleOfTheVolume) {
  constexpr std::array<int64_t, 3> size{4, 6, 8};
  for (const double degrees : {0.0, 90.0, 30.0}) {
    RadiographView view = small_view(Beam::parallel, degrees);
    const auto spacing_of = [&] {
      return ray_spacing(ray_geometry({view}, centred(size, {2, 3, 4}))[0], size);
    };
    EXPECT_NEAR(spacing_of()[0], 7, 1e-9);
    EXPECT_NEAR(spacing_of()[1], 6, 1e-9);
    view.beam = Beam::cone;
    EXPECT_NEAR(spacing_of()[0], 7 * 150.0 / 200, 1e-9) << "the detector lies behind the middle";
    EXPECT_NEAR(spacing_of()[1], 6 * 150.0 / 200, 1e-9);
  }
}

TEST(Projector, GeometryThatCannotBeIsRefused) {
  const auto positions = centred(small_size, {6, 5, 7});
  RadiographView view = small_view(Beam::cone, 0), other = view;
  other.pixels = {9, 12};
  EXPECT_THROW(ray_geometry({view, other}, positions), Error);
  other = view;
  other.source_to_detector = other.source_to_isocentre;
  EXPECT_THROW(ray_geometry({other}, positions), Error);
  other = view;
  other.spacing[0] = 0;
  EXPECT_THROW(ray_geometry({other}, positions), Error);
  auto flat = positions;
  flat[2][2] = 0;
  EXPECT_THROW(ray_geometry({view}, flat), Error);
  EXPECT_THROW(project(at::ones({2, 3, 4, 5}), at::zeros({3, 1, ray_numbers}, at::kDouble), 2, 2),
               std::logic_error);
}

}  // namespace
}  // namespace larmor::testing
