// Fills a listing's fields from sources, least trusted first, and remembers where each value came from.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "larmor/config/leaf.h"
#include "larmor/config/load.h"
#include "larmor/config/source.h"

namespace larmor {

/// The dotted keys of a listing.
struct KeyList {
  std::vector<std::string> leaves;
  std::vector<std::string> sections;
  ForeignFlags foreign;  // names of other programs that the workload answers
};
KeyList list_keys(const WorkloadFields& fields);
/// What to say of a key that is not among them; "" where nothing is near.
std::string suggestion(const std::string& key, const KeyList& known);

class Reader final : public LeafVisitor {
 public:
  /// Borrows all. `trees` are mappings, least trusted first; `inheriting` are the sections whose values start
  /// from those of the section around them.
  Reader(std::span<const Node* const> trees, const KeyList& known, std::set<std::string> inheriting,
         Problems& problems);

  void section(const char* name, const std::function<void(Fields&)>& describe) override;
  /// Ends the reading: keys that no field asked for are problems.
  void finish();
  std::vector<Origin> take_origins() { return std::move(origins_); }

 protected:
  void visit(const Leaf& leaf) override;

 private:
  struct Level {
    std::string key;                    // dotted, of the section; "" at the top
    std::vector<const Node*> mappings;  // what each source says of it; null where it is silent
    std::set<std::string> names;        // what the listing asked for so far
    std::string start = "built-in";     // where values come from that no source gives
  };

  std::string key_of(const std::string& name) const;
  void refuse_unknown(const Level& level);
  const KeyList& known_;
  std::set<std::string> inheriting_;
  Problems& problems_;
  std::vector<Level> levels_;
  std::vector<Origin> origins_;
};

}  // namespace larmor
