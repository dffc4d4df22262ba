#include "larmor/config/values.h"

#include <utility>

#include "larmor/base/text.h"
#include "larmor/config/leaf.h"

namespace larmor {
namespace {

class ValueLister final : public LeafVisitor {
 public:
  void section(const char* name, const std::function<void(Fields&)>& describe) override {
    const std::string around = std::exchange(prefix_, text(prefix_, name, '.'));
    describe(*this);
    prefix_ = around;
  }

  std::map<std::string, std::string> values;

 protected:
  void visit(const Leaf& leaf) override { values[prefix_ + leaf.name] = value_text(leaf); }

 private:
  std::string prefix_;
};

}  // namespace

std::map<std::string, std::string> values_of(const RunConfig& config, const WorkloadFields& fields) {
  RunConfig listed = config;  // a listing could write
  ValueLister lister;
  describe(listed, fields, lister);
  return std::move(lister.values);
}

}  // namespace larmor
