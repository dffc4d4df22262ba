// `prepare`: the index of a workload's data and the integrity of every file, before any run.
#include <iostream>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/index.h"

#include "app/program.h"

namespace larmor::app {

namespace {

Json splits_of(const Index& index) {
  Json splits;
  for (const auto split : {Split::train, Split::val, Split::test})
    splits[to_text(split)] = index.of(split).size();
  return splits;
}

int prepare(Program& program) {
  auto& workload = program.workload(program.words().target);
  const auto config = program.load(workload);
  const auto index = make_index(config.config.data, static_cast<uint64_t>(config.config.run.seed));
  if (!program.words().quiet) std::cerr << index.patients_by << "\nreading every file …\n";
  const auto bad = check_files(index, Depth::full);
  Json json;
  json["index"]["cases"] = index.cases.size();
  json["index"]["patients"] = index.patients();
  json["index"]["splits"] = splits_of(index);
  json["index"]["sha256"] = index.sha256();
  json["cache"] = nullptr;
  json["bad"] = Json::array();
  std::string lines = text(index.cases.size(), " cases, sha256 ", index.sha256(), "\n");
  for (const auto& file : bad) {
    Json row;
    row["path"] = file.path;
    row["reason"] = file.reason;
    json["bad"].push_back(row);
    lines += text("  bad: ", file.path, ": ", file.reason, "\n");
  }
  if (bad.empty()) lines += "every file is whole\n";
  program.show(json, lines);
  if (bad.empty()) return 0;
  fail(Exit::data,
       text(bad.size(), bad.size() == 1 ? " file" : " files", " below ", index.folder.string(),
            " cannot be used"),
       "repair or remove them, or leave them out with data.exclude");
}

}  // namespace

void add_prepare(Program& program) {
  program.add_workload_verb("prepare", "index the data and read every file once",
                            [&program] { return prepare(program); });
}

}  // namespace larmor::app
