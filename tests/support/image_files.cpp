#include "tests/support/image_files.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>

#include <libdeflate.h>

#include "larmor/base/text.h"
#include "larmor/formats/gzip.h"

namespace larmor::testing {

namespace {

std::filesystem::path source_folder() {
  const char* const folder = std::getenv("LARMOR_SOURCE");
  return folder != nullptr ? std::filesystem::path(folder) : std::filesystem::current_path();
}

}  // namespace

std::filesystem::path golden_file(const std::string& name) {
  return source_folder() / "tests" / "golden" / name;
}

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string read_whole(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Bytes owned(std::string_view bytes) {
  Bytes copy(bytes.size());
  std::memcpy(copy.data(), bytes.data(), bytes.size());
  return copy;
}

std::string packed(std::string_view bytes) {
  const Bytes result = gzip(as_bytes(bytes));
  std::string text(result.size(), '\0');
  std::memcpy(text.data(), result.data(), result.size());
  return text;
}

NiftiBytes::NiftiBytes(int version, bool big_endian) : big_endian_(big_endian) {
  const int64_t dim[8] = {3, 2, 3, 4, 1, 1, 1, 1};
  const double pixdim[8] = {1, 1.5, 2, 3, 1, 1, 1, 1};
  if (version == 1) {
    header.assign(348, '\0');
    put(0, int32_t{348}).put(70, int16_t{4}).put(72, int16_t{16}).put(108, 352.0F).put(112, 1.0F);
    for (std::size_t i = 0; i < 8; ++i) {
      put(40 + 2 * i, static_cast<int16_t>(dim[i])).put(76 + 4 * i, static_cast<float>(pixdim[i]));
    }
    header.replace(344, 4, std::string("n+1\0", 4));
  } else {
    header.assign(540, '\0');
    put(0, int32_t{540}).put(12, int16_t{4}).put(14, int16_t{16}).put(168, int64_t{544}).put(176, 1.0);
    for (std::size_t i = 0; i < 8; ++i) put(16 + 8 * i, dim[i]).put(104 + 8 * i, pixdim[i]);
    header.replace(4, 8, std::string("n+2\0\r\n\x1a\n", 8));
  }
  std::vector<int16_t> values(24);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int16_t>(i);
  voxels_of(values);
}

std::string zlib_packed(std::string_view bytes) {
  const std::unique_ptr<libdeflate_compressor, void (*)(libdeflate_compressor*)> packer(
      libdeflate_alloc_compressor(6), libdeflate_free_compressor);
  std::string out(libdeflate_zlib_compress_bound(packer.get(), bytes.size()), '\0');
  out.resize(libdeflate_zlib_compress(packer.get(), bytes.data(), bytes.size(), out.data(), out.size()));
  return out;
}

std::string nrrd_file(bool big_endian, const std::string& encoding, const std::string& lines) {
  return text("NRRD0004\ntype: short\ndimension: 3\nspace: left-posterior-superior\nsizes: 2 3 4\n",
              "space directions: (0,2,0) (-1,0,0) (0,0,3)\nspace origin: (10,20,30)\nkinds: domain domain "
              "domain\nendian: ",
              big_endian ? "big" : "little", "\nencoding: ", encoding, '\n', lines, '\n');
}

std::string metaimage_file(bool big_endian, const std::string& lines, const std::string& data_file,
                           const std::string& sizes) {
  return text("ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = ",
              big_endian ? "True" : "False", "\nTransformMatrix = 0 1 0 -1 0 0 0 0 1\nOffset = 10 20 30\n",
              "ElementSpacing = 2 1 3\nDimSize = ", sizes, "\nElementType = MET_SHORT\n", lines,
              "ElementDataFile = ", data_file, '\n');
}

}  // namespace larmor::testing
