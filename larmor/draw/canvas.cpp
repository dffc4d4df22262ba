#include "larmor/draw/canvas.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>

#include <cairo.h>

#include "larmor/base/error.h"
#include "larmor/base/printable.h"
#include "larmor/base/text.h"
#include "larmor/draw/typeface.h"

namespace larmor::drawing {

struct SurfaceRelease {
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
};
using Surface = std::unique_ptr<cairo_surface_t, SurfaceRelease>;

struct ContextRelease {
  void operator()(cairo_t* context) const { cairo_destroy(context); }
};

namespace {

void check_drawn(cairo_status_t status) {
  if (status == CAIRO_STATUS_SUCCESS) return;
  fail(status == CAIRO_STATUS_NO_MEMORY ? Exit::memory : Exit::unexpected,
       text("a picture could not be drawn: ", cairo_status_to_string(status)));
}

// One way on every machine: grey edges, no hints of a screen.
void set_lettering(cairo_t* context, cairo_font_face_t* face) {
  cairo_font_options_t* const options = cairo_font_options_create();
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo_set_font_options(context, options);
  cairo_font_options_destroy(options);
  cairo_set_font_face(context, face);
}

constexpr int cairo_bytes = 4;  // of a pixel of CAIRO_FORMAT_RGB24, a number of the machine's byte order

Surface surface_of(const Image& picture) {
  Surface surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24, picture.width, picture.height));
  check_drawn(cairo_surface_status(surface.get()));
  unsigned char* const bytes = cairo_image_surface_get_data(surface.get());
  const int stride = cairo_image_surface_get_stride(surface.get());
  const auto channels = static_cast<std::size_t>(picture.channels);
  const uint8_t* from = picture.pixels.data();
  for (int row = 0; row < picture.height; ++row) {
    auto* const line =
        reinterpret_cast<uint32_t*>(bytes + static_cast<std::ptrdiff_t>(row) * stride);  // rows are aligned
    for (int column = 0; column < picture.width; ++column, from += channels) {
      const uint32_t red = from[0], green = from[channels / 2], blue = from[channels - 1];
      line[column] = red << 16U | green << 8U | blue;
    }
  }
  cairo_surface_mark_dirty(surface.get());
  return surface;
}

}  // namespace

struct Canvas::Parts {
  int width, height;
  Typeface face = make_typeface();
  Surface surface;
  std::unique_ptr<cairo_t, ContextRelease> context;

  Parts(int columns, int rows)
      : width(columns),
        height(rows),
        surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24, columns, rows)),
        context(cairo_create(surface.get())) {
    check_drawn(cairo_status(context.get()));
    set_lettering(context.get(), face.get());
    cairo_set_line_cap(context.get(), CAIRO_LINE_CAP_ROUND);
    cairo_set_line_join(context.get(), CAIRO_LINE_JOIN_ROUND);
    cairo_set_source_rgb(context.get(), 1, 1, 1);
    cairo_paint(context.get());
  }

  void take(Colour colour, double opacity = 1) {
    cairo_set_source_rgba(context.get(), colour.red / 255.0, colour.green / 255.0, colour.blue / 255.0,
                          opacity);
  }

  void outline(const Box& box) {
    cairo_rectangle(context.get(), box.left, box.top, box.width(), box.height());
  }
};

Canvas::Canvas(int width, int height) : parts_(std::make_unique<Parts>(width, height)) {
  assert(width > 0 && height > 0);
}

Canvas::~Canvas() = default;
Canvas::Canvas(Canvas&&) noexcept = default;

Box Canvas::bounds() const {
  return {.left = 0,
          .top = 0,
          .right = static_cast<double>(parts_->width),
          .bottom = static_cast<double>(parts_->height)};
}

void Canvas::stroke(std::span<const Segment> way, const Pen& pen) { stroke(way, pen, bounds()); }

void Canvas::stroke(std::span<const Segment> way, const Pen& pen, const Box& clip) {
  if (way.empty()) return;
  cairo_t* const context = parts_->context.get();
  cairo_save(context);
  parts_->outline(clip);
  cairo_clip(context);
  parts_->take(pen.colour);
  cairo_set_line_width(context, pen.thickness);
  if (const double dashes[] = {pen.dash, pen.gap}; pen.dash > 0) {
    cairo_set_line_cap(context, CAIRO_LINE_CAP_BUTT);  // round ends would fill the gaps
    cairo_set_dash(context, dashes, 2, 0);
  }
  // Cairo's numbers end at eight million: what is outside is cut off before.
  const Box near{.left = clip.left - pen.thickness,
                 .top = clip.top - pen.thickness,
                 .right = clip.right + pen.thickness,
                 .bottom = clip.bottom + pen.thickness};
  const Segment* before = nullptr;
  std::vector<Segment> visible;
  for (const Segment& segment : way) {
    const auto part = clipped(segment, near);
    visible.insert(visible.end(), part.begin(), part.end());
  }
  for (const Segment& segment : visible) {
    const bool goes_on =
        before != nullptr && before->to.x == segment.from.x && before->to.y == segment.from.y;
    if (!goes_on) cairo_move_to(context, segment.from.x, segment.from.y);
    cairo_line_to(context, segment.to.x, segment.to.y);
    before = &segment;
  }
  cairo_stroke(context);
  cairo_restore(context);
}

void Canvas::fill(const Box& box, Colour colour, double opacity) {
  parts_->take(colour, opacity);
  parts_->outline(box);
  cairo_fill(parts_->context.get());
}

void Canvas::paste(const Image& picture, const Box& box, double opacity) {
  const Surface source = surface_of(picture);
  cairo_t* const context = parts_->context.get();
  const double across = box.width() / picture.width, along = box.height() / picture.height;
  cairo_save(context);
  parts_->outline(box);
  cairo_clip(context);
  cairo_translate(context, box.left, box.top);
  cairo_scale(context, across, along);
  cairo_set_source_surface(context, source.get(), 0, 0);
  cairo_pattern_t* const pattern = cairo_get_source(context);
  cairo_pattern_set_extend(pattern, CAIRO_EXTEND_PAD);
  cairo_pattern_set_filter(pattern, std::min(across, along) < 1 ? CAIRO_FILTER_GOOD : CAIRO_FILTER_BILINEAR);
  cairo_paint_with_alpha(context, opacity);
  cairo_restore(context);
}

double Canvas::text_width(std::string_view words, double size) const {
  cairo_set_font_size(parts_->context.get(), size);
  cairo_text_extents_t extents;
  cairo_text_extents(parts_->context.get(), printable(words).c_str(), &extents);
  return extents.x_advance;
}

double Canvas::fitting_size(std::string_view words, double room, double wanted) const {
  const double length = text_width(words, wanted);
  return length <= room ? wanted : wanted * room / length;
}

void Canvas::write_centred(std::string_view words, const Box& box, double wanted, Colour colour) {
  const double size = fitting_size(words, box.width(), wanted);
  const double left = (box.left + box.right - text_width(words, size)) / 2;
  write(words, {.x = left, .y = base_line(box, size)}, size, colour);
}

double base_line(const Box& box, double size) {
  return std::round((box.top + box.bottom) / 2 + capital_height / 2 * size);
}

void Canvas::write(std::string_view words, Point start, double size, Colour colour, Direction direction) {
  cairo_t* const context = parts_->context.get();
  cairo_save(context);
  parts_->take(colour);
  cairo_translate(context, start.x, start.y);
  if (direction == Direction::up) cairo_rotate(context, -std::acos(0.0));
  cairo_set_font_size(context, size);
  cairo_move_to(context, 0, 0);
  cairo_show_text(context, printable(words).c_str());
  cairo_restore(context);
}

void Canvas::write_on_picture(std::string_view words, Point start, double size) {
  cairo_t* const context = parts_->context.get();
  cairo_set_font_size(context, size);
  cairo_move_to(context, start.x, start.y);
  cairo_text_path(context, printable(words).c_str());
  parts_->take({.red = 0, .green = 0, .blue = 0}, 0.8);
  cairo_set_line_width(context, size / 5);
  cairo_stroke_preserve(context);
  parts_->take({.red = 255, .green = 255, .blue = 255});
  cairo_fill(context);
}

double Canvas::ink(const Box& box) const {
  const Image drawn = image();
  const int left = std::clamp(static_cast<int>(std::floor(box.left)), 0, drawn.width);
  const int right = std::clamp(static_cast<int>(std::ceil(box.right)), left, drawn.width);
  const int top = std::clamp(static_cast<int>(std::floor(box.top)), 0, drawn.height);
  const int bottom = std::clamp(static_cast<int>(std::ceil(box.bottom)), top, drawn.height);
  int64_t darkness = 0;
  for (int row = top; row < bottom; ++row) {
    const uint8_t* const line =
        drawn.pixels.data() + static_cast<std::size_t>(row) * static_cast<std::size_t>(drawn.width) * 3;
    for (int byte = 3 * left; byte < 3 * right; ++byte) darkness += 255 - line[byte];
  }
  return static_cast<double>(darkness) / (3 * 255);
}

Image Canvas::image() const {
  check_drawn(cairo_status(parts_->context.get()));
  cairo_surface_flush(parts_->surface.get());
  const unsigned char* const bytes = cairo_image_surface_get_data(parts_->surface.get());
  const int stride = cairo_image_surface_get_stride(parts_->surface.get());
  Image image{.width = parts_->width, .height = parts_->height, .channels = 3, .pixels = {}};
  image.pixels.reserve(static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height) * 3);
  for (int row = 0; row < image.height; ++row) {
    const unsigned char* const line = bytes + static_cast<std::ptrdiff_t>(row) * stride;
    for (int column = 0; column < image.width; ++column) {
      const uint32_t pixel =
          *reinterpret_cast<const uint32_t*>(line + static_cast<std::ptrdiff_t>(column) * cairo_bytes);
      for (const unsigned shift : {16U, 8U, 0U})
        image.pixels.push_back(static_cast<uint8_t>(pixel >> shift & 0xffU));
    }
  }
  return image;
}

std::vector<Segment> clipped(const Segment& segment, const Box& box) {
  const double along_x = segment.to.x - segment.from.x, along_y = segment.to.y - segment.from.y;
  // Where an end is cut off it lies on a border, exactly; what is far away has no digits left to say so.
  const auto at = [&](double part) {
    return Point{.x = std::clamp(segment.from.x + part * along_x, box.left, box.right),
                 .y = std::clamp(segment.from.y + part * along_y, box.top, box.bottom)};
  };
  double enters = 0, leaves = 1;
  Segment inside = segment;
  const auto cut = [&](double step, double room, double Point::* across, double border) {
    if (step == 0) return room >= 0;
    double& part = step > 0 ? leaves : enters;
    const double crossed = room / step;
    if (step > 0 ? crossed >= part : crossed <= part) return true;
    part = crossed;
    Point& end = step > 0 ? inside.to : inside.from;
    end = at(crossed);
    end.*across = border;
    return true;
  };
  const bool touches = cut(-along_x, segment.from.x - box.left, &Point::x, box.left) &&
                       cut(along_x, box.right - segment.from.x, &Point::x, box.right) &&
                       cut(-along_y, segment.from.y - box.top, &Point::y, box.top) &&
                       cut(along_y, box.bottom - segment.from.y, &Point::y, box.bottom);
  if (!touches || enters > leaves) return {};
  return {inside};
}

}  // namespace larmor::drawing
