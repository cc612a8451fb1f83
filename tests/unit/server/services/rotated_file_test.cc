#include "server/services/rotated_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace fairlock::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class RotatedFileTest : public testing::Test {
 protected:
  RotatedFileTest() {
    std::string made = (std::filesystem::temp_directory_path() / "fairlock-XXXXXX").string();
    EXPECT_NE(mkdtemp(made.data()), nullptr);
    folder_ = made;
    options_ = {.path = folder_ / "file", .bytes_max = 25, .age_ms_max = 1000, .files_max = 2};
  }
  ~RotatedFileTest() override { std::filesystem::remove_all(folder_); }

  std::string Read(const std::string& name) const {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }

  std::filesystem::path folder_;
  RotationOptions options_;
};

TEST_F(RotatedFileTest, IsRenamedWhenItIsLargeAndTheOldestIsRemoved) {
  RotatedFile file(options_);
  ASSERT_EQ(file.Open(0), "");
  for (int i = 0; i < 7; ++i) ASSERT_EQ(file.Append("line " + std::to_string(i) + "1234\n", 0), "");
  EXPECT_EQ(Read("file"), "line 61234\n");
  EXPECT_EQ(Read("file.1"), "line 41234\nline 51234\n");
  EXPECT_EQ(Read("file.2"), "line 21234\nline 31234\n");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "file.3"));
  EXPECT_THAT(RotatedFile::PathsOf(options_),
              ElementsAre(folder_ / "file", folder_ / "file.1", folder_ / "file.2"));
  EXPECT_EQ(std::filesystem::status(folder_ / "file").permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(RotatedFileTest, IsRenamedWhenItsFirstLineIsOldAlsoAfterARestart) {
  Write("file", "{\"at\":5000}\n");
  RotatedFile file(options_);
  ASSERT_EQ(file.Open(5900), "");
  ASSERT_EQ(file.Append("b\n", 5999), "");
  EXPECT_EQ(Read("file"), "{\"at\":5000}\nb\n");
  ASSERT_EQ(file.Append("c\n", 6000), "");
  EXPECT_EQ(Read("file.1"), "{\"at\":5000}\nb\n");
  EXPECT_EQ(Read("file"), "c\n");
}

TEST_F(RotatedFileTest, AnEmptyFileIsNeverRenamedAndZeroFilesAreKept) {
  options_.files_max = 0;
  RotatedFile file(options_);
  ASSERT_EQ(file.Open(0), "");
  ASSERT_EQ(file.Append(std::string(100, 'x') + "\n", 9000), "");
  EXPECT_EQ(Read("file").size(), 101U);
  ASSERT_EQ(file.Append("y\n", 9000), "");
  EXPECT_EQ(Read("file"), "y\n");
  EXPECT_THAT(RotatedFile::PathsOf(options_), ElementsAre(folder_ / "file"));
}

TEST_F(RotatedFileTest, APartOfALineAtTheEndIsCutOff) {
  for (const std::string& part : {std::string("x"), std::string(10'000, 'x')}) {
    options_.bytes_max = 100'000;
    Write("file", "whole\n" + part);
    RotatedFile file(options_);
    ASSERT_EQ(file.Open(0), "");
    ASSERT_EQ(file.Append("next\n", 0), "");
    EXPECT_EQ(Read("file"), "whole\nnext\n");
  }
  Write("file", "no line");
  RotatedFile file(options_);
  ASSERT_EQ(file.Open(0), "");
  EXPECT_EQ(Read("file"), "");
}

TEST_F(RotatedFileTest, OnlyOneProcessWritesToIt) {
  RotatedFile file(options_);
  ASSERT_EQ(file.Open(0), "");
  RotatedFile other(options_);
  EXPECT_THAT(other.Open(0), HasSubstr("another process writes to"));
}

TEST_F(RotatedFileTest, WhatCannotBeWrittenIsExplainedAndTriedAgain) {
  std::filesystem::create_directory(folder_ / "file");
  RotatedFile file(options_);
  EXPECT_THAT(file.Open(0), HasSubstr("cannot write to"));
  EXPECT_THAT(file.Append("a\n", 0), HasSubstr("cannot write to"));
  std::filesystem::remove(folder_ / "file");
  EXPECT_EQ(file.Append("b\n", 0), "");
  EXPECT_EQ(Read("file"), "b\n");
  options_.path = "/dev/null";
  EXPECT_THAT(RotatedFile(options_).Open(0), HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace fairlock::server
