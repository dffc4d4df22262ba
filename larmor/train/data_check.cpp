#include "larmor/train/data_check.h"

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {

void check_splits(const Index& index, const RunConfig& config) {
  const auto refuse = [&](const char* split, const std::string& hint) {
    fail(Exit::data,
         text("the split ", split, " has no cases: there are ", index.cases.size(), " cases of ",
              index.patients(), " patients (", index.patients_by, ")"),
         hint);
  };
  if (index.of(Split::train).empty())
    refuse("train", "raise data.split.train, or name its patients: data.split.train=[…]");
  if (index.of(Split::val).empty() && config.train.validate_every.amount > 0) {
    refuse("val",
           "raise data.split.val or name its patients: data.split.val=[…]; to train without validation, say "
           "train.validate_every=0");
  }
}

}  // namespace

void check_data(const Index& index, const RunConfig& config) {
  const auto bad = check_files(index);
  if (!bad.empty()) {
    fail(Exit::data,
         text(bad.size(), bad.size() == 1 ? " file" : " files", " cannot be used:", listing(bad, bad.size())),
         "repair or remove them, or leave them out with data.exclude; `larmor prepare` reads every byte of "
         "every file");
  }
  check_splits(index, config);
}

}  // namespace larmor
