// Small good files of every format that is read: what mutation tests and fuzz targets begin with.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace larmor::testing {

/// By format: nifti, png, jpeg, dicom, gzip, npz, csv, json.
std::map<std::string, std::vector<std::string>> seeds();

}  // namespace larmor::testing
