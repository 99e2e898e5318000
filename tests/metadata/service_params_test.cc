#include "signpost/metadata/service_params.h"

#include <gtest/gtest.h>

#include <string>

namespace signpost {
namespace {

ServiceInstance Saying(const std::string& params) {
  ServiceInstance instance;
  instance.metadata[std::string(kMetadataServiceParamsKey)] = params;
  return instance;
}

TEST(ServiceParamsTest, ProtocolAndPortAreRead) {
  const auto params = MetadataServiceParamsOf(Saying(
      R"({"version":"1.0.0","serialization":"hessian2","port":"20881","protocol":"dubbo"})"));
  EXPECT_EQ(params.protocol, "dubbo");
  EXPECT_EQ(params.port, 20881);
  EXPECT_EQ(params.ToString(), "dubbo:20881");
  // A number instead of text, as others may write it.
  EXPECT_EQ(MetadataServiceParamsOf(Saying(R"({"port":1,"protocol":"tri"})")).port, 1);
}

TEST(ServiceParamsTest, WhatCannotBeReadIsNone) {
  EXPECT_EQ(MetadataServiceParamsOf(ServiceInstance()).ToString(), "");
  for (const char* bad :
       {"", "{", "[]", "null", R"({"port":"20881"})", R"({"dubbo":{"port":"1"}})"}) {
    EXPECT_EQ(MetadataServiceParamsOf(Saying(bad)).protocol, "") << bad;
  }
  for (const char* bad : {"0", "-1", "65536", "x", "", "99999999999999999999"}) {
    const std::string params = std::string(R"({"protocol":"tri","port":")") + bad + "\"}";
    EXPECT_EQ(MetadataServiceParamsOf(Saying(params)).port, 0) << bad;
  }
}

TEST(ServiceParamsTest, ThePortIsThatOfOneProtocol) {
  const ServiceInstance instance = Saying(R"({"port":"20881","protocol":"dubbo"})");
  EXPECT_EQ(MetadataServicePort(instance, "dubbo"), 20881);
  EXPECT_EQ(MetadataServicePort(instance, "tri"), 0);
}

}  // namespace
}  // namespace signpost
