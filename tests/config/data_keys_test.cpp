#include "larmor/config/data_keys.h"

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/config/load.h"

#include "tests/config/support/made_up_workload.h"

namespace larmor {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Overrides = std::vector<std::string>;

/// What loading says against these sources; "" where it takes them.
std::string complaint_of(const Sources& sources, const WorkloadFields& fields = {}) {
  try {
    load_config(sources, "any", "any", fields);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    return error.message();
  }
  return "";
}

std::string complaint(const Overrides& overrides, const WorkloadFields& fields = {}) {
  return complaint_of(Sources{.files = {}, .environment = {}, .overrides = overrides}, fields);
}

// Another value than the built-in one of each key.
const std::map<std::string, std::string> values = {
    {"folder", "heads"},   {"list", "cases.csv"},        {"layout", "bids"},
    {"include", "[a*]"},   {"exclude", "[b*]"},          {"patient_pattern", "(p[0-9]+)"},
    {"grids", "resample"}, {"phantom_cases", "7"},       {"phantom_size", "[8, 8, 8]"},
    {"phantom_seed", "5"}, {"modalities", "{t1: [t1]}"}, {"workers", "1"},
    {"bad_files", "3"},    {"dicom.min_slices", "2"},    {"exclude_list", "out.txt"}};

const std::set<std::string> of_files = {"folder",  "layout",  "patient_pattern",
                                        "include", "exclude", "exclude_list"};
const std::set<std::string> of_phantoms = {"phantom_cases", "phantom_size", "phantom_seed"};

std::set<std::string> read_by(const std::string& kind) {
  if (kind == "phantom") return of_phantoms;
  std::set<std::string> keys = of_files;
  if (kind != "dicom") keys.insert("modalities");
  if (kind == "dicom") keys.insert("dicom.min_slices");
  if (kind == "list") {
    keys.insert("list");
    keys.erase("layout");
    keys.erase("patient_pattern");
  }
  return keys;
}

TEST(DataKeys, AreRefusedWhereTheKindDoesNotReadThem) {
  for (const char* const kind : {"nifti", "npz", "picture", "dicom", "list", "phantom"}) {
    auto read = read_by(kind);
    read.insert({"workers", "bad_files", "grids"});
    for (const auto& [key, value] : values) {
      Overrides overrides = {text("data.kind=", kind), text("data.", key, '=', value)};
      if (kind == std::string("list") && key != "list") overrides.emplace_back("data.list=cases.csv");
      const std::string said = complaint(overrides);
      if (read.contains(key)) {
        EXPECT_EQ(said, "") << kind << ' ' << key;
      } else {
        EXPECT_THAT(said, AllOf(HasSubstr(text("data.", key, " has no effect")), HasSubstr("data.kind=")))
            << kind;
      }
    }
  }
}

TEST(DataKeys, NameTheKindsThatWouldReadThem) {
  EXPECT_THAT(
      complaint({"data.kind=phantom", "data.list=a.csv"}),
      HasSubstr(
          "command line: data.list has no effect, since data.kind is phantom: data.kind=list reads it"));
}

TEST(DataKeys, AreRefusedInAFileOfAPersonAndInTheEnvironment) {
  const ConfigFile shipped("data: {kind: phantom}\n"), own("data: {folder: heads}\n", "own.yaml");
  const Sources sources{.files = {shipped.path(), own.path()}, .environment = {}, .overrides = {}};
  EXPECT_THAT(complaint_of(sources), HasSubstr("own.yaml:1: data.folder has no effect"));
  const Sources surroundings{
      .files = {shipped.path()}, .environment = {{"LARMOR_DATA__FOLDER", "heads"}}, .overrides = {}};
  EXPECT_THAT(complaint_of(surroundings),
              HasSubstr("environment LARMOR_DATA__FOLDER: data.folder has no effect"));
}

TEST(DataKeys, OfAnEarlierFileMayStandWhereAnotherKindIsNamedLater) {
  const ConfigFile shipped("data: {kind: nifti}\n"), own("data: {folder: heads}\n", "own.yaml");
  EXPECT_EQ(
      complaint_of(
          {.files = {shipped.path(), own.path()}, .environment = {}, .overrides = {"data.kind=phantom"}}),
      "");
}

TEST(DataKeys, ThatTakeBackWhatAnEarlierFileSaysAreTaken) {
  const ConfigFile shipped("data: {kind: nifti, modalities: {t1: [t1]}, include: [a*]}\n"),
      own("data: {kind: phantom, modalities: null, include: []}\n", "own.yaml");
  EXPECT_EQ(complaint_of({.files = {shipped.path(), own.path()}, .environment = {}, .overrides = {}}), "");
}

TEST(DataKeys, OfTheShippedConfigsAndBuiltInValuesAreNobodysWord) {
  const ConfigFile shipped("data: {kind: nifti, phantom_cases: 3}\n");
  EXPECT_EQ(complaint_of({.files = {shipped.path()}, .environment = {}, .overrides = {}}), "");
  EXPECT_EQ(complaint({"data.kind=phantom", "data.folder="}), "") << "the value that it has anyway";
}

TEST(DataKeys, OfAWorkloadAreJudgedByItsOwnRows) {
  int64_t cohort_cases = 2;
  std::string image = "auto";
  const WorkloadFields fields{.data =
                                  [&](Fields& f) {
                                    f.field("cohort_cases", cohort_cases, "patients to invent");
                                    f.section("columns",
                                              [&](Fields& inner) { inner.field("image", image, "column"); });
                                  },
                              .data_kinds = {"cohort"},
                              .data_keys = {{"list", {"columns"}}, {"cohort", {"cohort_cases"}}},
                              .model = [](Fields&) {},
                              .loss = [](Fields&) {},
                              .objectives = {}};
  EXPECT_EQ(complaint({"data.kind=cohort", "data.cohort_cases=9"}, fields), "");
  EXPECT_THAT(complaint({"data.kind=cohort", "data.columns.image=scan"}, fields),
              HasSubstr("data.columns.image has no effect"));
  EXPECT_THAT(complaint({"data.kind=list", "data.list=a.csv", "data.cohort_cases=7"}, fields),
              HasSubstr("data.kind=cohort reads it"));
}

TEST(DataKeys, OfSplitsHaveNoEffectBesideAFold) {
  EXPECT_EQ(complaint({"data.fold=2/5", "data.split.test=0.2"}), "");
  for (const char* key : {"data.split.val=0.3", "data.split.train=[a, b]"})
    EXPECT_THAT(complaint({"data.fold=2/5", key}), HasSubstr("has no effect, since data.fold is 2/5")) << key;
  for (const char* wrong : {"0/5", "6/5", "5", "1/1"})
    EXPECT_THAT(complaint({text("data.fold=", wrong)}), HasSubstr("has to be a fold")) << wrong;
}

}  // namespace
}  // namespace larmor
