#include "signpost/registry/application/application_registry.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/registry/application/application_test.h"

namespace signpost {
namespace {

TEST_F(ApplicationRegistryTest, WhatOneExportsAnotherFinds) {
  auto provider = Start("shop");
  auto consumer = Start("");
  auto listener = std::make_shared<Recorder>();
  consumer->registry->Subscribe(Consumer(), listener);
  Run();
  ASSERT_EQ(listener->count, 1);
  EXPECT_TRUE(absl::IsNotFound(listener->last.state));
  EXPECT_EQ(listener->last.state.message(), "no mapping for org.example.Echo");

  Export(*provider, "tri://192.0.2.1:50051/org.example.Echo?side=provider&weight=30");
  EXPECT_EQ(listener->Hosts(), Hosts{"192.0.2.1:50051"});
  EXPECT_TRUE(listener->last.state.ok()) << listener->last.state;
  EXPECT_EQ(listener->last.apps, std::vector<std::string>{"shop"});
  EXPECT_EQ(listener->last.list->spec(0).weight, 30);
  const RegisteredState state = provider->registry->registered();
  EXPECT_FALSE(state.revision.empty());
  EXPECT_EQ(state.paths.back(), "/services/shop/192.0.2.1:50051");

  std::optional<absl::Status> done;
  provider->registry->UnregisterAll({}, [&](absl::Status s) { done = s; });
  executor_->RunUntilIdle();
  ASSERT_TRUE(done.has_value() && done->ok());
  EXPECT_TRUE(listener->last.list->empty());
  EXPECT_TRUE(absl::IsNotFound(listener->last.state)) << listener->last.state;
}

TEST_F(ApplicationRegistryTest, ExportsWithinTheDebounceAreOneRevisionAndLaterOnesUpdateInPlace) {
  auto provider = Start("shop");
  provider->registry->Register(*Url::Parse("tri://192.0.2.1:50051/a.A"), {}, [](absl::Status) {});
  provider->registry->Register(*Url::Parse("tri://192.0.2.1:50051/a.B"), {}, [](absl::Status) {});
  Run();
  std::vector<StoreChild> documents;
  const auto list = [&] {
    admin_->List("/dubbo/metadata/shop", {},
                 [&](absl::StatusOr<std::vector<StoreChild>> c) { documents = *c; });
    executor_->RunUntilIdle();
  };
  list();
  EXPECT_EQ(documents.size(), 1u);
  const std::string before = provider->registry->registered().revision;
  Export(*provider, "tri://192.0.2.1:50051/a.C");
  EXPECT_NE(provider->registry->registered().revision, before);
  list();
  EXPECT_EQ(documents.size(), 2u);
}

TEST_F(ApplicationRegistryTest, ANewSessionWritesTheInstanceAgain) {
  auto provider = Start("shop");
  auto consumer = Start("");
  auto listener = std::make_shared<Recorder>();
  Export(*provider, "tri://192.0.2.1:50051/org.example.Echo");
  consumer->registry->Subscribe(Consumer(), listener);
  Run();
  EXPECT_EQ(listener->Hosts(), Hosts{"192.0.2.1:50051"});
  local_->ExpireSession(provider->centre->store());
  Run();
  EXPECT_EQ(listener->Hosts(), Hosts{"192.0.2.1:50051"});
  std::optional<StoreValue> node;
  admin_->Get("/services/shop/192.0.2.1:50051", {},
              [&](absl::StatusOr<StoreValue> v) { node = *v; });
  executor_->RunUntilIdle();
  EXPECT_TRUE(node->session_bound);
}

TEST_F(ApplicationRegistryTest, WhatFailsIsWrittenWhenTheCentreIsBack) {
  auto provider = Start("shop");
  local_->SetOffline(true);
  std::optional<absl::Status> done;
  CallOptions patient;
  patient.timeout = absl::Minutes(10);
  provider->registry->Register(*Url::Parse("tri://192.0.2.1:50051/a.A"), patient,
                               [&](absl::Status s) { done = s; });
  executor_->AdvanceAndRun(absl::Seconds(20));
  EXPECT_FALSE(done.has_value());
  local_->SetOffline(false);
  executor_->AdvanceAndRun(absl::Seconds(40));
  ASSERT_TRUE(done.has_value());
  EXPECT_TRUE(done->ok()) << *done;
}

// TC-04
TEST_F(ApplicationRegistryTest, IPv6InstancesAreListed) {
  Put("/dubbo/mapping/org.example.Echo", "shop");
  PutDocument("shop", "r1");
  PutInstance("shop", "192.0.2.1", "r1");
  PutInstance("shop", "2001:db8::1", "r1");
  auto consumer = Start("");
  auto listener = std::make_shared<Recorder>();
  consumer->registry->Subscribe(Consumer(), listener);
  Run();
  EXPECT_EQ(listener->Hosts(), (Hosts{"192.0.2.1:20880", "[2001:db8::1]:20880"}));
  std::map<std::string, int> ports;
  listener->last.list->ForEach([&](const Endpoint& each) { ports[each->host] = each->port; });
  EXPECT_EQ(ports, (std::map<std::string, int>{{"192.0.2.1", 20880}, {"2001:db8::1", 20880}}));
}

// TC-08
TEST_F(ApplicationRegistryTest, MappingChangesAreFollowed) {
  for (const char* app : {"old", "new"}) PutDocument(app, std::string("r-") + app);
  PutInstance("old", "192.0.2.1", "r-old");
  PutInstance("new", "192.0.2.2", "r-new");
  auto consumer = Start("");
  auto listener = std::make_shared<Recorder>();
  consumer->registry->Subscribe(Consumer(), listener);
  Run();
  EXPECT_EQ(listener->Hosts(), Hosts{});
  Put("/dubbo/mapping/org.example.Echo", "old");
  Run();
  EXPECT_EQ(listener->Hosts(), Hosts{"192.0.2.1:20880"});
  Put("/dubbo/mapping/org.example.Echo", "old,new");
  Run();
  EXPECT_EQ(listener->Hosts(), (Hosts{"192.0.2.1:20880", "192.0.2.2:20880"}));
  Put("/dubbo/mapping/org.example.Echo", "new");
  Run();
  EXPECT_EQ(listener->Hosts(), Hosts{"192.0.2.2:20880"});
}

// TC-12
TEST_F(ApplicationRegistryTest, MetadataThatComesLateIsFoundWithoutAnEvent) {
  Put("/dubbo/mapping/org.example.Echo", "shop");
  PutDocument("shop", "r1");
  PutInstance("shop", "192.0.2.1", "r1");
  PutInstance("shop", "192.0.2.2", "r2");
  auto consumer = Start("");
  auto listener = std::make_shared<Recorder>();
  consumer->registry->Subscribe(Consumer(), listener);
  Run();
  EXPECT_EQ(listener->Hosts(), Hosts{"192.0.2.1:20880"});
  EXPECT_NE(listener->last.state.message().find("revision r2"), std::string::npos);
  executor_->AdvanceAndRun(absl::Seconds(2));
  PutDocument("shop", "r2");
  executor_->AdvanceAndRun(absl::Seconds(2));
  EXPECT_EQ(listener->Hosts(), (Hosts{"192.0.2.1:20880", "192.0.2.2:20880"}));
  EXPECT_TRUE(listener->last.state.ok());
}

TEST_F(ApplicationRegistryTest, OldAddressesStayWhenNoRevisionIsKnown) {
  Put("/dubbo/mapping/org.example.Echo", "shop");
  PutDocument("shop", "r1");
  PutInstance("shop", "192.0.2.1", "r1");
  auto consumer = Start("");
  auto listener = std::make_shared<Recorder>();
  consumer->registry->Subscribe(Consumer(), listener);
  Run();
  PutInstance("shop", "192.0.2.2", "r2");
  Delete("/services/shop/192.0.2.1:20880");
  executor_->AdvanceAndRun(absl::Seconds(30));
  EXPECT_EQ(listener->Hosts(), Hosts{"192.0.2.1:20880"});
  PutDocument("shop", "r2");
  executor_->AdvanceAndRun(absl::Seconds(11));
  EXPECT_EQ(listener->Hosts(), Hosts{"192.0.2.2:20880"});
  EXPECT_EQ(listener->empty, 0);
}

// TC-14
TEST_F(ApplicationRegistryTest, TheFirstInstanceMayComeLate) {
  Put("/dubbo/mapping/org.example.Echo", "shop");
  auto consumer = Start("");
  auto listener = std::make_shared<Recorder>();
  consumer->registry->Subscribe(Consumer(), listener);
  executor_->AdvanceAndRun(absl::Minutes(1));
  EXPECT_TRUE(absl::IsNotFound(listener->last.state));
  auto provider = Start("shop");
  Export(*provider, "tri://192.0.2.1:50051/org.example.Echo");
  EXPECT_EQ(listener->Hosts(), Hosts{"192.0.2.1:50051"});
}

TEST_F(ApplicationRegistryTest, WeightsAndPorts) {
  Put("/dubbo/mapping/org.example.Echo", "shop");
  PutDocument("shop", "r1", R"({"weight":"0","release":"dubbo-golang-3.3.2"})", 20880);
  PutInstance("shop", "192.0.2.1", "r1");
  PutInstance("shop", "192.0.2.2", "r1",
              {{"weight", "7"}, {"dubbo.endpoints", R"([{"port":20881,"protocol":"tri"}])"}});
  auto consumer = Start("");
  auto listener = std::make_shared<Recorder>();
  consumer->registry->Subscribe(Consumer(), listener);
  Run();
  // The second one's endpoints say another port than the document that both share. The instance's
  // own port is 20880, as the document has it, so only dubbo.endpoints can tell.
  std::map<std::string, int> weights;
  listener->last.list->ForEach([&](const Endpoint& e) { weights[e->host] = e->weight; });
  EXPECT_EQ(weights, (std::map<std::string, int>{{"192.0.2.1", 100}, {"192.0.2.2", 7}}));
  EXPECT_EQ(listener->Hosts(), (Hosts{"192.0.2.1:20880", "192.0.2.2:20881"}));
}

TEST_F(ApplicationRegistryTest, GroupVersionAndProtocolMatch) {
  auto provider = Start("shop");
  Export(*provider, "tri://192.0.2.1:50051/org.example.Echo?group=g1&version=1.0.0");
  Export(*provider, "dubbo://192.0.2.1:20880/org.example.Echo?group=g1&version=1.0.0");
  auto consumer = Start("");
  const auto hosts = [&](const std::string& parameters) {
    std::optional<absl::StatusOr<ServiceAddresses>> answer;
    consumer->registry->Lookup(Consumer(parameters), {},
                               [&](absl::StatusOr<ServiceAddresses> a) { answer = std::move(a); });
    Run();
    Hosts found;
    if (!answer.has_value() || !answer->ok()) return Hosts{"no answer"};
    (*answer)->list->ForEach([&](const Endpoint& e) { found.push_back(e.address()); });
    std::sort(found.begin(), found.end());
    return found;
  };
  EXPECT_EQ(hosts(""), Hosts{});
  EXPECT_EQ(hosts("&group=*&version=*&protocol=tri"), Hosts{"192.0.2.1:50051"});
  EXPECT_EQ(hosts("&group=g1&version=1.0.0").size(), 2u);
  EXPECT_EQ(hosts("&group=g1&version=1.0.0&provided-by=shop").size(), 2u);
}

// TC-21
TEST_F(ApplicationRegistryTest, OnlyTheOneThatLeftHearsNothing) {
  auto first = Start("shop");
  auto second = Start("shop");
  const std::string service = "/org.example.Echo?group=g1&version=1.0.0";
  Export(*first, "tri://192.0.2.1:20880" + service);
  auto consumer = Start("");
  auto one = std::make_shared<Recorder>();
  auto two = std::make_shared<Recorder>();
  const Url wanted = Consumer("&group=g1&version=1.0.0");
  consumer->registry->Subscribe(wanted, one);
  consumer->registry->Subscribe(wanted, two);
  Run();
  Export(*second, "tri://192.0.2.2:20880" + service);
  EXPECT_EQ(one->Hosts().size(), 2u);
  EXPECT_EQ(two->Hosts().size(), 2u);
  consumer->registry->Unsubscribe(wanted, one);
  const int heard = one->count;
  first->registry->UnregisterAll({}, [](absl::Status) {});
  Run();
  EXPECT_EQ(one->count, heard);
  EXPECT_EQ(two->Hosts(), Hosts{"192.0.2.2:20880"});
}

// TC-22
TEST_F(ApplicationRegistryTest, ThousandSubscriptionsLeaveNothing) {
  Put("/dubbo/mapping/org.example.Echo", "shop");
  PutDocument("shop", "r1");
  PutInstance("shop", "192.0.2.1", "r1");
  auto consumer = Start("");
  const size_t watches = local_->watch_count();
  auto listener = std::make_shared<Recorder>();
  int heard = 0;
  for (int i = 0; i < 1000; ++i) {
    consumer->registry->Subscribe(Consumer(), listener);
    if (i % 2 == 0) executor_->RunUntilIdle();
    consumer->registry->Unsubscribe(Consumer(), listener);
    heard = listener->count;
  }
  executor_->RunUntilIdle();
  EXPECT_EQ(local_->watch_count(), watches);
  EXPECT_EQ(consumer->table->size(), listener->last.list->size());
  EXPECT_EQ(listener->count, heard) << "told after Unsubscribe had returned";
  EXPECT_EQ(listener.use_count(), 1) << "somebody still holds the listener";
  PutInstance("shop", "192.0.2.2", "r1");
  Run();
  EXPECT_EQ(listener->count, heard);
  consumer->registry->Subscribe(Consumer(), listener);
  Run();
  EXPECT_EQ(listener->Hosts().size(), 2u);
}

TEST_F(ApplicationRegistryTest, ClosedMeansClosed) {
  auto process = Start("shop");
  std::optional<absl::Status> pending;
  local_->SetOffline(true);
  process->registry->Register(*Url::Parse("tri://192.0.2.1:50051/a.A"), {},
                              [&](absl::Status s) { pending = s; });
  executor_->RunUntilIdle();
  process->registry->Close();
  std::optional<absl::Status> late;
  process->registry->UnregisterAll({}, [&](absl::Status s) { late = s; });
  executor_->RunUntilIdle();
  ASSERT_TRUE(pending.has_value() && late.has_value());
  EXPECT_TRUE(absl::IsFailedPrecondition(*pending)) << *pending;
  EXPECT_TRUE(absl::IsFailedPrecondition(*late)) << *late;
  local_->SetOffline(false);
}

}  // namespace
}  // namespace signpost
