#include "signpost/common/address_list.h"

#include <random>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace signpost {
namespace {

std::shared_ptr<const EndpointService> Service(StringMap params = {}) {
  EndpointService service;
  service.name = service.path = "org.acme.Shop";
  service.protocol = "tri";
  service.app = "shop";
  service.params = std::move(params);
  return std::make_shared<EndpointService>(std::move(service));
}

EndpointSpec Spec(int n, int weight = 100) {
  EndpointSpec spec;
  spec.host = absl::StrCat("10.0.", n / 250, ".", n % 250);
  spec.port = 20880;
  spec.service = Service();
  spec.weight = weight;
  return spec;
}

std::vector<Endpoint> Range(EndpointTable& table, int begin, int end) {
  std::vector<Endpoint> endpoints;
  for (int i = begin; i < end; ++i) endpoints.push_back(table.Intern(Spec(i)));
  return endpoints;
}

std::set<uint32_t> Ids(const AddressList& list) {
  std::set<uint32_t> ids;
  list.ForEach([&](const Endpoint& endpoint) { ids.insert(endpoint.id()); });
  return ids;
}

std::set<uint32_t> Ids(const std::vector<Endpoint>& endpoints) {
  std::set<uint32_t> ids;
  for (const Endpoint& endpoint : endpoints) ids.insert(endpoint.id());
  return ids;
}

TEST(EndpointTableTest, EqualSpecsAreOneRecord) {
  EndpointTable table;
  EndpointSpec spec = Spec(1);
  spec.service = Service({{"timeout", "10"}});
  const Endpoint a = table.Intern(spec);
  spec.service = Service({{"timeout", "10"}});
  const Endpoint b = table.Intern(spec);
  spec.service = Service({{"timeout", "11"}});
  const Endpoint c = table.Intern(spec);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  EXPECT_EQ(table.size(), 2u);
}

TEST(EndpointTableTest, TheLastReferenceFreesTheRecordAndItsId) {
  EndpointTable table;
  Endpoint a = table.Intern(Spec(1));
  const uint32_t id = a.id();
  Endpoint copy = a;
  a = Endpoint();
  EXPECT_EQ(table.size(), 1u);
  copy.BeginCall();
  EXPECT_EQ(copy.in_flight(), 1);
  copy = Endpoint();
  EXPECT_EQ(table.size(), 0u);
  const Endpoint next = table.Intern(Spec(2));
  EXPECT_EQ(next.id(), id);
  EXPECT_EQ(next->host, Spec(2).host);
  EXPECT_EQ(next.in_flight(), 0);
}

TEST(EndpointTest, AddressAndParameters) {
  EndpointTable table;
  EndpointSpec spec = Spec(1);
  spec.service = Service({{"a", "service"}});
  spec.instance_metadata = std::make_shared<StringMap>(StringMap{{"a", "instance"}, {"b", "x"}});
  const Endpoint v4 = table.Intern(spec);
  EXPECT_EQ(v4.address(), "10.0.0.1:20880");
  EXPECT_EQ(v4->Get("a"), "service");
  EXPECT_EQ(v4->Get("b"), "x");
  EXPECT_EQ(v4->Get("c"), "");
  spec.host = "fe80::1";
  EXPECT_EQ(table.Intern(spec).address(), "[fe80::1]:20880");
}

TEST(EndpointTableTest, ThreadsInternAndDropTheSameRecords) {
  EndpointTable table;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&table] {
      for (int i = 0; i < 2000; ++i) {
        Endpoint endpoint = table.Intern(Spec(i % 3));
        Endpoint copy = endpoint;
        endpoint = Endpoint();
        copy.BeginCall();
        ASSERT_EQ(copy->host, Spec(i % 3).host);
        copy.EndCall();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(table.size(), 0u);
}

TEST(AddressListTest, EmptyHasVersionZero) {
  auto list = AddressList::Empty();
  EXPECT_EQ(list->version(), 0u);
  EXPECT_TRUE(list->empty());
  EXPECT_TRUE(list->DiffTo({}).empty());
}

TEST(AddressListTest, DiffNamesAddedRemovedAndUpdated) {
  EndpointTable table;
  auto list = AddressList::Empty()->Apply(AddressList::Empty()->DiffTo(Range(table, 0, 3)));
  const Endpoint heavy = table.Intern(Spec(1, 300));
  const Endpoint more = table.Intern(Spec(7));
  const AddressDelta delta = list->DiffTo({table.Intern(Spec(0)), heavy, more, more});
  EXPECT_EQ(delta.from_version, list->version());
  ASSERT_EQ(delta.added.size(), 1u);
  EXPECT_EQ(delta.added[0], more);
  ASSERT_EQ(delta.removed.size(), 1u);
  EXPECT_EQ(delta.removed[0]->host, Spec(2).host);
  ASSERT_EQ(delta.updated.size(), 1u);
  EXPECT_EQ(delta.updated[0].before->weight, 100);
  EXPECT_EQ(delta.updated[0].after, heavy);
  auto next = list->Apply(delta);
  EXPECT_GT(next->version(), list->version());
  EXPECT_NE(list->Apply(delta)->version(), next->version());  // of each its own
  EXPECT_EQ(next->spec(1).weight, 300);                       // at its old position
  EXPECT_EQ(list->spec(1).weight, 100);
}

TEST(AddressListTest, AnyChangeLeadsToJustWhatIsWanted) {
  EndpointTable table;
  {
    std::mt19937 random(7);
    auto list = AddressList::Empty();
    for (int round = 0; round < 60; ++round) {
      // Sizes around the limits of leaves.
      const int sizes[] = {0, 1, 255, 256, 257, 511, 512, 513, 900};
      std::vector<Endpoint> wanted;
      const int size = sizes[random() % 9];
      const int start = static_cast<int>(random() % 300);
      for (int i = 0; i < size; ++i) {
        wanted.push_back(table.Intern(Spec(start + i, random() % 20 == 0 ? 50 : 100)));
      }
      const auto before = Ids(*list);
      auto next = list->Apply(list->DiffTo(wanted));
      ASSERT_EQ(next->size(), wanted.size());
      ASSERT_EQ(Ids(*next), Ids(wanted));
      ASSERT_EQ(Ids(*list), before);  // the old version did not change
      for (size_t i = 0; i < next->size(); ++i) ASSERT_EQ(next->at(i).id(), next->id(i));
      list = next;
    }
  }
  EXPECT_EQ(table.size(), 0u);
}

TEST(EndpointTableTest, WhatItGaveOutMayOutliveIt) {
  Endpoint endpoint;
  std::shared_ptr<const AddressList> list;
  {
    EndpointTable table;
    endpoint = table.Intern(Spec(1));
    list = AddressList::Empty()->Apply(AddressList::Empty()->DiffTo(Range(table, 0, 300)));
  }
  EXPECT_EQ(endpoint->host, "10.0.0.1");
  EXPECT_EQ(list->at(299)->host, "10.0.1.49");
  endpoint = Endpoint();
  list = nullptr;  // the last one frees the rest; the sanitizer looks
}

TEST(AddressListTest, AListKeepsItsRecordsAlive) {
  EndpointTable table;
  auto list = AddressList::Empty()->Apply(AddressList::Empty()->DiffTo(Range(table, 0, 600)));
  auto next = list->Apply(list->DiffTo(Range(table, 0, 599)));
  EXPECT_EQ(table.size(), 600u);
  list = nullptr;
  EXPECT_EQ(table.size(), 599u);
  Endpoint last = next->at(0);
  next = nullptr;
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(last->service->app, "shop");
}

}  // namespace
}  // namespace signpost
