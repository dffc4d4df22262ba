#include "tests/support/seeds.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tests/support/cases.h"
#include "tests/support/dicom_files.h"
#include "tests/support/encoded_pixels.h"
#include "tests/support/image_files.h"
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
  forms.extension = std::string("\x01\0\0\0", 4) + laid_out(int32_t{16}) + std::string(12, '\0');
  files.push_back(forms.put(108, 368.0F).whole());
  files.push_back(NiftiBytes().put(344, int32_t{0}).whole());  // Analyze
  return files;
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
  DicomBytes colour(jpeg_baseline);
  colour.put_short(0x00280002, 3).put_short(0x00280010, 8).put_short(0x00280011, 8).put_short(0x00280100, 8);
  colour.put_short(0x00280101, 8).put_short(0x00280102, 7).put(0x00280004, "CS", "YBR_FULL");
  files.push_back(colour.put_short(0x00280006, 0).fragments_of({jpeg_of(8, 8, 3)}).whole());
  DicomBytes radiograph;
  radiograph.put(0x00080060, "CS", "DX").put(0x00280004, "CS", "MONOCHROME1").put(0x00281050, "DS", "2");
  files.push_back(radiograph.put(0x00281051, "DS", "4").whole());
  DicomBytes mask;
  mask.put_short(0x00280100, 1).put_short(0x00280101, 1).put_short(0x00280102, 0).pixels_of({0x2d}, 8);
  files.push_back(mask.whole());
  return files;
}

std::vector<std::string> archive_seeds() {
  CaseFolder folder;
  folder.archive("a.npz", {2, 3}).archive("b.npz", {2, 2, 2, 2});
  const std::string array = "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }\n";
  return {read_whole(folder.path() / "a.npz"), read_whole(folder.path() / "b.npz"),
          std::string("\x93NUMPY\x01\x00", 8) + laid_out(static_cast<uint16_t>(array.size())) + array +
              std::string(12, '\1')};
}

}  // namespace

std::map<std::string, std::vector<std::string>> seeds() {
  std::map<std::string, std::vector<std::string>> all;
  all["nifti"] = nifti_seeds();
  all["png"] = png_seeds();
  all["jpeg"] = jpeg_seeds();
  all["dicom"] = dicom_seeds();
  all["gzip"] = {packed(NiftiBytes().whole()), packed(""), packed("a") + packed("b")};
  all["npz"] = archive_seeds();
  all["csv"] = {"image,label,patient,split\na.nii,0,p1,train\nb.nii,1,p2,val\n",
                "image\tpatient\n\"a\tb.nii\"\tp\n",
                "image_t1,image_t2,label\r\n\"a\"\"b.nii\",c.nii,m.nii.gz\r\n", "\xef\xbb\xbfimage\nx.nii\n"};
  all["json"] = {R"({"train_batch_size": 8, "zero_optimization": {"stage": 3}, "fp16": {"enabled": "auto"}})",
                 R"({"training": [{"image": "a.nii", "label": 1}], "validation": ["b.nii"]})",
                 R"({"test": [{"image": ["a.nii", "b.nii"], "label": "m.nii", "patient": "p"}]})",
                 R"([1, -2.5e3, "\u00e4\ud83d\ude00", null, true, {"a": {"b": []}}])"};
  return all;
}

}  // namespace larmor::testing
