// What is told of single cases beside a split's figures, by columns.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "larmor/base/declared_figure.h"
#include "larmor/task/metrics.h"

namespace larmor {

/// Words or numbers of cases, not both. A case that has none is not among them.
struct CaseColumn {
  std::string name, meaning = {}, unit = {};
  std::map<int64_t, std::string> words = {};  // by example
  std::map<int64_t, double> numbers = {};     // by example
  std::string fault = {};                     // why it cannot be gone by; empty where it can
};
using CaseColumns = std::vector<CaseColumn>;

/// Something that is there or not, with a score that is higher where it is: a label of a study, say. Of rows,
/// each of a case.
struct ScoredTruths {
  struct Row {
    int64_t example = 0;
    bool truth = false;
    double score = 0;
  };
  std::string name;
  std::vector<Row> rows = {};
};

/// Null where there is no column of that name. Borrows the list.
const CaseColumn* column_named(const CaseColumns& columns, const std::string& name);

/// Columns of what a task has noted of single cases under the name of a declared figure, or under one and a
/// part's: "psnr t1" becomes psnr_t1.
CaseColumns noted_figures(const DeclaredFigures& declared, const CaseValues& cases);

}  // namespace larmor
