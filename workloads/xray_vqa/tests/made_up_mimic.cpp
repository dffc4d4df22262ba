#include "workloads/xray_vqa/tests/made_up_mimic.h"

#include <cstring>
#include <span>

#include "larmor/base/files/file.h"
#include "larmor/base/seed.h"
#include "larmor/base/text.h"
#include "larmor/formats/gzip.h"

#include "workloads/xray_vqa/data/chexpert.h"

#include "tests/support/image_files.h"
#include "tests/support/picture_files.h"

namespace larmor::xray_vqa {
namespace {

using larmor::testing::write_file;

constexpr int made_up_studies = 6;

std::string packed(const std::string& bytes) {
  const Bytes made = gzip(std::as_bytes(std::span(bytes)));
  return {reinterpret_cast<const char*>(made.data()), made.size()};
}

template <class Number>
void put(std::string& to, Number number) {
  char bytes[sizeof(number)];
  std::memcpy(bytes, &number, sizeof(number));
  to.append(bytes, sizeof(number));
}

std::string folder_of(int study) { return text("p10/p1000000", study); }
std::string name_of_study(int study) { return text("s5000000", study); }

}  // namespace

std::string zip_of(const std::map<std::string, std::string>& files) {
  std::string archive, directory;
  uint16_t count = 0;
  for (const auto& [name, bytes] : files) {
    std::string data = bytes;
    const uint16_t method = count % 2 == 1 ? 8 : 0;
    constexpr std::size_t gzip_header = 10, gzip_trailer = 8;
    if (method == 8) {
      data = packed(bytes);
      data = data.substr(gzip_header, data.size() - gzip_header - gzip_trailer);
    }
    std::string common;  // of both headers, from the version that is needed on
    put(common, uint16_t{20});
    put(common, uint16_t{0});
    put(common, method);
    put(common, uint32_t{0});
    put(common, crc32(std::as_bytes(std::span(bytes))));
    put(common, static_cast<uint32_t>(data.size()));
    put(common, static_cast<uint32_t>(bytes.size()));
    put(common, static_cast<uint16_t>(name.size()));
    put(common, uint16_t{0});
    put(directory, uint32_t{0x02014b50});
    put(directory, uint16_t{20});
    directory += common;
    directory.append(10, '\0');
    put(directory, static_cast<uint32_t>(archive.size()));
    directory += name;
    put(archive, uint32_t{0x04034b50});
    archive += common + name + data;
    ++count;
  }
  const auto place = static_cast<uint32_t>(archive.size());
  archive += directory;
  put(archive, uint32_t{0x06054b50});
  put(archive, uint32_t{0});
  put(archive, count);
  put(archive, count);
  put(archive, static_cast<uint32_t>(directory.size()));
  put(archive, place);
  put(archive, uint16_t{0});
  return archive;
}

Json MadeUpMimic::question(const std::string& type, const std::string& words, const std::string& quality,
                           const Json& answer) {
  Json main = {{"answer_id", "a"},
               {"answer_type", "main_answer"},
               {"text", "made up"},
               {"regions", Json::array()},
               {"obs_entities", Json::array()},
               {"modifiers", Json::array()},
               {"localization", Json::object()},
               {"sub_answers", Json::array()}};
  main.update(answer);
  const Json detail = {{"answer_type", "details"}, {"text", "No."}, {"positiveness", "neg"}};
  return {{"question_id", "q"},
          {"question_type", type},
          {"variables", {{"region", "left lung"}}},
          {"obs_ids", {"O1"}},
          {"extraction_quality", {{"code", 1}}},
          {"question", words},
          {"answers", {detail, main}},
          {"question_quality", quality}};
}

Json MadeUpMimic::qa_document(int study) {
  // Codes of made-up quality_mappings.csv: 1 is A++, 3 is A, 4 is B, 6 is D.
  const auto positive = study % 2 == 1 ? "pos" : "neg";
  Json questions = {
      question("D02_has_finding", text("Is there an effusion? Caf\u00e9 ", study), "1",
               {{"positiveness", positive}}),
      question("C04_is_normal_region", "Is the left lung normal?", "3", {{"positiveness", "pos"}}),
      question("D03_where_is_finding", "Where is the \"effusion\"?", "3",
               {{"regions", {"left lung", "right lung"}}}),
      question("D04_how_severe_is_finding", "How severe is it?", "4",
               {{"modifiers",
                 Json::array({Json::array({"temporal", "new"}), Json::array({"severity", "moderate"})})}}),
      question("D02_has_finding", "Of a low grade?", "6", {{"positiveness", "pos"}}),
      question("B01_describe_all", "Describe the image.", "1", Json::object()),
      question("Z01_sing", "Sing.", "1", Json::object()),
      question("D02_has_finding", "  ", "1", {{"positiveness", "pos"}}),
      question("D03_where_is_finding", "Where is nothing?", "1", {{"regions", {"elsewhere"}}})};
  return {
      {"patient_id", text("p1000000", study)}, {"study_id", name_of_study(study)}, {"questions", questions}};
}

Json MadeUpMimic::scene_graph(int study) {
  const auto box = [&](const char* image, Json corners) {
    return Json({{"image_id", text(image, study)}, {"bboxes", Json::array({std::move(corners)})}});
  };
  return {{"sentences", {{"S1", "made up"}}},
          {"observations",
           {{"O1",
             {{"name", "effusion"},
              {"regions", {{{"region", "left lung"}, {"distances", {1, 2}}}}},
              {"obs_entities", {"pleural effusion", "opacity"}},
              {"localization",
               {{text("lat", study), box("lat", {0, 0, 4, 4})},
                {text("pa", study), box("pa", {10, 5, 30, 15})}}}}},
            {"O2",
             {{"name", "device"},
              {"regions", Json::array()},
              {"obs_entities", {"somewhat else"}},
              {"localization", {{text("pa", study), box("pa", {100, 5, 130, 15})}}}}}}},
          {"study_quality", 2}};
}

std::filesystem::path MadeUpMimic::document(int study) const {
  return documents() / "qa" / folder_of(study) / (name_of_study(study) + ".qa.json");
}

void MadeUpMimic::write_tables() const {
  std::string metadata = "dicom_id,subject_id,study_id,ViewPosition,Rows,Columns\n";
  std::string splits = "dicom_id,study_id,subject_id,split\n";
  std::string chexpert = "subject_id,study_id";
  for (const auto name : chexpert_names) chexpert += text(',', name);
  chexpert += '\n';
  for (int study = 1; study <= made_up_studies; ++study) {
    const std::string ids = text("1000000", study, ",5000000", study);
    const char* const split = study <= 4 ? "train" : study == 5 ? "validate" : "test";
    for (const auto& [image, view] : {std::pair("lat", "LATERAL"), {"ap", "AP"}, {"pa", "PA"}}) {
      if (study == 3 && view != std::string("LATERAL")) continue;
      metadata += text(image, study, ',', ids, ',', view, ",20,40\n");
      splits += text(image, study, ",5000000", study, ",1000000", study, ',', split, '\n');
    }
    chexpert += ids;
    for (const auto name : chexpert_names) {
      chexpert += name == "Pleural Effusion" ? ",1.0"
                  : name == "Pneumonia"      ? ",-1.0"
                  : name == "Edema"          ? ",0.0"
                                             : ",";
    }
    chexpert += '\n';
  }
  write_file(images() / "mimic-cxr-2.0.0-metadata.csv.gz", packed(metadata));
  write_file(images() / "mimic-cxr-2.0.0-split.csv.gz", packed(splits));
  write_file(images() / "mimic-cxr-2.0.0-chexpert.csv.gz", packed(chexpert));
  std::string radiologist = "study_id";
  for (auto name = chexpert_names.rbegin(); name != chexpert_names.rend(); ++name)
    radiologist += text(',', *name);
  radiologist += "\n50000006";
  for (auto name = chexpert_names.rbegin(); name != chexpert_names.rend(); ++name)
    radiologist += *name == "Pneumonia" ? ",1.0" : ",0.0";
  write_file(images() / "mimic-cxr-2.1.0-test-set-labeled.csv", radiologist + "\n");
}

MadeUpMimic::MadeUpMimic(std::filesystem::path folder) : folder_(std::move(folder)) {
  namespace fs = std::filesystem;
  fs::create_directories(images());
  fs::create_directories(documents() / "metadata");
  write_tables();
  const std::string jpeg = larmor::testing::jpeg_of(40, 20, 1);
  for (int study = 1; study <= made_up_studies; ++study) {
    const auto place = images() / "files" / folder_of(study) / name_of_study(study);
    fs::create_directories(place);
    for (const char* const image : {"pa", "ap", "lat"}) write_file(place / text(image, study, ".jpg"), jpeg);
    const auto scene = documents() / "scene_data" / folder_of(study);
    fs::create_directories(document(study).parent_path());
    fs::create_directories(scene);
    write_file(document(study), qa_document(study).dump());
    write_file(scene / (name_of_study(study) + ".scene_graph.json"), scene_graph(study).dump(2));
  }
  write_file(
      documents() / "metadata" / "dataset_info.json",
      Json({{"regions", {"right lung", "left lung"}}, {"finding_entities", {"nodule", "pleural effusion"}}})
          .dump());
  write_file(documents() / "quality_mappings.csv",
             "field,code,grade\nextraction_quality,1,D\nquestion_quality,1,A++\nquestion_quality,2,A+\n"
             "question_quality,3,A\nquestion_quality,4,B\nquestion_quality,5,C\nquestion_quality,6,D\n");
  write_file(vocabulary(), "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nis\nthere\nan\neffusion\n?\n");
}

void write_grey_mimic(const std::filesystem::path& folder, int patients) {
  namespace fs = std::filesystem;
  const fs::path images = folder / "cxr", documents = folder / "qa_set";
  const auto write = [](const fs::path& file, const std::string& bytes) {
    fs::create_directories(file.parent_path());
    write_file(file, bytes);
  };
  std::string metadata = "dicom_id,subject_id,study_id,ViewPosition,Rows,Columns\n";
  std::string splits = "dicom_id,study_id,subject_id,split\n", chexpert = "subject_id,study_id";
  for (const auto name : chexpert_names) chexpert += text(',', name);
  chexpert += '\n';
  const std::string jpeg = larmor::testing::jpeg_of(40, 20, 1);
  for (int number = 0; number < patients; ++number) {
    const std::string id = text(10000100 + number), study = text("5", id.substr(1));
    Draws coin(make_key(/*seed=*/3, /*epoch=*/0, static_cast<uint64_t>(number), "coin"));
    const char* const lung = coin.below(2) == 0 ? "right lung" : "left lung";
    metadata += text("i", id, ',', id, ',', study, ",PA,20,40\n");
    splits += text("i", id, ',', study, ',', id, ',', 5 * number < 4 * patients ? "train" : "validate", '\n');
    chexpert += text(id, ',', study, std::string(chexpert_names.size(), ','), '\n');
    const fs::path below = fs::path(text("p", id.substr(0, 2))) / text("p", id);
    write(images / "files" / below / text("s", study) / text("i", id, ".jpg"), jpeg);
    const Json asked =
        MadeUpMimic::question("D03_where_is_finding", "Where is the effusion?", "A", {{"regions", {lung}}});
    write(documents / "qa" / below / text("s", study, ".qa.json"),
          Json({{"questions", Json::array({asked})}}).dump());
    const Json observation = {{"regions", Json::array({{{"region", lung}}})},
                              {"obs_entities", {"pleural effusion"}}};
    write(documents / "scene_data" / below / text("s", study, ".scene_graph.json"),
          Json({{"observations", {{"O1", observation}}}}).dump());
  }
  write(images / "mimic-cxr-2.0.0-metadata.csv.gz", packed(metadata));
  write(images / "mimic-cxr-2.0.0-split.csv.gz", packed(splits));
  write(images / "mimic-cxr-2.0.0-chexpert.csv.gz", packed(chexpert));
  write(documents / "metadata" / "dataset_info.json",
        Json({{"regions", {"right lung", "left lung"}}, {"finding_entities", {"nodule", "pleural effusion"}}})
            .dump());
  write(folder / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nwhere\nis\nthe\neffusion\n?\n");
}

void MadeUpMimic::zip() const {
  for (const char* const name : {"qa", "scene_data"}) {
    std::map<std::string, std::string> files;
    const auto place = documents() / name;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(place)) {
      if (entry.is_regular_file())
        files[text(name, '/', entry.path().lexically_relative(place).string())] = read_text(entry.path());
    }
    std::filesystem::remove_all(place);
    write_file(documents() / text(name, ".zip"), zip_of(files));
  }
}

}  // namespace larmor::xray_vqa
