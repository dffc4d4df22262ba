#include "app/build_words.h"

#include "larmor/base/text.h"
#include "larmor/base/version.h"
#include "larmor/device/device.h"
#include "larmor/hardware/gpu_obstacle.h"

#include "app/commit.h"

namespace larmor::app {

const char* commit() { return LARMOR_COMMIT; }

std::string build_line() {
  const auto libraries = library_versions();
  return text("larmor ", version(), " commit=", commit(), " libtorch=", libraries.libtorch,
              " cuda=", libraries.cuda.empty() ? "none" : libraries.cuda);
}

Json versions_of(const Hardware& hardware) {
  const auto libraries = library_versions();
  Json json;
  json["larmor"] = version();
  json["commit"] = commit();
  json["libtorch"] = libraries.libtorch;
  json["cuda_runtime"] = libraries.cuda;
  json["cudnn"] = libraries.cudnn;
  json["nccl"] = libraries.nccl;
  json["driver"] = hardware.driver_version;
  json["architectures"] = libraries.cuda.empty() ? Json::array() : Json(compiled_capabilities());
  return json;
}

}  // namespace larmor::app
