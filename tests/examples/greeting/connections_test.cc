#include "signpost/examples/greeting/connections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "signpost/common/manual_executor.h"
#include "tests/examples/greeting/fake_connector.h"

namespace example {
namespace {

using signpost::AddressDelta;
using signpost::AddressList;
using signpost::Endpoint;
using signpost::EndpointService;
using signpost::EndpointSpec;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = ConnectionEvent::Kind;

constexpr char kA[] = "192.0.2.1:1";
constexpr char kB[] = "192.0.2.2:2";

std::string Word(const ConnectionEvent& event) {
  constexpr const char* kWords[] = {"open ", "close ", "retry ", "cancel "};
  return kWords[static_cast<int>(event.kind)] + event.address;
}

class ConnectionsTest : public testing::Test {
 protected:
  void SetUp() override {
    signpost::BackoffOptions backoff;
    backoff.initial = absl::Seconds(1);
    backoff.max = absl::Seconds(4);
    backoff.jitter = 0;
    connections_ = std::make_unique<Connections>(
        executor_, connector_,
        [this](const ConnectionEvent& event) {
          told_.push_back(Word(event));
          why_ = event.why;
        },
        backoff);
  }

  // One endpoint for each address; `revision` makes other records of the same addresses.
  void SetList(const std::vector<std::string>& addresses, const std::string& revision = "1",
               const std::vector<std::string>& services = {"org.example.Greeter"}) {
    std::vector<Endpoint> wanted;
    for (const std::string& address : addresses) {
      for (const std::string& name : services) {
        auto service = std::make_shared<EndpointService>();
        service->name = name;
        service->protocol = "thrift";
        service->app = "greeting";
        service->revision = revision;
        EndpointSpec spec;
        spec.host = address.substr(0, address.find(':'));
        spec.port = static_cast<uint16_t>(std::stoi(address.substr(address.find(':') + 1)));
        spec.service = service;
        wanted.push_back(table_.Intern(std::move(spec)));
      }
    }
    const AddressDelta delta = list_->DiffTo(wanted);
    list_ = list_->Apply(delta);
    executor_.Post([this, delta] { connections_->Update(delta); });
    executor_.RunUntilIdle();
  }
  void Answer(const std::string& address) {
    connector_.Answer(address);
    executor_.RunUntilIdle();
  }
  void Refuse(const std::string& address) {
    connector_.Refuse(address);
    executor_.RunUntilIdle();
  }
  std::vector<std::string> Told() { return std::exchange(told_, {}); }

  signpost::SimulatedClock clock_;
  signpost::ManualExecutor executor_{clock_};
  FakeConnector connector_;
  signpost::EndpointTable table_;
  std::shared_ptr<const AddressList> list_ = AddressList::Empty();
  std::vector<std::string> told_;
  std::string why_;
  std::unique_ptr<Connections> connections_;
};

TEST_F(ConnectionsTest, OpensWhenAnAddressJoins) {
  EXPECT_THAT(connections_->Find(kA).status().message(), HasSubstr("no connection"));
  SetList({kA, kB});
  EXPECT_THAT(connector_.pending(), ElementsAre(kA, kB));
  EXPECT_THAT(connections_->Find(kA).status().message(), HasSubstr("being connected to"));
  EXPECT_EQ(connections_->opened(), 0u);
  Answer(kB);
  EXPECT_THAT(Told(), ElementsAre(std::string("open ") + kB));
  EXPECT_TRUE(connections_->Find(kB).ok());
  EXPECT_FALSE(connections_->Find(kA).ok());
  EXPECT_EQ(connections_->opened(), 1u);
}

TEST_F(ConnectionsTest, KeepsWhileTheAddressStays) {
  SetList({kA});
  Answer(kA);
  const auto first = connections_->Find(kA);
  Told();
  SetList({kA, kB});
  SetList({kA}, "2");  // updated, and kB has left
  SetList({kA}, "3");
  EXPECT_THAT(Told(), ElementsAre(std::string("cancel ") + kB));
  EXPECT_EQ(connector_.connects(kA), 1);
  EXPECT_EQ(*connections_->Find(kA), *first);
}

TEST_F(ConnectionsTest, ClosesWhenTheAddressLeaves) {
  SetList({kA, kB});
  Answer(kA);
  Answer(kB);
  Told();
  EXPECT_EQ(connector_.open(), 2);
  SetList({kB});
  EXPECT_THAT(Told(), ElementsAre(std::string("close ") + kA));
  EXPECT_THAT(why_, HasSubstr("left"));
  EXPECT_EQ(connector_.open(), 1);
  EXPECT_FALSE(connections_->Find(kA).ok());
  // A call under way holds its connection.
  auto held = *connections_->Find(kB);
  SetList({});
  EXPECT_FALSE(connections_->Find(kB).ok());
  EXPECT_EQ(connector_.open(), 1);
  held.reset();
  EXPECT_EQ(connector_.open(), 0);
}

TEST_F(ConnectionsTest, TriesAgainWithGrowingDelays) {
  SetList({kA});
  for (const int delay : {1, 2, 4, 4}) {
    Refuse(kA);
    EXPECT_THAT(Told(), ElementsAre(std::string("retry ") + kA));
    EXPECT_EQ(why_, absl::StrCat("refused; next try in ", delay, "s"));
    EXPECT_THAT(connections_->Find(kA).status().message(), HasSubstr("refused"));
    executor_.AdvanceAndRun(absl::Seconds(delay) - absl::Milliseconds(1));
    EXPECT_THAT(connector_.pending(), IsEmpty());
    executor_.AdvanceAndRun(absl::Milliseconds(1));
    EXPECT_THAT(connector_.pending(), ElementsAre(kA));
  }
  Answer(kA);
  EXPECT_THAT(Told(), ElementsAre(std::string("open ") + kA));
}

TEST_F(ConnectionsTest, CancelsAPendingReconnectWhenTheAddressLeaves) {
  SetList({kA});
  Refuse(kA);
  EXPECT_EQ(executor_.pending_timers(), 1u);
  Told();
  SetList({});
  EXPECT_THAT(Told(), ElementsAre(std::string("cancel ") + kA));
  EXPECT_EQ(executor_.pending_timers(), 0u);
  executor_.AdvanceAndRun(absl::Minutes(1));
  EXPECT_EQ(connector_.connects(kA), 1);
}

TEST_F(ConnectionsTest, AConnectUnderWayFindsItsAddressGone) {
  SetList({kA});
  SetList({});
  EXPECT_THAT(Told(), ElementsAre(std::string("cancel ") + kA));
  Answer(kA);
  EXPECT_THAT(Told(), IsEmpty());
  EXPECT_EQ(connector_.open(), 0);
  EXPECT_FALSE(connections_->Find(kA).ok());
}

TEST_F(ConnectionsTest, AnAddressThatLeavesAndJoinsAgainIsNew) {
  SetList({kA});
  SetList({});
  SetList({kA});
  EXPECT_THAT(connector_.pending(), ElementsAre(kA, kA));
  Told();
  Answer(kA);  // the one before
  EXPECT_THAT(Told(), IsEmpty());
  EXPECT_EQ(connector_.open(), 0);
  Answer(kA);
  EXPECT_THAT(Told(), ElementsAre(std::string("open ") + kA));
  EXPECT_EQ(connector_.open(), 1);
}

TEST_F(ConnectionsTest, ABrokenOneIsClosedAndOpenedAnew) {
  SetList({kA});
  Answer(kA);
  Told();
  auto broken = *connections_->Find(kA);
  connections_->Broken(kA, broken, absl::UnavailableError("reset"));
  // At once: no other call shall take it.
  EXPECT_THAT(connections_->Find(kA).status().message(), HasSubstr("reset"));
  connections_->Broken(kA, broken, absl::UnavailableError("said twice"));
  executor_.RunUntilIdle();
  EXPECT_THAT(Told(), ElementsAre(std::string("close ") + kA));
  EXPECT_EQ(why_, "reset");
  executor_.AdvanceAndRun(absl::Seconds(1));
  Answer(kA);
  EXPECT_THAT(Told(), ElementsAre(std::string("open ") + kA));
  // A late word on the old one.
  connections_->Broken(kA, broken, absl::UnavailableError("late"));
  executor_.RunUntilIdle();
  EXPECT_THAT(Told(), IsEmpty());
  EXPECT_NE(*connections_->Find(kA), broken);
  broken.reset();
  EXPECT_EQ(connector_.open(), 1);
}

TEST_F(ConnectionsTest, ABrokenOneThatLeavesIsNotOpenedAnew) {
  SetList({kA});
  Answer(kA);
  connections_->Broken(kA, *connections_->Find(kA), absl::UnavailableError("reset"));
  executor_.RunUntilIdle();
  Told();
  SetList({});
  EXPECT_THAT(Told(), ElementsAre(std::string("cancel ") + kA));
  EXPECT_EQ(executor_.pending_timers(), 0u);
  EXPECT_EQ(connector_.open(), 0);
  // In the other order: the address leaves before the executor hears of it.
  SetList({kB});
  Answer(kB);
  connections_->Broken(kB, *connections_->Find(kB), absl::UnavailableError("reset"));
  Told();
  SetList({});
  EXPECT_EQ(executor_.pending_timers(), 0u);
  EXPECT_EQ(connector_.open(), 0);
}

TEST_F(ConnectionsTest, EndpointsOfOneAddressShareAConnection) {
  SetList({kA}, "1", {"org.example.Greeter", "org.example.Other"});
  EXPECT_EQ(connector_.connects(kA), 1);
  Answer(kA);
  Told();
  SetList({kA}, "1", {"org.example.Other"});
  EXPECT_THAT(Told(), IsEmpty());
  EXPECT_TRUE(connections_->Find(kA).ok());
  SetList({});
  EXPECT_THAT(Told(), ElementsAre(std::string("close ") + kA));
}

TEST_F(ConnectionsTest, CloseLeavesNothing) {
  const std::string c = "192.0.2.3:3";
  SetList({kA, kB, c});
  Answer(kA);
  Refuse(kB);
  Told();
  connections_->Close();
  EXPECT_THAT(Told(),
              ElementsAre(std::string("close ") + kA, std::string("cancel ") + kB, "cancel " + c));
  EXPECT_EQ(connector_.open(), 0);
  EXPECT_EQ(executor_.pending_timers(), 0u);
  EXPECT_FALSE(connections_->Find(kA).ok());
  EXPECT_FALSE(connections_->AwaitOpened(connections_->opened(), absl::InfiniteDuration()));
  Answer(c);  // too late
  SetList({kB});
  connections_->Close();
  EXPECT_THAT(Told(), IsEmpty());
  EXPECT_EQ(connector_.open(), 0);
  EXPECT_EQ(connector_.connects(kB), 1);
}

TEST_F(ConnectionsTest, GoneBeforeItsTasksRun) {
  SetList({kA, kB});
  connector_.Answer(kA);
  connections_.reset();
  connector_.Answer(kB);
  executor_.RunUntilIdle();
  EXPECT_EQ(connector_.open(), 0);
  EXPECT_EQ(executor_.pending_timers(), 0u);
}

TEST_F(ConnectionsTest, AwaitOpened) {
  EXPECT_FALSE(connections_->AwaitOpened(0, absl::ZeroDuration()));
  SetList({kA});
  Answer(kA);
  EXPECT_TRUE(connections_->AwaitOpened(0, absl::ZeroDuration()));
  EXPECT_FALSE(connections_->AwaitOpened(1, absl::Milliseconds(1)));
}

}  // namespace
}  // namespace example
