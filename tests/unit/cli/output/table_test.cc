#include "cli/output/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace fairlock::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<Column> Columns() {
  return {{.title = "KEY", .may_shrink = true},
          {.title = "N", .is_right_aligned = true},
          {.title = "OWNER", .may_shrink = true}};
}

TEST(Table, ColumnsAreAsWideAsTheirWidestCell) {
  Table table(Columns(), Screen{});
  table.Add({{"a"}, {"1"}, {"x"}});
  table.Add({{"long:key"}, {"100"}, {"y"}});
  EXPECT_EQ(table.Flush(),
            "KEY         N  OWNER\n"
            "a           1  x\n"
            "long:key  100  y\n");
}

TEST(Table, NoRowsAreNoTable) { EXPECT_EQ(Table(Columns(), Screen{}).Flush(), ""); }

TEST(Table, LineIsNeverWiderThanTheScreen) {
  for (std::size_t columns = 1; columns < 60; ++columns) {
    Table table(Columns(), Screen{.columns = columns});
    table.Add({{std::string(30, 'k')}, {"123456"}, {std::string(50, 'o')}});
    table.Add({{"k"}, {"1"}, {"o"}});
    for (const std::string& line : LinesOf(table.Flush())) EXPECT_LE(line.size(), columns) << line;
  }
}

TEST(Table, ColumnsAreLeftOutInTheirOrderRatherThanMakeAKeyUnreadable) {
  const std::vector<Column> columns = {{.title = "KEY", .may_shrink = true},
                                       {.title = "DB", .drop_order = 2},
                                       {.title = "LONGEST WAIT", .drop_order = 1},
                                       {.title = "OWNER", .may_shrink = true}};
  const auto titles = [&](std::size_t width, bool may_drop) {
    Table table(columns, Screen{.columns = width, .may_drop_columns = may_drop});
    table.Add({{std::string(30, 'k')}, {"0"}, {"1s"}, {std::string(30, 'o')}});
    return LinesOf(table.Flush()).front();
  };
  EXPECT_THAT(titles(80, true), HasSubstr("LONGEST WAIT"));
  EXPECT_THAT(titles(50, true), Not(HasSubstr("LONGEST")));
  EXPECT_THAT(titles(50, true), HasSubstr("DB"));
  EXPECT_THAT(titles(35, true), Not(HasSubstr("DB")));
  EXPECT_THAT(titles(50, false), HasSubstr("LONGEST WAIT"));
}

TEST(Table, WidestColumnShrinksFirstAndNumbersStayWhole) {
  Table table(Columns(), Screen{.columns = 30});
  table.Add({{"short"}, {"123456"}, {std::string(50, 'o')}});
  EXPECT_EQ(table.Flush(),
            "KEY         N  OWNER\n"
            "short  123456  oooooooooooo...\n");
}

TEST(Table, WithoutAnEndOfTheScreenNothingIsCut) {
  Table table(Columns(), Screen{});
  table.Add({{std::string(300, 'k')}, {"1"}, {"o"}});
  EXPECT_THAT(table.Flush(), HasSubstr(std::string(300, 'k')));
}

TEST(Table, LaterPagesKeepTheWidthsOfTheFirstAndHaveNoTitles) {
  Table table(Columns(), Screen{.columns = 20});
  table.Add({{"abcdef"}, {"1"}, {"x"}});
  EXPECT_THAT(table.Flush(), HasSubstr("KEY"));
  table.Add({{"abcdefghij"}, {"2"}, {"y"}});
  EXPECT_EQ(table.Flush(), "abc...  2  y\n");
}

TEST(Table, ColoursDoNotCountAsWidth) {
  Table plain(Columns(), Screen{.columns = 40});
  Table coloured(Columns(), Screen{.has_colours = true, .columns = 40});
  for (Table* table : {&plain, &coloured}) table->Add({{"k", Tint::kBad}, {"1"}, {"o"}});
  const std::string text = coloured.Flush();
  EXPECT_THAT(text, HasSubstr("\x1b[31m"));
  EXPECT_THAT(plain.Flush(), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace fairlock::cli
