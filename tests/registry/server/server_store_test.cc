// The conformance suite of Store on a registry server, and what only a server has.
#include "signpost/registry/server/server_store.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/conformance/store_suite.h"
#include "tests/registry/server/server_test.h"
#include "tests/support/silent_port.h"
#include "tests/support/tcp_proxy.h"

namespace signpost {
namespace {

class ServerFixture final : public StoreFixture {
 public:
  std::unique_ptr<Store> Open(std::shared_ptr<Executor> executor) override {
    auto proxy = std::make_unique<TcpProxy>(server_->port());
    AddressFixture address(proxy->address(), "session=4000");
    auto store = address.Open(std::move(executor));
    proxies_[store.get()] = std::move(proxy);
    return store;
  }

  // Nothing of the handle reaches the server until that has ended the session.
  bool ExpireSession(Store& store) override {
    TcpProxy& proxy = *proxies_[&store];
    const size_t sessions = server_->session_count();
    proxy.Break();
    const bool ended = WaitUntil([&] { return server_->session_count() < sessions; });
    proxy.Restore();
    EXPECT_TRUE(ended);
    return ended;
  }

  bool Restart() override {
    server_.reset();
    server_ = StartServer(centre_);
    return server_ != nullptr;
  }

  // When it has come to rest: what was cancelled is taken back a little later.
  int WatchCount() override {
    int last = -1;
    int same = 0;
    WaitUntil([&] {
      const int now = static_cast<int>(centre_->watch_count());
      same = now == last ? same + 1 : 0;
      last = now;
      return same > 20;
    });
    return last;
  }

 private:
  std::shared_ptr<LocalCentre> centre_ = NewCentre();
  std::unique_ptr<RegistryServer> server_ = StartServer(centre_);
  std::map<const Store*, std::unique_ptr<TcpProxy>> proxies_;
};

StoreSuiteParam Param() {
  StoreSuiteParam param;
  param.name = "signpost";
  param.make = [] { return std::make_unique<ServerFixture>(); };
  param.too_large = (4 << 20) + 1;
  return param;
}

INSTANTIATE_TEST_SUITE_P(Server, StoreSuite, testing::Values(Param()));

absl::Status GetStatus(Handle& handle, const CallOptions& options) {
  return handle.Get("/k", options).status();
}

TEST(ServerStoreTest, OpensByUrl) {
  auto server = StartServer(NewCentre());
  CentreOptions options;
  options.executor = NewSerialExecutor("server-test");
  const auto url = Url::Parse(absl::StrCat("signpost://", server->address()));
  auto centre = OpenServerCentre(*url, options);
  ASSERT_TRUE(centre.ok()) << centre.status();
  EXPECT_EQ((*centre)->url(), *url);
  EXPECT_TRUE(WaitUntil([&] { return (*centre)->store().IsAvailable(); }));
  const StoreCapabilities capabilities = (*centre)->store().capabilities();
  EXPECT_TRUE(capabilities.ordered);
  EXPECT_TRUE(capabilities.tree_watch);
  EXPECT_TRUE(capabilities.session);
  EXPECT_TRUE(capabilities.live);
}

TEST(ServerStoreTest, BadUrlsAreRefused) {
  auto executor = NewSerialExecutor("server-test");
  for (const char* text :
       {"zookeeper://127.0.0.1:2181", "signpost://127.0.0.1:2280,127.0.0.1:2281",
        "signpost://127.0.0.1?session=soon", "signpost://127.0.0.1?session=0",
        "signpost://127.0.0.1?timeout=-5", "signpost://127.0.0.1?session=99999999999"}) {
    const auto url = Url::Parse(text);
    ASSERT_TRUE(url.ok()) << text;
    EXPECT_TRUE(absl::IsInvalidArgument(OpenServerStore(*url, executor).status())) << text;
  }
}

TEST(ServerStoreTest, TooLargeIsSaidAndEndsNothing) {
  auto server = StartServer(NewCentre());
  AddressFixture fixture(server->address());
  Handle handle(fixture, "large");
  auto events = std::make_shared<ToldEvents>();
  const Subscription session = handle.WatchSession(events);
  ASSERT_TRUE(events->AwaitSize(1));
  for (const size_t size : {size_t{5} << 20, size_t{40} << 20}) {
    const auto put = handle.Put("/k", std::string(size, 'x'));
    EXPECT_TRUE(absl::IsResourceExhausted(put.status())) << put.status();
  }
  EXPECT_TRUE(absl::IsResourceExhausted(handle.Bind("/k", std::string(40 << 20, 'x')).status()));
  EXPECT_TRUE(handle.Put("/k", "v").ok());
  EXPECT_EQ(events->size(), 1u);
}

TEST(ServerStoreTest, CallsEndByThemselvesWithoutAServer) {
  AddressFixture fixture(absl::StrCat("127.0.0.1:", FreePort()));
  Handle handle(fixture, "nobody");
  EXPECT_FALSE(handle.store().IsAvailable());
  CallOptions options;
  options.timeout = absl::Milliseconds(200);
  const absl::Status late = GetStatus(handle, options);
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  EXPECT_NE(late.message().find("not connected"), std::string::npos) << late;
  EXPECT_NE(late.message().find("refused"), std::string::npos) << late;
  // Cancelled while it waits for a connection.
  CallOptions cancelled;
  cancelled.timeout = absl::Hours(1);
  auto answers = std::make_shared<ToldValues>();
  handle.store().Get("/k", cancelled, [answers](auto value) { answers->Add(std::move(value)); });
  handle.OnExecutor([] {});
  EXPECT_EQ(answers->size(), 0u);
  cancelled.cancel.Cancel();
  ASSERT_TRUE(answers->AwaitSize(1));
  EXPECT_TRUE(absl::IsCancelled(answers->items()[0].status()));
}

// A call that waits for a connection is made when there is one.
TEST(ServerStoreTest, CallsWaitForTheServer) {
  const uint16_t port = FreePort();
  AddressFixture fixture(absl::StrCat("127.0.0.1:", port));
  Handle handle(fixture, "early");
  auto answers = std::make_shared<Told<absl::StatusOr<int64_t>>>();
  CallOptions options;
  options.timeout = absl::Seconds(30);
  handle.store().Put("/k", "v", options, [answers](auto version) { answers->Add(version); });
  auto server = StartServer(NewCentre(), {}, port);
  ASSERT_TRUE(answers->AwaitSize(1));
  EXPECT_TRUE(answers->items()[0].ok()) << answers->items()[0].status();
}

TEST(ServerStoreTest, ASilentServerHoldsUpNobody) {
  const SilentPort silent;
  AddressFixture fixture(absl::StrCat("127.0.0.1:", silent.port()), "timeout=60000");
  Handle handle(fixture, "silent");
  CallOptions options;
  options.timeout = absl::Milliseconds(100);
  EXPECT_TRUE(absl::IsDeadlineExceeded(GetStatus(handle, options)));
  const absl::Duration begun = Clock::Real().MonotonicNow();
  handle.store().Close();
  EXPECT_LT(Clock::Real().MonotonicNow() - begun, absl::Seconds(5));
}

TEST(ServerStoreTest, CloseCancelsCallsThatWait) {
  const SilentPort silent;
  AddressFixture fixture(absl::StrCat("127.0.0.1:", silent.port()));
  Handle handle(fixture, "waiting");
  auto answers = std::make_shared<ToldValues>();
  handle.store().Get("/k", CallOptions(), [answers](auto value) { answers->Add(value); });
  handle.store().Close();
  ASSERT_TRUE(answers->AwaitSize(1));
  EXPECT_TRUE(absl::IsCancelled(answers->items()[0].status()));
}

TEST(ServerStoreTest, AChildOfAForkIsToldSo) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer cannot fork a process with threads";
#endif
  auto server = StartServer(NewCentre());
  AddressFixture fixture(server->address());
  Handle handle(fixture, "fork");
  ASSERT_TRUE(handle.Put("/k", "v").ok());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int code = 1;
    handle.store().Get("/k", CallOptions(), [&code](absl::StatusOr<StoreValue> value) {
      code = absl::IsFailedPrecondition(value.status()) ? 0 : 2;
    });
    if (handle.store().IsAvailable()) code = 3;
    _exit(code);
  }
  int result = -1;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
  EXPECT_TRUE(handle.Get("/k").ok());
}

TEST(ProbeRegistryServerTest, TellsWhetherOneAnswers) {
  auto server = StartServer(NewCentre());
  const auto probe = [](const std::string& address) {
    return ProbeRegistryServer(*Url::Parse(absl::StrCat("signpost://", address)),
                               absl::Milliseconds(500));
  };
  EXPECT_TRUE(probe(server->address()).ok());
  EXPECT_EQ(server->session_count(), 0u);
  const absl::Status nobody = probe(absl::StrCat("127.0.0.1:", FreePort()));
  EXPECT_TRUE(absl::IsUnavailable(nobody)) << nobody;
  // Something else listens there.
  const SilentPort silent;
  EXPECT_TRUE(absl::IsUnavailable(probe(absl::StrCat("127.0.0.1:", silent.port()))));
}

}  // namespace
}  // namespace signpost
