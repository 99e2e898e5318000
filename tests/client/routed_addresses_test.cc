#include "signpost/client/routed_addresses.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/client/fake_registry.h"
#include "tests/support/kept_log.h"

namespace signpost::client_internal {
namespace {

// What the balancers of a test are asked.
struct Asked {
  int made = 0;
  int alive = 0;
  std::vector<std::vector<PoolMember>> pools;  // of each Build
  bool refuses = false;
  bool feedback = false;
};

// Picks the last address.
class LastBalancer final : public Balancer {
 public:
  explicit LastBalancer(std::shared_ptr<Asked> asked) : asked_(std::move(asked)) {
    ++asked_->made;
    ++asked_->alive;
  }
  ~LastBalancer() override { --asked_->alive; }
  std::shared_ptr<const Picker> Build(const std::vector<PoolMember>& pool) override {
    class Last final : public Picker {
     public:
      Last(size_t index, bool feedback) : index_(index), feedback_(feedback) {}
      size_t Pick(const Request&) const override { return index_; }
      bool wants_feedback() const override { return feedback_; }

     private:
      const size_t index_;
      const bool feedback_;
    };
    asked_->pools.push_back(pool);
    return std::make_shared<Last>(asked_->refuses ? Picker::kNone : pool.size() - 1,
                                  asked_->feedback);
  }

 private:
  const std::shared_ptr<Asked> asked_;
};

// "first" goes to the first address alone, "none" to none, anything else where it likes.
class MethodRouter final : public Router {
 public:
  absl::string_view name() const override { return "method"; }
  int priority() const override { return 0; }
  absl::StatusOr<std::vector<RouteRule>> Route(const AddressList&,
                                               const Subset& input) const override {
    Subset first;
    if (!input.empty()) first.push_back(input[0]);
    return std::vector<RouteRule>{
        {"one", [](const Request& r) { return r.method == "first"; }, {first}, true},
        {"drop", [](const Request& r) { return r.method == "none"; }, {}, true}};
  }
};

// Leaves nothing.
class ClosedRouter final : public Router {
 public:
  absl::string_view name() const override { return "closed"; }
  int priority() const override { return 0; }
  absl::StatusOr<std::vector<RouteRule>> Route(const AddressList&, const Subset&) const override {
    return std::vector<RouteRule>{{"all", nullptr, {}, true}};
  }
};

// Fails while `fault` is not empty.
class FailingRouter final : public Router {
 public:
  explicit FailingRouter(std::shared_ptr<std::string> fault) : fault_(std::move(fault)) {}
  absl::string_view name() const override { return "failing"; }
  int priority() const override { return 1; }
  absl::StatusOr<std::vector<RouteRule>> Route(const AddressList&, const Subset&) const override {
    if (!fault_->empty()) return absl::InternalError(*fault_);
    return std::vector<RouteRule>();
  }

 private:
  const std::shared_ptr<std::string> fault_;
};

class RoutedAddressesTest : public testing::Test {
 protected:
  RoutedAddressesTest() {
    parts_.service = "org.example.Greeter";
    parts_.router_options.url = *Url::Parse("consumer://192.0.2.99/org.example.Greeter");
    parts_.balancer = [asked = asked_](const BalancerOptions&) {
      return std::make_unique<LastBalancer>(asked);
    };
  }

  template <typename R, typename... Args>
  void AddRouter(Args... args) {
    parts_.routers.push_back(
        [args...](const RouterOptions&) { return std::make_unique<R>(args...); });
  }

  ServiceAddresses Next(std::vector<EndpointSpec> specs, absl::Status state = absl::OkStatus()) {
    std::vector<Endpoint> wanted;
    for (EndpointSpec& spec : specs) wanted.push_back(table_.Intern(std::move(spec)));
    ServiceAddresses next;
    next.delta = list_->DiffTo(wanted);
    list_ = list_->Apply(next.delta);
    next.list = list_;
    next.state = std::move(state);
    return next;
  }

  static Request Method(absl::string_view method) {
    Request request;
    request.method = method;
    return request;
  }
  // The host, or the error.
  static std::string Picked(const RoutedAddresses& routed, absl::string_view method = "") {
    absl::StatusOr<PickResult> picked = routed.Pick(Method(method));
    if (!picked.ok()) return std::string(picked.status().message());
    picked->endpoint.EndCall();
    return picked->endpoint->host;
  }

  EndpointTable table_;
  std::shared_ptr<Asked> asked_ = std::make_shared<Asked>();
  AddressRouting::Parts parts_;
  std::shared_ptr<const AddressList> list_ = AddressList::Empty();
};

TEST_F(RoutedAddressesTest, WithoutRoutersOnePoolHasAll) {
  AddressRouting routing(parts_);
  EndpointSpec late = GreeterAt(2, 30);
  late.timestamp_ms = 1700000000000;
  const ServiceAddresses addresses = Next({GreeterAt(1), late});
  const auto routed = routing.Build(addresses);
  EXPECT_TRUE(routed->unready.ok());
  EXPECT_EQ(routed->addresses.list, addresses.list);
  EXPECT_EQ(routed->addresses.delta.added.size(), 2u);
  ASSERT_EQ(routed->pools.size(), 1u);
  EXPECT_NE(routed->pools[0].picker, nullptr);
  EXPECT_EQ(Picked(*routed), "192.0.2.2");
  // What the balancer is told of them.
  ASSERT_EQ(asked_->pools.size(), 1u);
  ASSERT_EQ(asked_->pools[0].size(), 2u);
  EXPECT_EQ(asked_->pools[0][0].id, addresses.list->id(0));
  EXPECT_EQ(asked_->pools[0][0].weight, 100);
  EXPECT_EQ(asked_->pools[0][0].timestamp_ms, 0);
  EXPECT_EQ(asked_->pools[0][1].id, addresses.list->id(1));
  EXPECT_EQ(asked_->pools[0][1].weight, 30);
  EXPECT_EQ(asked_->pools[0][1].timestamp_ms, 1700000000000);
}

TEST_F(RoutedAddressesTest, APickCountsTheCall) {
  AddressRouting routing(parts_);
  const auto routed = routing.Build(Next({GreeterAt(1)}));
  const Endpoint endpoint = list_->at(0);
  absl::StatusOr<PickResult> picked = routed->Pick(Request());
  ASSERT_TRUE(picked.ok());
  EXPECT_EQ(picked->endpoint, endpoint);
  EXPECT_EQ(picked->index, 0u);
  EXPECT_EQ(picked->picker, nullptr);
  EXPECT_EQ(endpoint.in_flight(), 1);
  endpoint.EndCall();
  asked_->feedback = true;
  const auto next = routing.Build(Next({GreeterAt(1), GreeterAt(2)}));
  picked = next->Pick(Request());
  ASSERT_TRUE(picked.ok());
  EXPECT_EQ(picked->picker, next->pools[0].picker);
  EXPECT_EQ(picked->index, 1u);
  picked->endpoint.EndCall();
}

TEST_F(RoutedAddressesTest, AnEmptyListSaysWhatTheRegistrySays) {
  AddressRouting routing(parts_);
  auto routed = routing.Build(Next({}, absl::NotFoundError("no application in the mapping")));
  EXPECT_TRUE(absl::IsNotFound(routed->unready));
  EXPECT_EQ(routed->unready.message(), "org.example.Greeter: no application in the mapping");
  absl::StatusOr<PickResult> picked = routed->Pick(Request());
  EXPECT_EQ(picked.status(), routed->unready);
  // Nothing was asked of a balancer.
  EXPECT_EQ(asked_->made, 0);
  routed = routing.Build(Next({}));
  EXPECT_TRUE(absl::IsUnavailable(routed->unready));
  EXPECT_EQ(Picked(*routed), "org.example.Greeter: no address");
  // With addresses the state does not keep from calling.
  routed = routing.Build(Next({GreeterAt(1)}, absl::UnavailableError("a revision is not known")));
  EXPECT_TRUE(routed->unready.ok());
  EXPECT_FALSE(routed->addresses.state.ok());
  EXPECT_EQ(Picked(*routed), "192.0.2.1");
}

TEST_F(RoutedAddressesTest, EachClassOfRequestsHasItsPool) {
  AddRouter<MethodRouter>();
  AddressRouting routing(parts_);
  const auto routed = routing.Build(Next({GreeterAt(1), GreeterAt(2), GreeterAt(3)}));
  EXPECT_EQ(Picked(*routed, "first"), "192.0.2.1");
  EXPECT_EQ(Picked(*routed, "other"), "192.0.2.3");
  EXPECT_EQ(Picked(*routed, "none"),
            "org.example.Greeter: rule method/drop leaves none of 3 addresses");
  absl::StatusOr<PickResult> none = routed->Pick(Method("none"));
  EXPECT_TRUE(absl::IsUnavailable(none.status()));
  // Some call finds one.
  EXPECT_TRUE(routed->unready.ok());
  EXPECT_EQ(routed->pools.size(), 3u);
  EXPECT_EQ(asked_->made, 2);
}

TEST_F(RoutedAddressesTest, RulesThatLeaveNothingAtAllMakeItUnready) {
  AddRouter<ClosedRouter>();
  AddressRouting routing(parts_);
  const auto routed = routing.Build(Next({GreeterAt(1), GreeterAt(2)}));
  EXPECT_TRUE(absl::IsUnavailable(routed->unready));
  EXPECT_EQ(routed->unready.message(),
            "org.example.Greeter: rule closed/all leaves none of 2 addresses");
  EXPECT_EQ(Picked(*routed), routed->unready.message());
}

TEST_F(RoutedAddressesTest, ABalancerMayRefuse) {
  asked_->refuses = true;
  AddressRouting routing(parts_);
  const auto routed = routing.Build(Next({GreeterAt(1)}));
  absl::StatusOr<PickResult> picked = routed->Pick(Request());
  EXPECT_TRUE(absl::IsUnavailable(picked.status()));
  EXPECT_EQ(picked.status().message(), "org.example.Greeter: the balancer refuses all addresses");
  EXPECT_EQ(list_->at(0).in_flight(), 0);
}

TEST_F(RoutedAddressesTest, ABalancerLivesAsLongAsItsPool) {
  AddRouter<MethodRouter>();
  AddressRouting routing(parts_);
  routing.Build(Next({GreeterAt(1), GreeterAt(2)}));
  EXPECT_EQ(asked_->made, 2);
  EXPECT_EQ(asked_->alive, 2);
  routing.Build(Next({GreeterAt(1), GreeterAt(2), GreeterAt(3)}));
  EXPECT_EQ(asked_->made, 2);
  EXPECT_EQ(asked_->pools.size(), 4u);
  // Without addresses there are no pools.
  const auto last = routing.Build(Next({}));
  EXPECT_EQ(asked_->alive, 0);
  routing.Build(Next({GreeterAt(1)}));
  EXPECT_EQ(asked_->made, 4);
  EXPECT_EQ(asked_->alive, 2);
}

TEST_F(RoutedAddressesTest, WhatWasBuiltOutlivesTheRouting) {
  auto routing = std::make_unique<AddressRouting>(parts_);
  const auto routed = routing->Build(Next({GreeterAt(1)}));
  routing->Build(Next({GreeterAt(2)}));
  routing.reset();
  EXPECT_EQ(asked_->alive, 0);
  EXPECT_EQ(Picked(*routed), "192.0.2.1");
}

TEST_F(RoutedAddressesTest, KnowsTheListBefore) {
  AddressRouting routing(parts_);
  const auto first = routing.Build(Next({GreeterAt(1)}));
  EXPECT_EQ(first->before, AddressList::Empty());
  const auto second = routing.Build(Next({GreeterAt(1), GreeterAt(2)}));
  EXPECT_EQ(second->before, first->addresses.list);
  EXPECT_EQ(second->before->version(), second->addresses.delta.from_version);
  // The same list once more, as when its state alone has changed.
  const auto third = routing.Build(second->addresses);
  EXPECT_EQ(third->before, second->addresses.list);
}

TEST_F(RoutedAddressesTest, RoutersAreMadeOnceBeforeTheFirstList) {
  int made = 0;
  std::string seen;
  parts_.routers.push_back([&](const RouterOptions& options) -> std::unique_ptr<Router> {
    ++made;
    seen = options.url.ToString();
    return nullptr;  // none for this service
  });
  AddressRouting routing(parts_);
  EXPECT_EQ(made, 0);
  EXPECT_EQ(Picked(*routing.Build(Next({GreeterAt(1)}))), "192.0.2.1");
  routing.Build(Next({GreeterAt(2)}));
  EXPECT_EQ(made, 1);
  EXPECT_EQ(seen, "consumer://192.0.2.99/org.example.Greeter");
}

TEST_F(RoutedAddressesTest, ARouterThatFailsIsSaidOnce) {
  KeptLog log;
  auto fault = std::make_shared<std::string>("bad rule");
  AddRouter<FailingRouter>(fault);
  AddressRouting routing(parts_);
  auto routed = routing.Build(Next({GreeterAt(1)}));
  // It passes what it was given.
  EXPECT_EQ(Picked(*routed), "192.0.2.1");
  EXPECT_EQ(routed->table->notes(), std::vector<std::string>{"failing: bad rule"});
  routing.Build(Next({GreeterAt(2)}));
  EXPECT_EQ(log.text(), "org.example.Greeter: router failing: bad rule");
  *fault = "worse rule";
  routing.Build(Next({GreeterAt(3)}));
  EXPECT_EQ(log.lines().size(), 2u);
  // It recovers, and fails anew.
  *fault = "";
  routed = routing.Build(Next({GreeterAt(4)}));
  EXPECT_TRUE(routed->table->notes().empty());
  *fault = "worse rule";
  routing.Build(Next({GreeterAt(5)}));
  EXPECT_EQ(log.lines().size(), 3u);
}

TEST_F(RoutedAddressesTest, PoolsThatOneRuleDecidesHaveABalancerEach) {
  // Two routers: the second one's rule decides the pools of both classes of the first.
  class EveryRouter final : public Router {
   public:
    absl::string_view name() const override { return "every"; }
    int priority() const override { return 5; }
    absl::StatusOr<std::vector<RouteRule>> Route(const AddressList&,
                                                 const Subset& input) const override {
      return std::vector<RouteRule>{{"all", nullptr, {input}, false}};
    }
  };
  AddRouter<MethodRouter>();
  AddRouter<EveryRouter>();
  AddressRouting routing(parts_);
  const auto routed = routing.Build(Next({GreeterAt(1), GreeterAt(2)}));
  EXPECT_EQ(Picked(*routed, "first"), "192.0.2.1");
  EXPECT_EQ(Picked(*routed, "other"), "192.0.2.2");
  EXPECT_EQ(asked_->made, 2);
  routing.Build(Next({GreeterAt(1), GreeterAt(2), GreeterAt(3)}));
  EXPECT_EQ(asked_->made, 2);
}

}  // namespace
}  // namespace signpost::client_internal
