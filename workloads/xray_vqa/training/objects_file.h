// The objects of a scene as a person gives them to `predict`: boxes, and where they are known regions and
// entities.
#pragma once

#include <string_view>
#include <vector>

#include "workloads/xray_vqa/data/answer_class.h"
#include "workloads/xray_vqa/data/question_facts.h"

namespace larmor::xray_vqa {

/// The objects of {"objects": [{"box": [x1, y1, x2, y2], "region": "right lung", "entity": "effusion"}, …]}:
/// corners as shares of the picture, names as the run knows them. Each of the three may be left out: the box
/// is then the whole picture, and region or entity none. Throws Error (data): no such JSON, keys of no
/// meaning, a box that is none, names that the run does not know.
std::vector<SceneObject> objects_in_json(std::string_view json, const Vocabularies& vocabularies);

}  // namespace larmor::xray_vqa
