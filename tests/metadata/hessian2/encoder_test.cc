#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "signpost/metadata/hessian2/codec.h"
#include "signpost/metadata/hessian2/make_value.h"
#include "signpost/tests/metadata/hessian2/show_value.h"

namespace signpost::hessian2 {
namespace {

std::string Encode(const std::vector<ValuePtr>& values) {
  Encoder encoder;
  for (const ValuePtr& value : values) encoder.Write(*value);
  return encoder.Take();
}

std::string Hex(const std::vector<ValuePtr>& values) {
  return absl::BytesToHexString(Encode(values));
}

std::string Unspaced(absl::string_view hex) { return absl::StrReplaceAll(hex, {{" ", ""}}); }

using Cases = std::vector<std::pair<ValuePtr, const char*>>;

void ExpectAll(const Cases& cases) {
  for (const auto& [value, hex] : cases) EXPECT_EQ(Hex({value}), Unspaced(hex)) << Show(*value);
}

TEST(EncoderTest, NullAndBooleans) {
  ExpectAll({{NullValue(), "4e"}, {BoolValue(true), "54"}, {BoolValue(false), "46"}});
}

TEST(EncoderTest, IntsTakeTheShortestForm) {
  ExpectAll({{IntValue(0), "90"},
             {IntValue(-16), "80"},
             {IntValue(47), "bf"},
             {IntValue(48), "c830"},
             {IntValue(-17), "c7ef"},
             {IntValue(-2048), "c000"},
             {IntValue(2047), "cfff"},
             {IntValue(2048), "d40800"},
             {IntValue(-2049), "d3f7ff"},
             {IntValue(-262144), "d00000"},
             {IntValue(262143), "d7ffff"},
             {IntValue(262144), "4900040000"},
             {IntValue(-262145), "49fffbffff"},
             {IntValue(std::numeric_limits<int32_t>::min()), "4980000000"},
             {IntValue(std::numeric_limits<int32_t>::max()), "497fffffff"}});
}

TEST(EncoderTest, LongsTakeTheShortestForm) {
  ExpectAll({{LongValue(0), "e0"},
             {LongValue(-8), "d8"},
             {LongValue(15), "ef"},
             {LongValue(16), "f810"},
             {LongValue(-9), "f7f7"},
             {LongValue(-2048), "f000"},
             {LongValue(2047), "ffff"},
             {LongValue(2048), "3c0800"},
             {LongValue(-262144), "380000"},
             {LongValue(262143), "3fffff"},
             {LongValue(262144), "5900040000"},
             {LongValue(-2147483648), "5980000000"},
             {LongValue(2147483648), "4c0000000080000000"},
             {LongValue(std::numeric_limits<int64_t>::min()), "4c8000000000000000"}});
}

TEST(EncoderTest, AnIntThatIsNoneIsWrittenAsLong) {
  Value value;
  value.kind = Kind::kInt;
  value.number = int64_t{1} << 40;
  Encoder encoder;
  encoder.Write(value);
  EXPECT_EQ(absl::BytesToHexString(encoder.Take()), "4c0000010000000000");
}

TEST(EncoderTest, DoublesTakeJavasForms) {
  ExpectAll({{DoubleValue(0), "5b"},
             {DoubleValue(1), "5c"},
             {DoubleValue(-128), "5d80"},
             {DoubleValue(127), "5d7f"},
             {DoubleValue(128), "5e0080"},
             {DoubleValue(-32768), "5e8000"},
             {DoubleValue(32768), "5f01f40000"},
             {DoubleValue(12.25), "5f00002fda"},
             {DoubleValue(0.001), "5f00000001"},
             {DoubleValue(1e300), "447e37e43c8800759c"},
             {DoubleValue(-0.0), "448000000000000000"},
             {DoubleValue(std::numeric_limits<double>::infinity()), "447ff0000000000000"},
             {DoubleValue(-std::numeric_limits<double>::infinity()), "44fff0000000000000"}});
  EXPECT_EQ(Encode({DoubleValue(std::nan(""))}).size(), 9u);
}

TEST(EncoderTest, DatesOfWholeMinutesAreShort) {
  ExpectAll({{DateValue(894621091000), "4a000000d04b9284b8"},
             {DateValue(894621060000), "4b00e3838f"},
             {DateValue(-60000), "4bffffffff"},
             {DateValue(-1), "4affffffffffffffff"},
             {DateValue(int64_t{60000} << 31), "4a0000753000000000"}});
}

TEST(EncoderTest, StringsCountUtf16Units) {
  ExpectAll({{StringValue(""), "00"},
             {StringValue("hello"), "0568656c6c6f"},
             {StringValue("\xc3\xa9"), "01c3a9"},
             {StringValue("\xe6\x97\xa5"), "01e697a5"},
             {StringValue("\xf0\x9f\x98\x80"), "02eda0bdedb880"},
             {StringValue(std::string(1, '\0')), "0100"}});
  EXPECT_EQ(Hex({StringValue(std::string(31, 'x'))}).substr(0, 4), "1f78");
  EXPECT_EQ(Hex({StringValue(std::string(32, 'x'))}).substr(0, 6), "302078");
  EXPECT_EQ(Hex({StringValue(std::string(1023, 'x'))}).substr(0, 6), "33ff78");
  EXPECT_EQ(Hex({StringValue(std::string(1024, 'x'))}).substr(0, 8), "53040078");
}

TEST(EncoderTest, LongStringsAreSplitBetweenCharacters) {
  EXPECT_EQ(Hex({StringValue(std::string(0x8000, 'x'))}).substr(0, 8), "53800078");
  EXPECT_EQ(Hex({StringValue(std::string(0x8001, 'x'))}).substr(0, 8), "52800078");
  const std::string text = std::string(0x7fff, 'x') + "\xf0\x9f\x98\x80y";
  const std::string bytes = Encode({StringValue(text)});
  EXPECT_EQ(absl::BytesToHexString(bytes.substr(0, 4)), "527fff78");
  EXPECT_EQ(absl::BytesToHexString(bytes.substr(3 + 0x7fff)), "03eda0bdedb88079");
  const auto back = Decoder(bytes, {}).Next();
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ((*back)->text, text);
}

TEST(EncoderTest, WhatIsNotUtf8BecomesAReplacement) {
  for (const char* text : {"\xff", "\xc3", "\xc0", "\xf5"}) {
    EXPECT_EQ(Hex({StringValue(text)}), "01efbfbd") << absl::CHexEscape(text);
  }
  // Over-long, half a pair, too large, cut short.
  EXPECT_EQ(Hex({StringValue("\xe0\x80\x80")}), Unspaced("03 efbfbd efbfbd efbfbd"));
  EXPECT_EQ(Hex({StringValue("\xed\xa0\xbd")}), Unspaced("03 efbfbd efbfbd efbfbd"));
  EXPECT_EQ(Hex({StringValue("\xf4\x90\x80\x80")}), Unspaced("04 efbfbd efbfbd efbfbd efbfbd"));
  EXPECT_EQ(Hex({StringValue("\xf0\x9f\x98")}), Unspaced("03 efbfbd efbfbd efbfbd"));
  EXPECT_EQ(Hex({StringValue("\xc3y")}), Unspaced("02 efbfbd 79"));
}

TEST(EncoderTest, Binary) {
  ExpectAll({{BinaryValue(""), "20"}, {BinaryValue("\x01\xff"), "2201ff"}});
  EXPECT_EQ(Hex({BinaryValue(std::string(16, 'x'))}).substr(0, 6), "341078");
  EXPECT_EQ(Hex({BinaryValue(std::string(1024, 'x'))}).substr(0, 8), "42040078");
  EXPECT_EQ(Hex({BinaryValue(std::string(0x8000, 'x'))}).substr(0, 8), "42800078");
  const std::string bytes = Encode({BinaryValue(std::string(0x8002, 'x'))});
  EXPECT_EQ(absl::BytesToHexString(bytes.substr(0, 4)), "41800078");
  EXPECT_EQ(bytes.substr(3 + 0x8000), "\x22xx");
}

TEST(EncoderTest, Lists) {
  const Items three = {IntValue(1), IntValue(2), IntValue(3)};
  ExpectAll({{ListValue("", {}), "78"},
             {ListValue("", three), "7b919293"},
             {ListValue("[int", three), "73 045b696e74 919293"},
             {ListValue("", Items(8, NullValue())), "58 98 4e4e4e4e4e4e4e4e"},
             {ListValue("a", Items(8, NullValue())), "56 0161 98 4e4e4e4e4e4e4e4e"}});
}

TEST(EncoderTest, TypesAreWrittenOnce) {
  EXPECT_EQ(Hex({ListValue("a", {}), MapValue("b", {}), ListValue("b", {}), MapValue("a", {})}),
            Unspaced("70 0161  4d 0162 5a  70 91  4d 90 5a"));
}

TEST(EncoderTest, Maps) {
  ExpectAll({{MapValue("", {}), "485a"},
             {MapValue("", {{StringValue("a"), IntValue(1)}}), "48 0161 91 5a"},
             {MapValue("T", {{IntValue(1), NullValue()}}), "4d 0154 91 4e 5a"}});
}

TEST(EncoderTest, ClassesAreWrittenOnce) {
  const auto object = [](const char* type, const char* field) {
    return ObjectValue(type, {{StringValue(field), NullValue()}});
  };
  EXPECT_EQ(Hex({object("A", "f"), object("A", "f")}), Unspaced("43 0141 91 0166 60 4e  60 4e"));
  // The same class with other fields is another one.
  EXPECT_EQ(Hex({ListValue("", {object("A", "f"), object("A", "g"), object("B", "f")})}),
            Unspaced("7b 43 0141 91 0166 60 4e  43 0141 91 0167 61 4e  43 0142 91 0166 62 4e"));
}

TEST(EncoderTest, ClassesThatOnlyLookAlikeAreTwo) {
  const auto object = [](const std::vector<std::string>& names) {
    Entries fields;
    for (const std::string& name : names) fields.emplace_back(StringValue(name), NullValue());
    return ObjectValue("A", fields);
  };
  const std::string zero(1, '\0');
  const std::string shown =
      ShowMessage(Encode({object({"a" + zero, "b"}), object({"a", zero + "b"}), object({"a1:b"})}));
  EXPECT_EQ(shown,
            "object A{\"a\\x00\": null, \"b\": null}\n"
            "object A{\"a\": null, \"\\x00\\x62\": null}\n"
            "object A{\"a1:b\": null}\n");
}

TEST(EncoderTest, ManyClasses) {
  std::vector<ValuePtr> values;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 40; ++i) values.push_back(ObjectValue(absl::StrCat("C", i), {}));
  }
  std::string expected;
  for (const ValuePtr& value : values) absl::StrAppend(&expected, Show(*value), "\n");
  EXPECT_EQ(ShowMessage(Encode(values)), expected);
  EXPECT_EQ(absl::BytesToHexString(Encode(values).substr(Encode(values).size() - 2)), "4fb7");
}

TEST(EncoderTest, WhatIsSharedIsWrittenOnce) {
  const ValuePtr shared = MapValue("", {});
  EXPECT_EQ(Hex({ListValue("", {shared, shared, MapValue("", {})})}),
            Unspaced("7b 485a 5191 485a"));
  // Within one value only: nobody keeps the others.
  EXPECT_EQ(Hex({shared, shared}), "485a485a");
  // References count through all values.
  EXPECT_EQ(Hex({shared, ListValue("", {shared, shared})}), Unspaced("485a 7a 485a 5192"));
}

TEST(EncoderTest, AReferenceBombStaysSmall) {
  ValuePtr value = ListValue("", {});
  for (int i = 0; i < 31; ++i) value = ListValue("", {value, value});
  EXPECT_LT(Encode({value}).size(), 200u);
}

TEST(EncoderTest, TakeBeginsAgainButKnowsWhatWasWritten) {
  Encoder encoder;
  encoder.Write(*ObjectValue("A", {}));
  EXPECT_EQ(absl::BytesToHexString(encoder.Take()), Unspaced("43 0141 90 60"));
  EXPECT_EQ(encoder.Take(), "");
  encoder.Write(*ObjectValue("A", {}));
  EXPECT_EQ(absl::BytesToHexString(encoder.Take()), "60");
}

TEST(EncoderTest, ANullPointerIsNull) {
  EXPECT_EQ(Hex({ListValue("", {nullptr})}), "794e");
  EXPECT_EQ(Hex({ObjectValue("A", {{nullptr, nullptr}})}), Unspaced("43 0141 91 00 60 4e"));
}

}  // namespace
}  // namespace signpost::hessian2
