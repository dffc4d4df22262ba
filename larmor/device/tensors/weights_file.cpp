#include "larmor/device/tensors/weights_file.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/ops/isfinite.h>
#include <ATen/ops/sum.h>

#include "larmor/base/error.h"
#include "larmor/base/files/regular_file.h"
#include "larmor/base/json.h"
#include "larmor/base/printable.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

using std::string_view;
namespace fs = std::filesystem;

/// What a file that is no safetensors file begins with.
struct Beginning {
  string_view bytes;
  const char* what;
  const char* hint;
};
constexpr const char* convert = "tools/weights_to_safetensors.py makes a safetensors file of it";
constexpr const char* pickled = "has been saved by PyTorch (.bin, .pt, .pth): a pickle, which could run code";
constexpr std::array<Beginning, 8> other_formats = {{
    {"PK\x03\x04", pickled, convert},
    {"\x80\x02", pickled, convert},
    {"\x80\x03", pickled, convert},
    {"\x80\x04", pickled, convert},
    {"\x80\x05", pickled, convert},
    {"version https://git-lfs", "is what git leaves in the place of a large file", "fetch it: git lfs pull"},
    {"\x89HDF\r\n", "is an HDF5 file, of Keras", "take the weights that were saved for PyTorch"},
    {"GGUF", "is a GGUF file, of llama.cpp", "take the weights that were saved for PyTorch"},
}};

std::string beginning_of(const fs::path& path) {
  const RegularFile file = open_regular(path, Exit::usage);
  std::string beginning(32, '\0');
  beginning.resize(file.read_at(0, std::as_writable_bytes(std::span(beginning))));
  return beginning;
}

/// The length of a safetensors header stands in eight bytes, most of them 0.
bool is_json(string_view beginning) {
  return beginning.starts_with('{') && beginning.substr(0, 8).find('\0') == string_view::npos;
}

void refuse_other_formats(const fs::path& path) {
  const std::string beginning = beginning_of(path);
  for (const Beginning& format : other_formats) {
    if (beginning.starts_with(format.bytes))
      fail(Exit::usage, text(path.string(), " ", format.what), format.hint);
  }
}

/// A name of a file beside the index, and no way to somewhere else.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

NamedTensors read_shards(const fs::path& index) {
  const Json json = read_json(index);
  const auto bad = [&](const std::string& why) {
    fail(Exit::usage, text(index.string(), " is no index of safetensors files: ", why),
         "give the file model.safetensors, or the index that transformers has written");
  };
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object() ||
      json["weight_map"].empty())
    bad("it has no weight_map");
  std::set<std::string> names;
  for (const auto& [tensor, file] : json["weight_map"].items()) {
    if (!file.is_string() || !is_plain_name(file.get<std::string>()))
      bad(text(printable(tensor), " is in no file beside it"));
    names.insert(file.get<std::string>());
  }
  NamedTensors all;
  for (const std::string& name : names) {
    const fs::path shard = index.parent_path() / name;
    refuse_other_formats(shard);
    for (auto& [tensor, values] : read_tensors(shard)) {
      if (!all.emplace(tensor, values).second) bad(text(printable(tensor), " is in two of its files"));
    }
  }
  for (const auto& item : json["weight_map"].items()) {
    if (!all.contains(item.key())) bad(text(printable(item.key()), " is in none of its files"));
  }
  return all;
}

NamedTensors read_any(const fs::path& path) {
  std::error_code unknown;
  if (fs::is_directory(path, unknown))
    fail(Exit::usage, text(path.string(), " is a folder"),
         "give the file in it: model.safetensors, or model.safetensors.index.json where there are several");
  if (is_json(beginning_of(path))) return read_shards(path);
  refuse_other_formats(path);
  return read_tensors(path);
}

/// Training goes on from such weights to no figure, and says that the learning rate is too high.
void refuse_values_that_are_none(const NamedTensors& tensors, const fs::path& path) {
  int64_t count = 0;
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.is_floating_point()) continue;
    const auto here = tensor.numel() - at::isfinite(tensor).sum().item<int64_t>();
    if (here == 0) continue;
    count += here;
    names.push_back(printable(name));
  }
  if (count == 0) return;
  const auto more = names.size() > 1 ? text(" and ", names.size() - 1, " more") : std::string();
  fail(Exit::usage,
       text(path.string(), " holds ", count, count == 1 ? " value that is" : " values that are",
            " NaN or infinite, in ", names.front(), more),
       "take the weights of an earlier checkpoint of the training that they come from");
}

}  // namespace

std::string without_wrappers(std::string name) {
  constexpr string_view compiled = "_orig_mod.";
  constexpr std::array<string_view, 5> before = {"module.", "state_dict.", "model.", "net.", "backbone."};
  for (auto at = name.find(compiled); at != std::string::npos; at = name.find(compiled, at)) {
    if (at == 0 || name[at - 1] == '.')
      name.erase(at, compiled.size());
    else
      ++at;
  }
  const auto stands_before = [&](string_view wrapper) { return name.starts_with(wrapper); };
  for (const auto* wrapper = std::ranges::find_if(before, stands_before); wrapper != before.end();
       wrapper = std::ranges::find_if(before, stands_before))
    name.erase(0, wrapper->size());
  return name;
}

NamedTensors read_published_weights(const fs::path& path) {
  NamedTensors plain;
  for (auto& [name, tensor] : read_any(path)) {
    if (!plain.emplace(without_wrappers(name), tensor).second)
      fail(Exit::usage,
           text(path.string(), " holds ", printable(without_wrappers(name)),
                " twice, under different prefixes"),
           "keep one of the two networks in it: tools/weights_to_safetensors.py takes the one under --key");
  }
  refuse_values_that_are_none(plain, path);
  return plain;
}

}  // namespace larmor
