#include "larmor/ranks/job.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/process/memory_file.h"
#include "larmor/base/text.h"

namespace larmor::ranks {
namespace {

/// The environment of a rank whose job says that.
class AsRank {
 public:
  explicit AsRank(const std::string& job) : file_(memory_file(job, "a test")) {
    for (const auto& [name, value] : {std::pair{"LARMOR_RANK", "1"},
                                      {"LARMOR_WORLD_SIZE", "2"},
                                      {"LARMOR_LOCAL_RANK", "1"},
                                      {"LARMOR_LOCAL_WORLD_SIZE", "2"},
                                      {"LARMOR_MASTER_ADDR", "127.0.0.1"},
                                      {"LARMOR_MASTER_PORT", "1"}})
      set(name, value);
    set("LARMOR_JOB_FD", text(file_.number()));
  }
  ~AsRank() {
    for (const auto& name : names_) unsetenv(name.c_str());
  }
  AsRank(const AsRank&) = delete;
  AsRank& operator=(const AsRank&) = delete;

 private:
  void set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    names_.push_back(name);
  }
  Descriptor file_;
  std::vector<std::string> names_;
};

TEST(Job, IsReadByARankAsItWasWritten) {
  Job job{.request = {{"cases", {1, 2}}, {"word", "w\xc3\xb6rter"}}};
  job.plan.threads_per_rank = 3;
  job.plan.global_batch = 2;
  job.plan.ranks = {{.device = -1, .cores = {0}}, {.device = -1, .cores = {1}}};
  const AsRank here(to_text(job));
  const auto read = inherited_job();
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(to_json(read->plan), to_json(job.plan));
  EXPECT_EQ(read->request, job.request);
  ASSERT_TRUE(read->rank.has_value());
  EXPECT_EQ(read->rank->index, 1);
  EXPECT_EQ(read->means, Job::Means::here) << "it is one";
}

TEST(Job, IsNoneWhereNobodyHasStartedARank) { EXPECT_FALSE(inherited_job().has_value()); }

TEST(Job, ThatCannotBeReadIsRefused) {
  const AsRank torn(R"({"plan": )");
  EXPECT_THROW(inherited_job(), Error);
}

TEST(Job, OfAPlanOfThreadsIsOneProcess) {
  Job job;
  job.plan.global_batch = 2;
  job.plan.strategy = Strategy::dp;
  job.plan.ranks = {{.device = -1, .cores = {}}, {.device = -1, .cores = {}}};
  const AsRank here(to_text(job));
  EXPECT_EQ(inherited_job()->means, Job::Means::threads);
}

}  // namespace
}  // namespace larmor::ranks
