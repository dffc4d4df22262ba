#include "larmor/draw/panel_layout.h"

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/printable.h"

namespace larmor::drawing {
namespace {

using ::testing::ElementsAre;

PanelPlane plane_of(int columns, int rows, double width = 1, double height = 1) {
  PanelPlane plane{
      .columns = columns, .rows = rows, .column_width = width, .row_height = height, .name = "axial"};
  plane.values.assign(static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows), 0.5F);
  return plane;
}

Panel panel_of(int cases, int images, const PanelPlane& plane) {
  Panel panel{.scales = {{.title = "intensity"}}};
  for (int i = 0; i < cases; ++i) {
    PanelCase one{.name = "case"};
    for (int image = 0; image < images; ++image)
      one.images.push_back({.title = "image", .planes = {plane, plane, plane}});
    panel.cases.push_back(one);
  }
  return panel;
}

PanelLayout laid_out(const Panel& panel) { return lay_out(panel, Canvas(1, 1)); }

bool overlap(const Box& one, const Box& other) {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}

TEST(PanelLayout, IsLargeEnoughWhateverIsShown) {
  for (const auto& [columns, rows] : {std::pair{8, 8}, {240, 240}, {512, 512}, {3, 200}, {900, 4}, {1, 1}}) {
    for (const int cases : {1, 2, 3, 4, 9}) {
      for (const int images : {1, 3, 6}) {
        const PanelLayout layout = laid_out(panel_of(cases, images, plane_of(columns, rows)));
        EXPECT_GE(std::min(layout.width, layout.height), 512) << columns << " x " << rows << " " << cases;
        EXPECT_LE(std::max(layout.width, layout.height), 9000) << columns << " x " << rows << " " << cases;
      }
    }
  }
}

TEST(PanelLayout, KeepsAllImagesApartAndInside) {
  for (const int cases : {1, 3, 4}) {
    const PanelLayout layout = laid_out(panel_of(cases, 6, plane_of(40, 48, 1, 1.5)));
    std::vector<Box> boxes = {layout.bar, layout.scales.at(0).colours};
    for (const PanelBlock& block : layout.blocks) {
      for (const PanelTile& tile : block.tiles) boxes.push_back(tile.box);
      for (const Box& title : block.titles) boxes.push_back(title);
      for (const Box& name : block.row_names) boxes.push_back(name);
    }
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      EXPECT_GE(boxes[i].left, 0);
      EXPECT_GE(boxes[i].top, 0);
      EXPECT_LE(boxes[i].right, layout.width);
      EXPECT_LE(boxes[i].bottom, layout.height);
      for (std::size_t other = 0; other < i; ++other)
        EXPECT_FALSE(overlap(boxes[i], boxes[other])) << i << " and " << other << " of " << cases;
    }
  }
}

TEST(PanelLayout, IsALittleWiderThanHigh) {
  for (const int images : {1, 3, 6}) {
    const PanelLayout layout = laid_out(panel_of(4, images, plane_of(64, 64)));
    const double shape = static_cast<double>(layout.width) / layout.height;
    EXPECT_GT(shape, 0.7) << images;
    EXPECT_LT(shape, 2.6) << images;
  }
}

TEST(PanelLayout, LeavesNoPlaceEmptyOfFourCases) {
  const PanelLayout layout = laid_out(panel_of(4, 3, plane_of(24, 24)));
  EXPECT_EQ(layout.blocks[0].box.top, layout.blocks[1].box.top);
  EXPECT_GT(layout.blocks[2].box.top, layout.blocks[1].box.top);
  EXPECT_EQ(layout.blocks[2].box.top, layout.blocks[3].box.top);
}

TEST(PanelLayout, KeepsTheProportionsOfVoxels) {
  const PanelLayout layout = laid_out(panel_of(1, 1, plane_of(100, 30, 0.8, 4)));
  const Box& box = layout.blocks[0].tiles[0].box;
  EXPECT_NEAR(box.width() / box.height(), 80.0 / 120.0, 0.01);
  EXPECT_NEAR(box.width(), 80 * layout.pixels, 1);
}

TEST(PanelLayout, EnlargesVoxelsOfOneSizeByAWholeFactor) {
  for (const int side : {7, 48, 100, 130}) {
    for (const double voxel : {0.7, 1.0, 2.0}) {
      const PanelLayout layout = laid_out(panel_of(2, 3, plane_of(side, side, voxel, voxel)));
      const Box& box = layout.blocks[0].tiles[0].box;
      EXPECT_EQ(std::fmod(box.width(), side), 0) << side << " " << voxel;
    }
  }
}

TEST(PanelLayout, HasABarThatIsAsLongAsItSays) {
  for (const double voxel : {0.01, 0.3, 1.0, 7.0}) {
    const PanelLayout layout = laid_out(panel_of(2, 3, plane_of(64, 50, voxel, voxel)));
    EXPECT_NEAR(layout.bar.width(), layout.bar_length * layout.pixels, 0.5) << voxel;
    EXPECT_LE(layout.bar_length, 64 * voxel);
    EXPECT_GE(layout.bar_length, 64 * voxel / 10);
    const double decade = std::pow(10, std::floor(std::log10(layout.bar_length) + 1e-9));
    const double digit = layout.bar_length / decade;
    EXPECT_NEAR(std::min({std::abs(digit - 1), std::abs(digit - 2), std::abs(digit - 5)}), 0, 1e-9);
  }
}

TEST(PanelLayout, NamesARowOnceWhereItsPlanesAgreeAndEachWhereTheyDoNot) {
  Panel panel = panel_of(1, 2, plane_of(20, 20));
  EXPECT_GT(laid_out(panel).blocks[0].row_names[0].height(), 0);
  EXPECT_FALSE(laid_out(panel).blocks[0].tiles[0].is_named);
  panel.cases[0].images[1].planes[0].name = "frontal";
  const PanelLayout layout = laid_out(panel);
  EXPECT_EQ(layout.blocks[0].row_names[0].height(), 0);
  EXPECT_TRUE(layout.blocks[0].tiles[0].is_named);
  EXPECT_FALSE(layout.blocks[0].tiles.back().is_named);
}

TEST(PanelLayout, SurvivesWhatHasNothingToShow) {
  EXPECT_GE(laid_out({}).width, 512);
  EXPECT_GE(laid_out({.cases = {{}, {.name = "without images"}}}).height, 512);
  EXPECT_EQ(laid_out({.cases = {{.words = {"words alone"}}}}).blocks[0].lines.size(), 1U);
}

TEST(PanelLayout, NamesPlanesThatFollowOneAnotherOnce) {
  PanelPlane frontal = plane_of(4, 4), sagittal = plane_of(4, 4);
  frontal.name = "frontal";
  sagittal.name = "sagittal";
  const PanelImage radiograph{.planes = {frontal}}, volume{.planes = {sagittal, sagittal}};
  const Panel panel{.scales = {{}}, .cases = {{.images = {radiograph, radiograph, volume, volume}}}};
  std::vector<bool> are_named;
  for (const PanelTile& tile : lay_out(panel, Canvas(1, 1)).blocks[0].tiles)
    are_named.push_back(tile.is_named);
  EXPECT_THAT(are_named, ElementsAre(true, false, true, false, true, false))
      << "the second row has nothing at its left";
  const PanelCase& one = panel.cases[0];
  EXPECT_EQ(plane_before(one, 0, 0), nullptr);
  EXPECT_EQ(plane_before(one, 2, 0)->name, "frontal");
  EXPECT_EQ(plane_before(one, 2, 1), nullptr) << "radiographs have no second row";
}

TEST(BrokenIntoLines, BreaksBetweenWords) {
  const Canvas measure(1, 1);
  const double room = measure.text_width("where is the", panel_font) + 1;
  EXPECT_THAT(broken_into_lines({"where is the effusion?", "left"}, room, measure),
              ElementsAre("where is the", "effusion?", "left"));
  EXPECT_THAT(broken_into_lines({""}, 50, measure), ElementsAre(""));
}

TEST(BrokenIntoLines, LeaveNoLineThatIsWiderThanTheRoom) {
  const Canvas measure(1, 1);
  constexpr double room = 60;
  for (const std::string paragraph :
       {"averyveryverylongwordwithoutend is it", "äöüäöüäöüäöüäöüäöü", "a\x1b[2J\nb"}) {
    std::string together;
    for (const std::string& line : broken_into_lines({paragraph}, room, measure)) {
      EXPECT_LE(measure.text_width(line, panel_font), room) << line;
      EXPECT_EQ(printable(line), line) << "what is written is what was measured";
      together += line;
    }
    std::string wanted = printable(paragraph);
    std::erase(wanted, ' ');
    std::erase(together, ' ');
    EXPECT_EQ(together, wanted) << "nothing is lost";
  }
}

TEST(BrokenIntoLines, CutAParagraphThatIsTooLongAndNotTheNextOne) {
  const Canvas measure(1, 1);
  std::string endless;
  for (int i = 0; i < 100; ++i) endless += "word ";
  const auto lines = broken_into_lines({endless, "answer"}, 100, measure);
  ASSERT_EQ(lines.size(), most_lines_of_paragraph + 1);
  EXPECT_TRUE(lines[most_lines_of_paragraph - 1].ends_with("…")) << lines[most_lines_of_paragraph - 1];
  EXPECT_LE(measure.text_width(lines[most_lines_of_paragraph - 1], panel_font), 100);
  EXPECT_EQ(lines.back(), "answer");
}

TEST(PanelLayout, HasNoBarWhereLengthsMeanNothing) {
  PanelPlane plane{.columns = 4, .rows = 4};
  plane.values.assign(16, 0);
  Panel panel{.cases = {{.images = {{.planes = {plane}}}}}};
  EXPECT_GT(lay_out(panel, Canvas(1, 1)).bar_length, 0);
  panel.unit_of_length.clear();
  EXPECT_EQ(lay_out(panel, Canvas(1, 1)).bar_length, 0);
}

}  // namespace
}  // namespace larmor::drawing
