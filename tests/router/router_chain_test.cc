#include "signpost/router/router_chain.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace signpost {
namespace {

using Rules = std::vector<RouteRule>;
using RouteFn = std::function<absl::StatusOr<Rules>(const Subset&)>;

class FakeRouter final : public Router {
 public:
  FakeRouter(std::string name, int priority, RouteFn fn)
      : name_(std::move(name)), priority_(priority), fn_(std::move(fn)) {}
  absl::string_view name() const override { return name_; }
  int priority() const override { return priority_; }
  absl::StatusOr<Rules> Route(const AddressList&, const Subset& input) const override {
    return fn_(input);
  }

 private:
  std::string name_;
  int priority_;
  RouteFn fn_;
};

std::function<bool(const Request&)> MethodIs(std::string method) {
  return [method](const Request& request) { return request.method == method; };
}

class RouterChainTest : public testing::Test {
 protected:
  // Ten addresses.
  RouterChainTest() {
    std::vector<Endpoint> wanted;
    for (int i = 0; i < 10; ++i) {
      EndpointSpec spec;
      spec.host = "192.0.2." + std::to_string(i + 1);
      spec.port = 20880;
      EndpointService service;
      service.name = service.path = "org.example.Greeter";
      service.protocol = "tri";
      service.app = "shop";
      spec.service = std::make_shared<EndpointService>(std::move(service));
      wanted.push_back(table_.Intern(std::move(spec)));
    }
    auto empty = AddressList::Empty();
    list_ = empty->Apply(empty->DiffTo(wanted));
  }

  void Add(std::string name, int priority, RouteFn fn) {
    routers_.push_back(std::make_unique<FakeRouter>(std::move(name), priority, std::move(fn)));
  }
  void Add(std::string name, int priority, Rules rules) {
    Add(std::move(name), priority, [rules](const Subset&) { return rules; });
  }

  std::shared_ptr<const RouteTable> Compile() {
    return RouterChain(std::move(routers_)).Compile(list_);
  }
  static const RouteTable::Pool& PoolOf(const RouteTable& table, absl::string_view method) {
    Request request;
    request.method = method;
    return table.pools().at(table.PoolFor(request));
  }

  EndpointTable table_;
  std::shared_ptr<const AddressList> list_;
  std::vector<std::unique_ptr<Router>> routers_;
};

const Subset kAll = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

TEST_F(RouterChainTest, WithoutRoutersEverythingIsOnePool) {
  auto table = Compile();
  ASSERT_EQ(table->pools().size(), 1u);
  EXPECT_EQ(PoolOf(*table, "find").members, kAll);
  EXPECT_EQ(PoolOf(*table, "find").decided_by, "");
  EXPECT_EQ(table->list(), list_);
}

TEST_F(RouterChainTest, EmptyListGivesAnEmptyPool) {
  list_ = AddressList::Empty();
  Add("a", 1, Rules{{"r", nullptr, {{}}, true}});
  auto table = Compile();
  EXPECT_TRUE(PoolOf(*table, "find").members.empty());
}

TEST_F(RouterChainTest, FirstMatchingRuleDecidesElseCatchAll) {
  Add("method", 1,
      Rules{{"find", MethodIs("find"), {{1, 2}}, false},
            {"save", MethodIs("save"), {{3}}, false},
            {"find again", MethodIs("find"), {{9}}, false}});
  auto table = Compile();
  EXPECT_EQ(PoolOf(*table, "find").members, (Subset{1, 2}));
  EXPECT_EQ(PoolOf(*table, "find").decided_by, "method/find");
  EXPECT_EQ(PoolOf(*table, "save").members, (Subset{3}));
  EXPECT_EQ(PoolOf(*table, "other").members, kAll);
  EXPECT_EQ(PoolOf(*table, "other").decided_by, "");
}

TEST_F(RouterChainTest, SubsetsAreTriedInTurn) {
  Add("r", 1, Rules{{"x", nullptr, {{}, {4, 5}, {6}}, false}});
  EXPECT_EQ(PoolOf(*Compile(), "any").members, (Subset{4, 5}));
}

TEST_F(RouterChainTest, NothingLeftPassesTheInputUnlessForced) {
  Add("soft", 1, Rules{{"x", nullptr, {{}}, false}});
  EXPECT_EQ(PoolOf(*Compile(), "any").members, kAll);
  Add("hard", 1, Rules{{"x", nullptr, {{}, {}}, true}});
  auto table = Compile();
  EXPECT_TRUE(PoolOf(*table, "any").members.empty());
  EXPECT_EQ(PoolOf(*table, "any").decided_by, "hard/x");
}

TEST_F(RouterChainTest, RoutersRunByPriorityOverWhatIsLeft) {
  std::vector<std::string> seen;
  Add("second", 2, [&](const Subset& input) -> absl::StatusOr<Rules> {
    seen.push_back("second " + std::to_string(input.size()));
    return Rules{
        {"half", nullptr, {Subset(input.begin(), input.begin() + input.size() / 2)}, false}};
  });
  Add("first", 1, [&](const Subset& input) -> absl::StatusOr<Rules> {
    seen.push_back("first " + std::to_string(input.size()));
    return Rules{{"find", MethodIs("find"), {{2, 4, 6, 8}}, false}};
  });
  auto table = Compile();
  EXPECT_EQ(seen.front(), "first 10");
  EXPECT_EQ(seen.size(), 3u);
  EXPECT_EQ(PoolOf(*table, "find").members, (Subset{2, 4}));
  EXPECT_EQ(PoolOf(*table, "save").members, (Subset{0, 1, 2, 3, 4}));
}

TEST_F(RouterChainTest, WhatALaterRouterAddsIsRefused) {
  Add("first", 1, Rules{{"x", nullptr, {{2, 3}}, false}});
  Add("second", 2, Rules{{"y", nullptr, {{1, 3, 7}}, false}});
  EXPECT_EQ(PoolOf(*Compile(), "any").members, (Subset{3}));
}

TEST_F(RouterChainTest, FailingRouterLeavesItsInputAndANote) {
  Add("bad", 1, [](const Subset&) { return absl::InvalidArgumentError("line 3: no such key"); });
  Add("good", 2, Rules{{"y", nullptr, {{7}}, false}});
  auto table = Compile();
  EXPECT_EQ(PoolOf(*table, "any").members, (Subset{7}));
  ASSERT_EQ(table->notes().size(), 1u);
  EXPECT_EQ(table->notes()[0], "bad: line 3: no such key");
}

TEST_F(RouterChainTest, EqualQuestionsAreAskedOnce) {
  // Two classes with one outcome: what follows is compiled once.
  int asked = 0;
  Add("first", 1,
      Rules{{"x", MethodIs("a"), {{1, 2}}, false}, {"x", MethodIs("b"), {{1, 2}}, false}});
  Add("second", 2, [&](const Subset&) -> absl::StatusOr<Rules> {
    ++asked;
    return Rules{};
  });
  auto table = Compile();
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(table->pools().size(), 2u);
}

TEST_F(RouterChainTest, ManyRoutersStayBounded) {
  for (int r = 0; r < 30; ++r) {
    Rules rules;
    for (uint32_t i = 0; i < 5; ++i) {
      rules.push_back(
          {std::to_string(r * 10 + i), MethodIs(std::to_string(i)), {{i, i + 1}}, false});
    }
    Add("r" + std::to_string(r), r, rules);
  }
  auto table = Compile();
  EXPECT_LT(table->pools().size(), 200000u);
  EXPECT_FALSE(PoolOf(*table, "3").members.empty());
}

}  // namespace
}  // namespace signpost
