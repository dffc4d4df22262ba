#include "larmor/data/index/dicom_filters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/cases.h"

namespace larmor {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

DicomSeries series(const std::string& modality, const std::string& uid, int64_t slices) {
  DicomSeries one{.uid = uid, .files = {"a"}};
  one.modality = modality;
  one.number = uid.substr(uid.rfind('.') + 1);
  one.description = modality == "MR" ? "T1 MPRAGE sag" : "Thorax 1.0";
  one.echo = modality == "MR" ? "2" : "";
  one.slices = slices;
  return one;
}

const DicomSeries ct = series("CT", "1.2.4", 120), mr = series("MR", "1.2.7", 60), scout = [] {
  DicomSeries one = series("CT", "1.2.1", 2);
  one.kind = DicomClass::localizer;
  return one;
}();

/// What is said of the CT, the MR and the scout: words of the keys that leave them out.
std::vector<std::string> said_of_all(DicomFilters& filters) {
  std::vector<std::string> words;
  for (const DicomSeries* one : {&ct, &mr, &scout}) {
    const std::string refusal = filters.refusal(*one);
    words.push_back(refusal.substr(refusal.rfind('.') + 1));
  }
  return words;
}

using Words = std::vector<std::string>;

TEST(DicomFilters, LeaveOutByEachKey) {
  const struct {
    DicomSection wanted;
    Words said;
  } rows[] = {{{}, {"", "", "class"}},
              {{.classes = {}}, {"", "", ""}},
              {{.classes = {"localizer", "image"}}, {"", "", ""}},
              {{.modality = {"mr"}}, {"modality", "", "class"}},
              {{.modality = {"MR", "CT"}}, {"", "", "class"}},
              {{.series = {"1.2.4"}}, {"", "series", "class"}},
              {{.series = {"7"}}, {"series", "", "class"}},
              {{.echo = {2}}, {"echo", "", "class"}},
              {{.description = {"^t1.*sag$", "no such"}}, {"description", "", "class"}},
              {{.min_slices = 100}, {"", "min_slices", "class"}},
              {{.classes = {"image"}, .modality = {"CT"}, .min_slices = 100}, {"", "modality", "class"}}};
  for (const auto& [wanted, said] : rows) {
    DicomFilters filters(wanted);
    EXPECT_EQ(said_of_all(filters), said);
  }
}

TEST(DicomFilters, RefuseAValueThatFitsNothingWithWhatThereIs) {
  const struct {
    DicomSection wanted;
    const char* message;
  } rows[] = {{{.classes = {"image", "dose"}},
               "data.dicom.class: no DICOM object below heads fits dose; there are image (2), localizer (1)"},
              {{.modality = {"PT", "CT"}},
               "data.dicom.modality: no DICOM object below heads that other keys of data.dicom take fits PT; "
               "there are CT (1), MR (1)"},
              {{.series = {"9"}}, "fits 9; there are 4 = 1.2.4 (1), 7 = 1.2.7 (1)"},
              {{.modality = {"MR"}, .echo = {1}}, "fits 1; there are 2 (1)"},
              {{.description = {"flair"}}, "fits flair; there are T1 MPRAGE sag (1), Thorax 1.0 (1)"},
              {{.min_slices = 500}, "fits 500; there are 120 slices (1), 60 slices (1)"}};
  for (const auto& [wanted, message] : rows) {
    DicomFilters filters(wanted);
    said_of_all(filters);
    const auto error = error_of([&] { filters.check_values("heads"); });
    ASSERT_TRUE(error) << message;
    EXPECT_EQ(error->exit(), Exit::data);
    EXPECT_THAT(error->message(), HasSubstr(message));
  }
  DicomFilters filters({.modality = {"PT"}});
  EXPECT_FALSE(error_of([&] { filters.check_values("heads"); })) << "where nothing is, that is the error";
}

TEST(DicomFilters, RefuseWhatIsNoClassAndNoExpression) {
  const auto near = error_of([] { DicomFilters({.classes = {"segmentatoin"}}); });
  ASSERT_TRUE(near);
  EXPECT_EQ(near->exit(), Exit::usage);
  EXPECT_EQ(near->hint(), "did you mean segmentation?");
  const auto odd = error_of([] { DicomFilters({.description = {"t1("}}); });
  ASSERT_TRUE(odd);
  EXPECT_THAT(odd->message(), HasSubstr("t1(, which is no regular expression"));
}

TEST(DicomFilters, ReadDescriptionsOnlyWhereTheyAreAskedFor) {
  EXPECT_EQ(DicomFilters({}).texts(), DicomText::none);
  EXPECT_EQ(DicomFilters({.description = {"t1"}}).texts(), DicomText::description);
}

}  // namespace
}  // namespace larmor
