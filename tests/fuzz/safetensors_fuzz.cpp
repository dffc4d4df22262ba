// libFuzzer target: any bytes are refused with an Error or read as a file of tensors, whole and in parts
// (tests/fuzz/oracles.h). The length of the header is made to fit where it is beyond the file, or a fuzzer
// would hardly come past it; so a cut file is another file.
#include <cstring>

#include "larmor/device/tensors/tensor_file.h"

#include "tests/fuzz/oracles.h"

namespace {

std::string fitted(std::string bytes) {
  uint64_t header = 0;
  if (bytes.size() < sizeof(header) + 2) return bytes;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const uint64_t rest = bytes.size() - sizeof(header);
  if (header > rest && header % 4 != 0) header = 1 + header % rest;  // one of four stays as it is
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

larmor::fuzz::Product read(std::string_view bytes) {
  const auto file = larmor::fuzz::file_of(fitted(std::string(bytes)));
  larmor::Metadata metadata;
  std::string hash;
  const auto tensors = larmor::read_tensors(file, &metadata, &hash);
  const auto opened = larmor::open_tensors(file);
  if (opened.size() != tensors.size())
    larmor::fuzz::broken("read whole and opened, a file has other tensors");
  larmor::fuzz::Product product;
  for (const auto& [name, tensor] : tensors) {
    product.add(name).add(tensor);
    const auto part = opened.at(name).read(0, tensor.numel());
    if (!part.view(tensor.sizes()).equal(tensor) && !tensor.ne(tensor).any().item<bool>())
      larmor::fuzz::broken("read whole and in parts, a tensor differs");
  }
  for (const auto& [key, value] : metadata) product.add(key).add(value);
  return product.add(hash);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  return larmor::fuzz::hold(data, size, read, {.whole = false});
}
