// Which column of a table holds what, for tables whose columns everybody names as he likes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/formats/csv.h"

namespace larmor {

/// A column that somebody needs.
struct WantedColumn {
  const char* key;      // of data.columns, where a person says which it is: "time"
  const char* meaning;  // for messages: "the time of the event"
  /// What it may be called, the likeliest first, in small letters and digits alone: blanks, -, _ and points
  /// of the table's names do not count. A name that ends in * may go on.
  std::vector<std::string_view> names;
};

constexpr int64_t no_column = -1;

/// The number of the column called `asked`; for "auto" of the one that the names find, or no_column where
/// none does and it is not needed. `place` names the table. Throws Error (data), naming the columns that
/// there are: none is found, or several could be the one.
int64_t find_column(const CsvTable& table, const WantedColumn& wanted, const std::string& asked,
                    bool is_needed, const std::string& place);

/// Whether a column may be the wanted one: it is called `asked`, or for "auto" as one of the names.
bool may_be(const std::string& column, const WantedColumn& wanted, const std::string& asked);

}  // namespace larmor
