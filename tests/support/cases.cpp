#include "tests/support/cases.h"

#include <cstdint>

#include "larmor/base/text.h"
#include "larmor/formats/gzip.h"

#include "tests/support/image_files.h"

namespace larmor::testing {

CaseFolder& CaseFolder::volume(const std::string& name, int value) {
  NiftiBytes bytes;
  bytes.voxels_of(std::vector<int16_t>(24, static_cast<int16_t>(value)));
  return file(name, name.ends_with(".gz") ? packed(bytes.whole()) : bytes.whole());
}

CaseFolder& CaseFolder::archive(const std::string& name, const std::vector<int>& shape) {
  std::vector<std::string> sizes;
  int count = 1;
  for (const int size : shape) {
    sizes.push_back(text(size));
    count *= size;
  }
  std::string array =
      text("{'descr': '<f4', 'fortran_order': False, 'shape': (", join(sizes, ", "), ",), }\n");
  array = std::string("\x93NUMPY\x01\x00", 8) + published(static_cast<uint16_t>(array.size())) + array;
  for (int i = 0; i < count; ++i) array += published(static_cast<float>(i));

  const std::string member = "arr_0.npy";
  const auto size = published(static_cast<uint32_t>(array.size()));
  const std::string facts = std::string(8, '\0') + published(crc32(as_bytes(array))) + size + size +
                            published(static_cast<uint16_t>(member.size()));
  const std::string version = published(uint16_t{20});
  std::string bytes = "PK\x03\x04" + version + facts + std::string(2, '\0') + member + array;
  const std::string directory = "PK\x01\x02" + version + version + facts + std::string(16, '\0') + member;
  const auto start = static_cast<uint32_t>(bytes.size());
  bytes += directory + "PK\x05\x06" + std::string(4, '\0') + published(uint16_t{1}) + published(uint16_t{1}) +
           published(static_cast<uint32_t>(directory.size())) + published(start) + std::string(2, '\0');
  return file(name, bytes);
}

CaseFolder& CaseFolder::file(const std::string& name, const std::string& bytes) {
  const auto place = path() / name;
  std::filesystem::create_directories(place.parent_path());
  write_file(place, bytes);
  return *this;
}

CaseFolder& CaseFolder::files(const std::vector<std::string>& names) {
  for (const std::string& name : names) file(name, "");
  return *this;
}

}  // namespace larmor::testing
