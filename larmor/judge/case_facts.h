// What tables of people say of the cases of a split: the data list itself, participants.tsv, or any other.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "larmor/config/run_config.h"
#include "larmor/data/dataset.h"
#include "larmor/data/index/index.h"
#include "larmor/task/case_columns.h"

namespace larmor {

/// The columns of a table of which each row is a case's, known by one of its files or its name, or a
/// patient's. That is told by the column in which most of the cases are found; of several such columns files
/// count before patients. Throws Error: usage where fewer than half of the cases are in the table; data as
/// read_fact_table(). A column of which two rows say two things of one case has a fault.
CaseColumns facts_of_table(const std::filesystem::path& table, const DataConfig& data, const Index& index,
                           const Dataset& dataset);

/// The tables that come with the data: data.list, and participants.tsv in the data folder.
std::vector<std::filesystem::path> tables_of_data(const DataConfig& data, const Index& index);

/// What is known of the examples of a split, the first of each name counting that has no fault: the person's
/// own tables, those of the data, and what the stage says of them. A table of the data that tells nothing of
/// these cases is passed over.
CaseColumns known_facts(const std::vector<std::string>& own_tables, const DataConfig& data,
                        const Index& index, const Dataset& dataset, CaseColumns of_stage);

}  // namespace larmor
