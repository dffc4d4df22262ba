#include "workloads/xray_vqa/training/objects_file.h"

#include <algorithm>
#include <string>

#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"

namespace larmor::xray_vqa {
namespace {

constexpr const char* form =
    R"(say {"objects": [{"box": [0.1, 0.2, 0.5, 0.9], "region": "right lung", "entity": "effusion"}]}: )"
    "x1 y1 x2 y2 in [0, 1]; each of the three may be left out";

Box box_in(const Json& json, std::size_t number) {
  Box box;
  const bool is_one = json.is_array() && json.size() == 4 &&
                      std::ranges::all_of(json, [](const Json& corner) { return corner.is_number(); });
  if (is_one) box = {json[0].get<float>(), json[1].get<float>(), json[2].get<float>(), json[3].get<float>()};
  if (!is_one || !lies_inside(box))
    fail(Exit::data, text("the box of object ", number, " is ", json.dump(), ", which is no box"), form);
  return box;
}

int64_t id_of(const char* what, const Json& json, const NameList& names, std::size_t number) {
  if (!json.is_string()) fail(Exit::data, text("the ", what, " of object ", number, " is no name"), form);
  const auto name = json.get<std::string>();
  const int64_t place = names.find(name);
  if (place >= 0) return 1 + place;
  std::vector<std::string> known;
  for (int64_t i = 0; i < names.size(); ++i) known.push_back(names.name(i));
  const auto near = nearest(name, known);
  fail(Exit::data, text("object ", number, ": the run knows no ", what, " `", name, "`"),
       names.size() == 0 ? text("its data name none: leave out ", what)
       : near.empty()    ? text("dataset_info.json of the run lists the names; leave out what none fits")
                         : text("did you mean ", near, "?"));
}

SceneObject object_in(const Json& json, const Vocabularies& vocabularies, std::size_t number) {
  if (!json.is_object()) fail(Exit::data, text("object ", number, " is ", json.dump()), form);
  SceneObject object;
  for (const auto& [key, value] : json.items()) {
    if (key == "box") {
      object.box = box_in(value, number);
    } else if (key == "region") {
      object.region = id_of("region", value, vocabularies.regions, number);
    } else if (key == "entity") {
      object.entity = id_of("entity", value, vocabularies.entities, number);
    } else {
      fail(Exit::data, text("object ", number, " has a key ", key), form);
    }
  }
  return object;
}

}  // namespace

std::vector<SceneObject> objects_in_json(std::string_view json, const Vocabularies& vocabularies) {
  const Json root = parse_json(std::string(json), "objects");
  if (!root.is_object() || root.size() != 1 || !root.contains("objects") || !root.at("objects").is_array() ||
      root.at("objects").empty())
    fail(Exit::data, "objects holds no list of objects", form);
  std::vector<SceneObject> objects;
  for (const Json& one : root.at("objects"))
    objects.push_back(object_in(one, vocabularies, objects.size() + 1));
  return objects;
}

}  // namespace larmor::xray_vqa
