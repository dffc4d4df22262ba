#include "tests/support/seeds.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "larmor/base/text.h"

#include "tests/support/cases.h"
#include "tests/support/dicom_files.h"
#include "tests/support/encoded_pixels.h"
#include "tests/support/image_files.h"
#include "tests/support/jpeg2000_frame.h"
#include "tests/support/picture_files.h"

namespace larmor::testing {

namespace {

std::vector<std::string> nifti_seeds() {
  std::vector<std::string> files;
  for (const int version : {1, 2}) {
    for (const bool big_endian : {false, true}) files.push_back(NiftiBytes(version, big_endian).whole());
  }
  NiftiBytes forms;
  forms.put(252, int16_t{1}).put(254, int16_t{2}).put(280, 1.5F).put(300, 2.0F).put(320, 3.0F).put(256, 0.5F);
  forms.extension = std::string("\x01\0\0\0", 4) + published(int32_t{16}) + std::string(12, '\0');
  files.push_back(forms.put(108, 368.0F).whole());
  files.push_back(NiftiBytes().put(344, int32_t{0}).whole());  // Analyze
  return files;
}

std::vector<std::string> text_header_seeds() {
  const std::string voxels(48, '\7'), zlib = zlib_packed(voxels);
  return {
      nrrd_file(false, "raw", "") + voxels,
      nrrd_file(true, "gzip", "measurement frame: (1,0,0) (0,1,0) (0,0,1)\nbyte skip: 2\n") +
          packed("ab" + voxels),
      "NRRD0001\n# by hand\nkey:=value\ntype: uchar\ndimension: 4\nsizes: 2 3 4 2\nencoding: raw\nspacings: "
      "1 2 nan "
      "nan\nkinds: domain domain domain list\n\n" +
          voxels,
      metaimage_file(false, "CenterOfRotation = 0 0 0\nAnatomicalOrientation = RAI\n") + voxels,
      metaimage_file(true, text("CompressedData = True\nCompressedDataSize = ", zlib.size(), '\n')) + zlib,
      "NDims = 3\nDimSize = 2 3 2\nElementNumberOfChannels = 4\nElementType = MET_UCHAR\nElementDataFile = "
      "LOCAL\n" +
          voxels};
}

std::vector<std::string> png_seeds() {
  std::vector<uint16_t> samples(192);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<uint16_t>(i % 2);
  const auto first = [&](std::size_t count) {
    return std::vector<uint16_t>(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(count));
  };
  return {png_of(6, 8, PngKind::grey, 8, first(48)),       png_of(6, 8, PngKind::grey, 16, first(48)),
          png_of(6, 8, PngKind::grey, 1, first(48)),       png_of(6, 8, PngKind::palette, 4, first(48)),
          png_of(6, 8, PngKind::rgb, 8, first(144)),       png_of(6, 8, PngKind::rgb_alpha, 16, first(192)),
          png_of(6, 8, PngKind::grey_alpha, 8, first(96)), png_of(6, 8, PngKind::grey, 8, first(48), true),
          png_of(6, 8, PngKind::rgb, 16, first(144), true)};
}

std::vector<std::string> jpeg_seeds() {
  return {jpeg_of(20, 18, 1), jpeg_of(20, 18, 3), jpeg_of(20, 18, 1, 50, true), jpeg_of(20, 18, 3, 90, true)};
}

std::string many_frames() {
  DicomBytes file;
  std::string frames;
  for (const char* place : {"1\\2\\3 ", "1\\2\\5 ", "1\\2\\7 "})
    frames +=
        file.item(file.element(0x00209113, "SQ", file.item(file.element(0x00200032, "DS", place))), true);
  file.put(0x00280008, "IS", "3").put(0x52009230, "SQ", frames).drop(0x00200032);
  return file.pixels_of(std::vector<int>(18, 7)).whole();
}

std::vector<std::string> dicom_seeds() {
  std::vector<std::string> files = {many_frames()};
  for (const char* syntax : {explicit_little, implicit_little, explicit_big, deflated_little})
    files.push_back(DicomBytes(syntax).whole());
  std::vector<int> values(64);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i * i);
  for (const char* syntax : {"1.2.840.10008.1.2.4.70", "1.2.840.10008.1.2.4.80", rle_lossless}) {
    DicomBytes file(syntax);
    file.put_short(0x00280010, 8)
        .put_short(0x00280011, 8)
        .put_short(0x00280101, 12)
        .put_short(0x00280102, 11);
    files.push_back(file.fragments_of({encoded_frame(syntax, 8, 8, 12, values)}).whole());
  }
  DicomBytes jpeg2000("1.2.840.10008.1.2.4.90");
  jpeg2000.put_short(0x00280010, 8)
      .put_short(0x00280011, 8)
      .put_short(0x00280101, 12)
      .put_short(0x00280102, 11);
  files.push_back(jpeg2000.fragments_of({jpeg2000_frame(8, 8, 12, values)}).whole());
  DicomBytes colour(jpeg_baseline);
  colour.put_short(0x00280002, 3).put_short(0x00280010, 8).put_short(0x00280011, 8).put_short(0x00280100, 8);
  colour.put_short(0x00280101, 8).put_short(0x00280102, 7).put(0x00280004, "CS", "YBR_FULL");
  files.push_back(colour.put_short(0x00280006, 0).fragments_of({jpeg_of(8, 8, 3)}).whole());
  DicomBytes radiograph;
  radiograph.put(0x00080060, "CS", "DX").put(0x00280004, "CS", "MONOCHROME1").put(0x00281050, "DS", "2");
  files.push_back(radiograph.put(0x00281051, "DS", "4").whole());
  DicomBytes film;
  const std::string table = film.element(0x00283002, "US", std::string("\3\0\1\0\x0a\0", 6)) +
                            film.element(0x00283006, "OW", std::string("\0\0\xff\3\x55\1", 6));
  film.put(0x00080060, "CS", "DX").put(0x00283010, "SQ", film.item(table));
  files.push_back(film.whole());
  DicomBytes mask;
  mask.put_short(0x00280100, 1).put_short(0x00280101, 1).put_short(0x00280102, 0).pixels_of({0x2d}, 8);
  files.push_back(mask.whole());
  return files;
}

std::vector<std::string> series_seeds() {
  std::string plain, packed_slices;
  for (const double z : {1.0, 3.0, 5.0}) {
    plain += (plain.empty() ? "" : std::string(slice_mark)) + DicomBytes().place(1, 2, z).whole();
    DicomBytes implicit(implicit_little);
    packed_slices += (packed_slices.empty() ? "" : std::string(slice_mark)) + implicit.place(1, 2, z).whole();
  }
  DicomBytes other;
  other.put(0x0020000e, "UI", "1.2.3.4");
  return {plain, packed_slices, DicomBytes().whole() + std::string(slice_mark) + other.whole()};
}

std::string tensor_file(const std::string& header, std::size_t bytes) {
  return published(static_cast<uint64_t>(header.size())) + header + std::string(bytes, '\x3f');
}

std::vector<std::string> tensor_seeds() {
  return {
      tensor_file(R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})", 24),
      tensor_file(R"({"__metadata__":{"format":"pt"},"a":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
                  R"("b.weight":{"dtype":"BF16","shape":[4],"data_offsets":[8,16]}})",
                  16),
      tensor_file(R"({"e":{"dtype":"F16","shape":[0,5],"data_offsets":[0,0]},)"
                  R"("u":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})",
                  3),
      tensor_file("{}", 0)};
}

std::vector<std::string> manifest_seeds() {
  const std::string files =
      R"({"name":"model.safetensors","bytes":10,"sha256":"411a485216e432ece6b9af94fa32154cf79a2a56d4f81266baa50063f45092bd"},)"
      R"({"name":"state.json","bytes":2,"sha256":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"})";
  const std::string begin = R"({"format":1,"step":12,"epoch":0.5,"examples":48,"world_size":2,"metric":)";
  return {begin + R"(0.25,"files":[)" + files + R"(],"self":""})", begin + R"(null,"files":[]})",
          R"({"format":2,"step":12})", begin + R"(1,"files":[{"name":"../a","bytes":1,"sha256":"00"}]})"};
}

std::vector<std::string> config_seeds() {
  return {
      "train:\n  length: 100st  # steps\n  micro_batch: 2\noptim: {learning_rate: 1.0e-4, betas: [0.9, "
      "0.99]}\n",
      "data: {kind: nifti, folder: heads, split: {val: [a, b]}}\nparallel:\n  strategy: zero2\n",
      "data:\n  transforms:\n    - RandSpatialCrop: {roi_size: [12, 12, 12]}\n    - Orientation: {axcodes: "
      "RAS}\n",
      R"({"train": {"precision": "bf16"}, // a comment
  "run": {"seed": 7}})",
      R"({"train_batch_size": 8, "zero_optimization": {"stage": 3}, "fp16": {"enabled": true}})"};
}

std::vector<std::string> archive_seeds() {
  CaseFolder folder;
  folder.archive("a.npz", {2, 3}).archive("b.npz", {2, 2, 2, 2});
  const std::string array = "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }\n";
  return {read_whole(folder.path() / "a.npz"), read_whole(folder.path() / "b.npz"),
          std::string("\x93NUMPY\x01\x00", 8) + published(static_cast<uint16_t>(array.size())) + array +
              std::string(12, '\1')};
}

// A part of a table: one row of a small number and a text.
std::string table_seed() {
  const std::string columns = R"([["a","int8"],["b","text"]])";
  const std::string row = std::string(1, '\5') + published(uint64_t{2});
  std::string file = "hi" + row + columns;
  for (const uint64_t number : {uint64_t{2}, uint64_t{2}, uint64_t{9}, uint64_t{1}, uint64_t{11},
                                static_cast<uint64_t>(columns.size())}) {
    file += published(number);
  }
  return file + std::string(64, '0') + "LARMORT1";
}

std::vector<std::string> question_seeds() {
  return {
      R"({"questions": [{"question_id": "q", "question_type": "D02_has_finding", "question": "Is it \u00e9?",
 "question_quality": 3, "answers": [{"answer_type": "main_answer", "text": "Yes", "positiveness": "pos",
 "regions": ["left lung"], "obs_entities": ["nodule"], "modifiers": [["severity", "mild"]]}]}]})",
      R"({"observations": {"O1": {"regions": [{"region": "left lung", "distances": []}], "obs_entities": ["nodule"],
 "localization": {"a": {"image_id": "a", "bboxes": [[1, 2.5, 30, 1e1]]}}}}, "questions": []})"};
}

std::vector<std::string> tokenizer_seeds() {
  return {"[PAD]\n[UNK]\n[CLS]\n[SEP]\nlung\n##s\n",
          "Is th\xc3\xa9re [MASK]an effusion? \xe8\x82\xba e\xcc\x81\xcc\xa3",
          R"({"version": "1.0", "truncation": null, "padding": null,
 "added_tokens": [{"id": 0, "content": "[PAD]", "special": true}],
 "normalizer": {"type": "BertNormalizer", "lowercase": true}, "pre_tokenizer": {"type": "BertPreTokenizer"},
 "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}, "decoder": null,
 "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
 "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "lung": 4}}})"};
}

}  // namespace

std::map<std::string, std::vector<std::string>> seeds() {
  std::map<std::string, std::vector<std::string>> all;
  all["nifti"] = nifti_seeds();
  all["text_header"] = text_header_seeds();
  all["png"] = png_seeds();
  all["jpeg"] = jpeg_seeds();
  all["dicom"] = dicom_seeds();
  all["gzip"] = {packed(NiftiBytes().whole()), packed(""), packed("a") + packed("b")};
  all["npz"] = archive_seeds();
  all["csv"] = {"image,label,patient,split\na.nii,0,p1,train\nb.nii,1,p2,val\n",
                "image\tpatient\n\"a\tb.nii\"\tp\n",
                "image_t1,image_t2,label\r\n\"a\"\"b.nii\",c.nii,m.nii.gz\r\n", "\xef\xbb\xbfimage\nx.nii\n"};
  all["series"] = series_seeds();
  all["safetensors"] = tensor_seeds();
  all["manifest"] = manifest_seeds();
  all["yaml"] = config_seeds();
  all["wire"] = {R"({"agent":1,"agents":2})"
                 "\n"
                 R"({"start":{}})",
                 std::string(32, '\x11') + std::string(48, '\x22'), "one\ntwo\n\nthree",
                 std::string("\0\0\0\3abc", 7) + std::string(32, '\x07')};
  all["host_list"] = {"n[01-03,07],gpu5", "a[1-2]b[3-4]", "2(x3),1", "one", "r[1-4]c[01-16]n[1,3,5-9]"};
  all["json"] = {R"({"train_batch_size": 8, "zero_optimization": {"stage": 3}, "fp16": {"enabled": "auto"}})",
                 R"({"training": [{"image": "a.nii", "label": 1}], "validation": ["b.nii"]})",
                 R"({"test": [{"image": ["a.nii", "b.nii"], "label": "m.nii", "patient": "p"}]})",
                 R"([1, -2.5e3, "\u00e4\ud83d\ude00", null, true, {"a": {"b": []}}])"};
  all["questions"] = question_seeds();
  all["table"] = {table_seed()};
  all["word_piece"] = tokenizer_seeds();
  all["case_list"] = all["csv"];
  all["case_list"].insert(all["case_list"].end(), all["json"].begin() + 1, all["json"].begin() + 3);
  return all;
}

}  // namespace larmor::testing
