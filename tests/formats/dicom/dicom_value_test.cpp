#include "larmor/formats/dicom/dicom_value.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/image_files.h"

namespace larmor {
namespace {

using testing::as_bytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(DicomValue, SaysNothingWhereNothingButPaddingStands) {
  for (const auto& padding : {std::string(), std::string("  "), std::string("\0\0", 2)}) {
    EXPECT_FALSE(decimals_of(as_bytes(padding)).value);
    EXPECT_EQ(decimals_of(as_bytes(padding)).fault, "");
    EXPECT_FALSE(code_word_of(as_bytes(padding)).value);
    EXPECT_EQ(code_word_of(as_bytes(padding)).fault, "");
  }
  EXPECT_FALSE(short_of({}, false).value);
  EXPECT_EQ(short_of({}, false).fault, "");
}

TEST(DicomValue, UnderstandsNumbersAsTheStandardWritesThem) {
  EXPECT_THAT(*decimals_of(as_bytes(" +1.5e0 \\-2\\ .5 ")).value, ElementsAre(1.5, -2, 0.5));
  EXPECT_EQ(short_of(as_bytes(std::string_view("\1\2", 2)), false).value, 513);
  EXPECT_EQ(short_of(as_bytes(std::string_view("\1\2", 2)), true).value, 258);
  EXPECT_EQ(code_word_of(as_bytes("MONOCHROME2 ")).value, "MONOCHROME2");
}

TEST(DicomValue, NeverTakesWhatItDoesNotUnderstandForNothing) {
  for (const char* word :
       {"=1024", "2,5", "abc", "0x10", "NaN", "inf", "-1O24", "1\\", "\\1", "1 2", "++1", "1e999"}) {
    EXPECT_FALSE(decimals_of(as_bytes(word)).value) << word;
    EXPECT_EQ(decimals_of(as_bytes(word)).fault, "is no number") << word;
  }
  for (const char* word : {"MONOC\bROME1", "name^of somebody", "ct"})
    EXPECT_EQ(code_word_of(as_bytes(word)).fault, "is no code word") << word;
  EXPECT_THAT(short_of(as_bytes("abcd"), false).fault, HasSubstr("4 bytes long"));
}

}  // namespace
}  // namespace larmor
