#include "larmor/data/index/case_list.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/data/index/index.h"
#include "larmor/formats/csv.h"
#include "larmor/formats/file_kinds.h"
#include "larmor/transforms/transforms.h"

namespace larmor {
namespace {

void set_label(ListedCase& entry, const std::string& value) {
  if (names_a_volume(value)) {
    entry.files["label"] = value;
  } else {
    entry.label = value;
  }
}

ListedCase case_of_row(const CsvTable& table, const CsvTable::Row& row, const std::string& place) {
  ListedCase entry;
  entry.place = text(place, ':', row.line);
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const std::string& column = table.columns[i];
    const std::string& cell = row.cells[i];
    if (is_image(column)) entry.modalities.emplace_back(modality_of(column));
    if (is_image(column) && column != "image" && cell.empty()) continue;  // a modality that this case lacks
    if (is_image(column) || is_mask(column)) {
      if (cell.empty()) fail(Exit::data, text(entry.place, ": the cell under ", column, " is empty"));
      entry.files[column] = cell;
    } else if (column == "label") {
      set_label(entry, cell);
    } else if (column == "patient") {
      entry.patient = cell;
    } else if (column == "split" && !cell.empty()) {
      try {
        entry.split = split_from_text(cell);
      } catch (const Error& error) {
        throw error.within(entry.place);
      }
    }
  }
  if (entry.files.empty() || !is_image(entry.files.begin()->first))
    fail(Exit::data, text(entry.place, ": the case has no image: every cell under image_… is empty"));
  if (entry.modalities.size() == 1) entry.modalities.clear();
  return entry;
}

std::vector<ListedCase> read_csv(const std::filesystem::path& path) {
  const std::string place = path.filename().string();
  const CsvTable table = parse_csv(read_text(path), place);
  if (std::none_of(table.columns.begin(), table.columns.end(),
                   [](const auto& name) { return is_image(name); })) {
    const std::string near = nearest("image", table.columns);
    fail(Exit::data, text(place, " has no column image or image_<modality>, only ", table.listed()),
         near.empty() ? "name the column with the paths of the volumes image"
                      : text("rename ", near, " to image"));
  }
  std::vector<ListedCase> cases;
  for (const CsvTable::Row& row : table.rows) cases.push_back(case_of_row(table, row, place));
  return cases;
}

// Numbers and words alike; null is nothing.
std::string plain_text(const Json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string path_of(const Json& value, const std::string& place) {
  if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
    fail(Exit::data, text(place, ": ", value.dump(), " is no path"));
  }
  return value.get<std::string>();
}

void set_images(ListedCase& entry, const Json& image) {
  if (!image.is_array()) {
    entry.files["image"] = path_of(image, entry.place);
    return;
  }
  if (image.empty() || image.size() > 100) {
    fail(Exit::data, text(entry.place, ": ", image.size(), " images, but a case has 1 to 100"));
  }
  if (image.size() == 1) return set_images(entry, image.front());
  for (size_t i = 0; i < image.size(); ++i) {
    entry.modalities.push_back(text(i / 10, i % 10));
    entry.files[name_of_modality(entry.modalities.back())] = path_of(image[i], entry.place);
  }
}

ListedCase case_of_item(const Json& item, std::string place) {
  ListedCase entry;
  entry.place = std::move(place);
  if (item.is_string()) {
    set_images(entry, item);
    return entry;
  }
  if (!item.is_object() || !item.contains("image")) {
    fail(Exit::data, text(entry.place, ": there is no \"image\" in ", item.dump().substr(0, 200)));
  }
  set_images(entry, item.at("image"));
  if (item.contains("label")) set_label(entry, plain_text(item.at("label")));
  if (item.contains("patient")) entry.patient = plain_text(item.at("patient"));
  for (const auto& [name, value] : item.items()) {
    if (is_mask(name)) entry.files[name] = path_of(value, entry.place);
  }
  return entry;
}

struct Section {
  const char* name;
  Split split;
};
constexpr std::array<Section, 4> sections = {{{"training", Split::train},
                                              {"validation", Split::val},
                                              {"test", Split::test},
                                              {"testing", Split::test}}};

std::vector<ListedCase> read_data_list(const std::filesystem::path& path) {
  const Json list = read_json(path);
  const std::string place = path.filename().string();
  const auto has = [&list](const char* name) { return list.contains(name) && !list.at(name).empty(); };
  if (!list.is_object() || std::none_of(sections.begin(), sections.end(), [&](const Section& section) {
        return list.contains(section.name);
      })) {
    fail(Exit::data, text(place, " has no section \"training\", \"validation\" or \"test\""),
         R"(MONAI's form is {"training": [{"image": "a.nii.gz"}], "validation": […]})");
  }
  std::vector<ListedCase> cases;
  for (const auto& [name, split] : sections) {
    if (!list.contains(name)) continue;
    if (!list.at(name).is_array()) fail(Exit::data, text(place, ": \"", name, "\" is not a list of cases"));
    for (size_t i = 0; i < list.at(name).size(); ++i) {
      ListedCase entry = case_of_item(list.at(name)[i], text(place, ": ", name, '[', i, ']'));
      if (split != Split::train || has("validation")) entry.split = split;
      cases.push_back(std::move(entry));
    }
  }
  return cases;
}

}  // namespace

bool names_a_volume(const std::string& path) {
  return !known_suffix(path).empty() || lower(path).ends_with(".img");
}

std::vector<ListedCase> read_case_list(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    fail(Exit::data, text("data.list ", path.string(), " is not there"),
         text("relative paths start from ", std::filesystem::current_path(error).string()));
  }
  const std::string ending = lower(path.extension().string());
  const bool is_table = ending == ".csv" || ending == ".tsv";
  auto cases = is_table ? read_csv(path) : read_data_list(path);
  if (cases.empty()) fail(Exit::data, text("data.list ", path.string(), " names no cases"));
  return cases;
}

}  // namespace larmor
