// Small good files of every format that is read: what mutation tests and fuzz targets begin with.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace larmor::testing {

/// Between the slices of a series in one seed.
inline constexpr std::string_view slice_mark = "|slice|";

/// By format: nifti, text_header, png, jpeg, dicom, series, gzip, npz, csv, json, yaml, case_list,
/// safetensors, manifest, wire, host_list.
std::map<std::string, std::vector<std::string>> seeds();

}  // namespace larmor::testing
