#include "tests/support/jpeg2000_frame.h"

#include <cstddef>
#include <stdexcept>

#include <openjpeg.h>

namespace larmor::testing {

namespace {

/// What the encoder has written; it may go back and overwrite.
struct Written {
  std::string bytes;
  std::size_t at = 0;
};

OPJ_SIZE_T write_some(void* buffer, OPJ_SIZE_T count, void* data) {
  auto& written = *static_cast<Written*>(data);
  if (written.bytes.size() < written.at + count) written.bytes.resize(written.at + count);
  written.bytes.replace(written.at, count, static_cast<const char*>(buffer), count);
  written.at += count;
  return count;
}

OPJ_OFF_T skip_some_written(OPJ_OFF_T count, void* data) {
  static_cast<Written*>(data)->at += static_cast<std::size_t>(count);
  return count;
}

OPJ_BOOL seek_written(OPJ_OFF_T place, void* data) {
  static_cast<Written*>(data)->at = static_cast<std::size_t>(place);
  return OPJ_TRUE;
}

}  // namespace

std::string jpeg2000_frame(int rows, int columns, int bits, const std::vector<int>& values, int samples,
                           bool has_sign, int tile) {
  std::vector<opj_image_cmptparm_t> components(static_cast<std::size_t>(samples));
  for (auto& component : components) {
    component = {};
    component.dx = component.dy = 1;
    component.w = static_cast<OPJ_UINT32>(columns);
    component.h = static_cast<OPJ_UINT32>(rows);
    component.prec = static_cast<OPJ_UINT32>(bits);
    component.sgnd = has_sign ? 1 : 0;
  }
  opj_image_t* const image = opj_image_create(static_cast<OPJ_UINT32>(samples), components.data(),
                                              samples == 3 ? OPJ_CLRSPC_SRGB : OPJ_CLRSPC_GRAY);
  image->x1 = static_cast<OPJ_UINT32>(columns);
  image->y1 = static_cast<OPJ_UINT32>(rows);
  const std::size_t pixels = values.size() / static_cast<std::size_t>(samples);
  for (std::size_t i = 0; i < values.size(); ++i)
    image->comps[i % static_cast<std::size_t>(samples)].data[i / static_cast<std::size_t>(samples)] =
        values[i];
  if (pixels != static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns))
    throw std::runtime_error("another number of values");
  opj_cparameters_t parameters;
  opj_set_default_encoder_parameters(&parameters);
  parameters.tcp_mct = samples == 3 ? 1 : 0;
  parameters.numresolution = 3;
  if (tile > 0) {
    parameters.tile_size_on = OPJ_TRUE;
    parameters.cp_tdx = parameters.cp_tdy = tile;
  }
  opj_codec_t* const codec = opj_create_compress(OPJ_CODEC_J2K);
  opj_stream_t* const stream = opj_stream_default_create(OPJ_FALSE);
  Written written;
  opj_stream_set_user_data(stream, &written, nullptr);
  opj_stream_set_write_function(stream, write_some);
  opj_stream_set_skip_function(stream, skip_some_written);
  opj_stream_set_seek_function(stream, seek_written);
  const bool is_done = opj_setup_encoder(codec, &parameters, image) &&
                       opj_start_compress(codec, image, stream) && opj_encode(codec, stream) &&
                       opj_end_compress(codec, stream);
  opj_stream_destroy(stream);
  opj_destroy_codec(codec);
  opj_image_destroy(image);
  if (!is_done) throw std::runtime_error("OpenJPEG does not encode this");
  return written.bytes;
}

}  // namespace larmor::testing
