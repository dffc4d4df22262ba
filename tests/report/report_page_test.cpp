#include "larmor/report/report_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace larmor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ReportPage, HoldsForeignTextThatNeitherEndsItsElementNorIsChanged) {
  const std::string name = "</script><script>alert(1)</script><!-- \xff";
  const auto page = report_page(Json::array({{{"name", name}}}));
  EXPECT_THAT(page, Not(HasSubstr("alert(1)</script>")));
  const std::string begin = R"(<script id="runs" type="application/json">)";
  const auto from = page.find(begin) + begin.size();
  const auto held = Json::parse(page.substr(from, page.find("</script>", from) - from));
  EXPECT_EQ(held[0]["name"], "</script><script>alert(1)</script><!-- \xef\xbf\xbd");
}

TEST(ReportPage, NeedsNoNetwork) {
  const auto page = report_page(Json::array());
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr(" src=")));
  EXPECT_THAT(page, Not(HasSubstr("<link")));
}

TEST(ReportPage, HasWholeParts) {
  const auto page = report_page(Json::array());
  EXPECT_THAT(page, HasSubstr("https://github.com/danvk/dygraphs/blob/v2.2.1/LICENSE.txt (MIT)"));
  EXPECT_THAT(page, HasSubstr("drawNavigation();\n</script>\n</body>\n</html>\n"));
}

}  // namespace
}  // namespace larmor
