#include "signpost/metadata/hessian2/make_value.h"

#include <gtest/gtest.h>

#include "signpost/tests/metadata/hessian2/show_value.h"

namespace signpost::hessian2 {
namespace {

TEST(MakeValueTest, EveryKind) {
  EXPECT_EQ(Show(*NullValue()), "null");
  EXPECT_EQ(Show(*BoolValue(true)), "true");
  EXPECT_EQ(Show(*BoolValue(false)), "false");
  EXPECT_EQ(Show(*IntValue(-5)), "-5");
  EXPECT_EQ(Show(*LongValue(5)), "5L");
  EXPECT_EQ(Show(*DoubleValue(0.5)), "0.5d");
  EXPECT_EQ(Show(*DateValue(7)), "date 7");
  EXPECT_EQ(Show(*StringValue("x")), "\"x\"");
  EXPECT_EQ(Show(*BinaryValue("x")), "binary \"x\"");
  EXPECT_EQ(Show(*ListValue("T", {IntValue(1)})), "T[1]");
  EXPECT_EQ(Show(*MapValue("T", {{IntValue(1), IntValue(2)}})), "T{1: 2}");
  EXPECT_EQ(Show(*ObjectValue("T", {{StringValue("f"), IntValue(2)}})), "object T{\"f\": 2}");
}

TEST(MakeValueTest, TheCommonOnesAreThereOnce) {
  EXPECT_EQ(NullValue(), NullValue());
  EXPECT_EQ(BoolValue(true), BoolValue(true));
  EXPECT_EQ(StringValue(""), StringValue(""));
  EXPECT_NE(StringValue("x"), StringValue("x"));
}

}  // namespace
}  // namespace signpost::hessian2
