// Addresses, through InterfaceRegistry.
#include "signpost/registry/interface/provider_list.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/registry/interface/interface_test.h"
#include "tests/support/kept_log.h"

namespace signpost {
namespace {

class ProviderListTest : public InterfaceTest {};

TEST_F(ProviderListTest, AddressesComeAndGo) {
  auto process = Start();
  auto listener = Subscribe(*process, Consumer());
  ASSERT_EQ(listener->count, 1);
  EXPECT_EQ(listener->last.state.message(),
            "no provider of org.example.Echo: /dubbo/org.example.Echo/providers is empty");
  EXPECT_TRUE(absl::IsNotFound(listener->last.state));
  PutProvider("tri://192.0.2.1:1/org.example.Echo?application=shop&weight=30");
  PutProvider("tri://192.0.2.2:1/org.example.Echo?application=depot");
  EXPECT_EQ(listener->Hosts(), (Texts{"192.0.2.1:1", "192.0.2.2:1"}));
  EXPECT_TRUE(listener->last.state.ok()) << listener->last.state;
  EXPECT_EQ(listener->last.apps, (Texts{"depot", "shop"}));
  Delete(PathOf("tri://192.0.2.2:1/org.example.Echo?application=depot"));
  EXPECT_EQ(listener->Hosts(), Texts{"192.0.2.1:1"});
  EXPECT_EQ(listener->last.apps, Texts{"shop"});
  EXPECT_EQ(listener->last.list->spec(0).weight, 30);
  EXPECT_EQ(listener->last.delta.removed.size(), 1u);
  Delete(PathOf("tri://192.0.2.1:1/org.example.Echo?application=shop&weight=30"));
  EXPECT_EQ(listener->Hosts(), Texts{});
  EXPECT_TRUE(absl::IsNotFound(listener->last.state));
}

// TC-04
TEST_F(ProviderListTest, IPv6ProvidersAreListed) {
  PutProvider("dubbo://192.0.2.1:20880/org.example.Echo?side=provider");
  PutProvider("dubbo://[2001:db8::1]:20880/org.example.Echo?side=provider");
  auto process = Start();
  auto listener = Subscribe(*process, Consumer());
  EXPECT_EQ(listener->Hosts(), (Texts{"192.0.2.1:20880", "[2001:db8::1]:20880"}));
  Texts hosts;
  listener->last.list->ForEach([&](const Endpoint& each) { hosts.push_back(each->host); });
  std::sort(hosts.begin(), hosts.end());
  EXPECT_EQ(hosts, (Texts{"192.0.2.1", "2001:db8::1"}));
}

TEST_F(ProviderListTest, OnlyWhatMatchesCounts) {
  for (const char* url :
       {"tri://192.0.2.1:1/org.example.Echo?group=g&version=1",
        "tri://192.0.2.2:1/org.example.Echo?group=g&version=2",
        "tri://192.0.2.3:1/org.example.Echo", "tri://192.0.2.4:1/org.example.Echo?enabled=false",
        "tri://192.0.2.5:1/org.example.Echo?disabled=true", "tri://192.0.2.6:1/org.example.Other",
        "empty://192.0.2.7:1/org.example.Echo",
        "tri://192.0.2.8:1/org.example.Echo?category=configurators"}) {
    PutProvider(url);
  }
  auto process = Start();
  const auto hosts = [&](const std::string& parameters) {
    return Subscribe(*process, Consumer(parameters))->Hosts();
  };
  EXPECT_EQ(hosts(""), Texts{"192.0.2.3:1"});
  EXPECT_EQ(hosts("&group=g&version=1"), Texts{"192.0.2.1:1"});
  EXPECT_EQ(hosts("&group=*&version=*"), (Texts{"192.0.2.1:1", "192.0.2.2:1", "192.0.2.3:1"}));
  EXPECT_EQ(hosts("&enabled=*"), (Texts{"192.0.2.3:1", "192.0.2.4:1"}));
  // A consumer's own category is where it is registered or what else it watches.
  EXPECT_EQ(hosts("&category=consumers"), Texts{"192.0.2.3:1"});
  auto none = Subscribe(*process, Consumer("&group=x"));
  EXPECT_TRUE(absl::StrContains(none->last.state.message(), "none of 8")) << none->last.state;
}

TEST_F(ProviderListTest, ProtocolsAreChosen) {
  PutProvider("dubbo://192.0.2.1:1/org.example.Echo?ext.protocol=tri");
  PutProvider("tri://192.0.2.2:1/org.example.Echo");
  PutProvider("rest://192.0.2.3:1/org.example.Echo");
  auto process = Start();
  auto listener = Subscribe(*process, Consumer("&protocol=tri,dubbo"));
  EXPECT_EQ(listener->Hosts(), (Texts{"192.0.2.1:1", "192.0.2.2:1"}));
  listener->last.list->ForEach(
      [](const Endpoint& each) { EXPECT_EQ(each->service->protocol, "tri"); });
}

TEST_F(ProviderListTest, TwoNodesOfOneAddressAreOneTheNewerCounts) {
  const std::string url = "tri://192.0.2.1:1/org.example.Echo?application=shop&";
  PutProvider(url + "timestamp=1700000000001&weight=1");
  PutProvider(url + "timestamp=1700000000003&weight=3");
  PutProvider(url + "timestamp=1700000000002&weight=2");
  auto process = Start();
  auto listener = Subscribe(*process, Consumer());
  ASSERT_EQ(listener->last.list->size(), 1u);
  EXPECT_EQ(listener->last.list->spec(0).weight, 3);
  Delete(PathOf(url + "timestamp=1700000000003&weight=3"));
  ASSERT_EQ(listener->last.list->size(), 1u);
  EXPECT_EQ(listener->last.list->spec(0).weight, 2);
  EXPECT_EQ(listener->last.delta.updated.size(), 1u);
  const int count = listener->count;
  Delete(PathOf(url + "timestamp=1700000000001&weight=1"));
  EXPECT_EQ(listener->count, count);
  // Another application at the address is another provider.
  PutProvider("tri://192.0.2.1:1/org.example.Echo?application=new&timestamp=1700000000009");
  EXPECT_EQ(listener->last.delta.added.size(), 1u);
  EXPECT_EQ(listener->last.delta.removed.size(), 1u);
  ASSERT_EQ(listener->last.list->size(), 1u);
  EXPECT_EQ(listener->last.list->spec(0).service->app, "new");
}

TEST_F(ProviderListTest, AThousandProvidersShareARecordAndADeltaIsOfWhatChanged) {
  for (int i = 0; i < 1000; ++i) {
    PutProvider(absl::StrCat("tri://192.0.2.1:", 10000 + i, "/org.example.Echo?application=shop&",
                             "methods=a,b&pid=", i, "&timestamp=", 1700000000000 + i));
  }
  auto process = Start();
  auto listener = Subscribe(*process, Consumer());
  ASSERT_EQ(listener->last.list->size(), 1000u);
  const EndpointService* service = listener->last.list->spec(0).service.get();
  listener->last.list->ForEach(
      [&](const Endpoint& each) { EXPECT_EQ(each->service.get(), service); });
  PutProvider("tri://192.0.2.2:1/org.example.Echo?application=shop&methods=a,b");
  EXPECT_EQ(listener->last.delta.added.size(), 1u);
  EXPECT_TRUE(listener->last.delta.updated.empty() && listener->last.delta.removed.empty());
  EXPECT_EQ(listener->last.delta.added[0]->service.get(), service);
  // Another subscription has the same records.
  auto other = Subscribe(*process, Consumer("&side=consumer"));
  EXPECT_EQ(process->table->size(), 1001u);
}

TEST_F(ProviderListTest, AnOutageKeepsTheListAndSaysSo) {
  PutProvider("tri://192.0.2.1:1/org.example.Echo");
  auto process = Start();
  auto listener = Subscribe(*process, Consumer());
  local_->SetOffline(true);
  executor_->AdvanceAndRun(absl::Seconds(1));
  EXPECT_TRUE(absl::IsUnavailable(listener->last.state)) << listener->last.state;
  EXPECT_EQ(listener->Hosts(), Texts{"192.0.2.1:1"});
  auto late = Subscribe(*process, Consumer("&x=1"));
  EXPECT_EQ(late->count, 1);
  EXPECT_TRUE(absl::IsUnavailable(late->last.state));
  local_->SetOffline(false);
  executor_->AdvanceAndRun(absl::Seconds(10));
  EXPECT_TRUE(listener->last.state.ok());
  EXPECT_EQ(late->Hosts(), Texts{"192.0.2.1:1"});
}

TEST_F(ProviderListTest, EmptyProtectionKeepsTheOldUntilThereIsAProviderAgain) {
  const std::string one = "tri://192.0.2.1:1/org.example.Echo?application=shop";
  const std::string two = "tri://192.0.2.2:1/org.example.Echo?application=shop";
  PutProvider(one);
  PutProvider(two);
  auto process = Start("enable-empty-protection=true");
  auto listener = Subscribe(*process, Consumer());
  Delete(PathOf(two));
  EXPECT_EQ(listener->Hosts(), Texts{"192.0.2.1:1"});
  EXPECT_FALSE(listener->last.kept);

  Delete(PathOf(one));
  EXPECT_EQ(listener->Hosts(), Texts{"192.0.2.1:1"});
  EXPECT_TRUE(listener->last.kept);
  EXPECT_TRUE(absl::IsUnavailable(listener->last.state)) << listener->last.state;
  EXPECT_TRUE(absl::StrContains(listener->last.state.message(), "enable-empty-protection"));
  EXPECT_EQ(listener->last.apps, Texts{"shop"});
  EXPECT_TRUE(listener->last.delta.empty());
  // What matches nobody is no provider.
  const std::string other = "tri://192.0.2.3:1/org.example.Echo?group=other";
  PutProvider(other);
  EXPECT_TRUE(listener->last.kept);
  EXPECT_EQ(listener->Hosts(), Texts{"192.0.2.1:1"});
  // An outage meanwhile.
  local_->SetOffline(true);
  executor_->AdvanceAndRun(absl::Seconds(1));
  EXPECT_TRUE(listener->last.kept);
  EXPECT_EQ(listener->Hosts(), Texts{"192.0.2.1:1"});
  local_->SetOffline(false);
  executor_->AdvanceAndRun(absl::Seconds(10));

  PutProvider(two);
  EXPECT_EQ(listener->Hosts(), Texts{"192.0.2.2:1"});
  EXPECT_FALSE(listener->last.kept);
  EXPECT_TRUE(listener->last.state.ok()) << listener->last.state;
  EXPECT_EQ(listener->last.delta.added.size(), 1u);
  EXPECT_EQ(listener->last.delta.removed.size(), 1u);
  // The same one again is no change of addresses.
  const auto version = listener->last.list->version();
  Delete(PathOf(two));
  PutProvider(two);
  EXPECT_EQ(listener->last.list->version(), version);
  EXPECT_FALSE(listener->last.kept);

  // Who had none has nothing to keep.
  Delete(PathOf(two));
  auto late = Subscribe(*process, Consumer("&x=1"));
  EXPECT_TRUE(late->last.list->empty());
  EXPECT_FALSE(late->last.kept);
  EXPECT_TRUE(absl::IsNotFound(late->last.state)) << late->last.state;
}

TEST_F(ProviderListTest, WhatIsNoAddressIsLeftOutWithAWarning) {
  PutProvider("tri://192.0.2.1/org.example.Echo?token=sesame");
  PutProvider("tri://192.0.2.2:1/org.example.Echo");
  auto process = Start();
  const KeptLog log;
  auto listener = Subscribe(*process, Consumer());
  EXPECT_EQ(listener->Hosts(), Texts{"192.0.2.2:1"});
  ASSERT_EQ(log.lines().size(), 1u);
  EXPECT_TRUE(absl::StrContains(log.text(), "no port"));
  EXPECT_FALSE(absl::StrContains(log.text(), "sesame"));
}

TEST_F(ProviderListTest, AConsumerOfNothingOrAllIsToldSo) {
  auto process = Start();
  for (const char* url : {"consumer://192.0.2.9", "consumer://192.0.2.9/*"}) {
    auto listener = Subscribe(*process, *Url::Parse(url));
    ASSERT_EQ(listener->count, 1) << url;
    EXPECT_TRUE(absl::IsInvalidArgument(listener->last.state)) << listener->last.state;
    EXPECT_TRUE(listener->last.list->empty());
  }
}

}  // namespace
}  // namespace signpost
