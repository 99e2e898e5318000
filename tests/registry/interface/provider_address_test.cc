#include "signpost/registry/interface/provider_address.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace signpost::interface_internal {
namespace {

absl::StatusOr<EndpointSpec> Of(const std::string& url, ServicePool& pool) {
  const Url parsed = *Url::Parse(url);
  return AddressOf(parsed, parsed.protocol(), pool);
}

TEST(ProviderAddressTest, AThousandProvidersShareOneService) {
  ServicePool pool;
  std::vector<EndpointSpec> specs;
  std::set<const EndpointService*> services;
  for (int i = 0; i < 1000; ++i) {
    const auto spec =
        Of(absl::StrCat("dubbo://192.0.2.", i % 250, ":", 20000 + i,
                        "/org.example.Echo?application=shop&interface=org.example.Echo&"
                        "methods=a,b,c&side=provider&anyhost=true&bind.ip=192.0.2.",
                        i % 250, "&bind.port=", 20000 + i, "&pid=", i, "&token=t", i, "&weight=", i,
                        "&timestamp=", 1700000000000 + i, "&ipv6=2001:db8::", i % 10),
           pool);
    ASSERT_TRUE(spec.ok()) << spec.status();
    services.insert(spec->service.get());
    specs.push_back(*spec);
  }
  EXPECT_EQ(services.size(), 1u);
  EXPECT_EQ(pool.size(), 1u);
  EXPECT_EQ(specs[7].weight, 7);
  EXPECT_EQ(specs[7].timestamp_ms, 1700000000007);
  EXPECT_EQ(specs[7].Get("token"), "t7");
  EXPECT_EQ(specs[7].Get("methods"), "a,b,c");
  EXPECT_EQ(specs[7].service->params.count("timestamp"), 0u);
  services.clear();
  specs.clear();
  EXPECT_EQ(pool.size(), 0u);
}

TEST(ProviderAddressTest, WhatTheUrlSays) {
  ServicePool pool;
  const auto spec =
      Of("tri://[2001:db8::1]:50051/echo?interface=org.example.Echo&group=g&version=1.0.0&"
         "application=shop&dubbo.tag=gray",
         pool);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->host, "2001:db8::1");
  EXPECT_EQ(spec->port, 50051);
  EXPECT_EQ(spec->weight, 100);
  EXPECT_EQ(spec->timestamp_ms, 0);
  EXPECT_EQ(spec->instance_metadata, nullptr);
  EXPECT_EQ(spec->service->name, "g/org.example.Echo:1.0.0");
  EXPECT_EQ(spec->service->protocol, "tri");
  EXPECT_EQ(spec->service->app, "shop");
  EXPECT_EQ(spec->service->revision, "");
  EXPECT_EQ(spec->service->path, "echo");
  EXPECT_EQ(spec->Get("dubbo.tag"), "gray");
  // A simplified URL.
  EXPECT_EQ(Of("tri://h:1/org.example.Echo", pool)->Get("interface"), "org.example.Echo");
}

TEST(ProviderAddressTest, DubboGosSecondsAndZeroWeight) {
  ServicePool pool;
  const auto spec =
      Of("dubbo://h:1/a.A?release=dubbo-golang-3.3.2&weight=0&timestamp=1796008293", pool);
  EXPECT_EQ(spec->weight, 100);
  EXPECT_EQ(spec->timestamp_ms, 1796008293000);
  EXPECT_EQ(Of("dubbo://h:1/a.A?weight=0", pool)->weight, 0);
  EXPECT_EQ(Of("dubbo://h:1/a.A?weight=-5&timestamp=-1", pool)->weight, 0);
  EXPECT_EQ(Of("dubbo://h:1/a.A?weight=many&timestamp=x", pool)->timestamp_ms, 0);
}

TEST(ProviderAddressTest, WithoutHostOrPortItIsNone) {
  ServicePool pool;
  EXPECT_TRUE(absl::IsInvalidArgument(Of("tri://h/a.A", pool).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Of("tri:///a.A", pool).status()));
}

TEST(ProviderAddressTest, ServicesThatDifferAreNotShared) {
  ServicePool pool;
  std::vector<std::shared_ptr<const EndpointService>> all;
  for (const char* url : {"tri://h:1/a.A?x=1", "tri://h:1/a.A?x=2", "tri://h:1/a.A?x=1&y=",
                          "dubbo://h:1/a.A?x=1", "tri://h:1/b?interface=a.A&x=1",
                          "tri://h:1/a.A?x=1&application=a", "tri://h:1/a.A?x=1&group=g"}) {
    all.push_back(Of(url, pool)->service);
  }
  EXPECT_EQ(pool.size(), all.size());
}

TEST(ProviderAddressTest, ServicesThatComeAndGoLeaveNothing) {
  ServicePool pool;
  for (int i = 0; i < 10000; ++i) Of(absl::StrCat("tri://h:1/a.A?x=", i), pool).IgnoreError();
  EXPECT_EQ(pool.size(), 0u);
}

}  // namespace
}  // namespace signpost::interface_internal
