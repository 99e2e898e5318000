// ZooKeeper's digest login: what another identity may not do with our nodes, who may be let read
// them, and what a wrong password is told. Against the real server, looked at by its own client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "signpost/client/client.h"
#include "signpost/client/plugins/zookeeper.h"
#include "signpost/common/mutex.h"
#include "tests/support/child_process.h"
#include "tests/support/kept_log.h"
#include "tests/support/raw_zookeeper.h"
#include "tests/support/zookeeper_server.h"

namespace signpost {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr char kService[] = "org.example.Greeter";
constexpr char kAddress[] = "192.0.2.1:50051";
constexpr char kInstance[] = "/services/greeting/192.0.2.1:50051";
// Of svc:p4ss and ops:0ps, as the server shows them.
constexpr char kOwner[] = "digest:svc:6QTj/fh6xDXC6Ov+k7SymJf9pV8=:cdrwa";
constexpr char kOps[] = "digest:ops:FbASyOI3pVVtHBj3gFX9fOhJwRY=";

// /a/b/c and the folders above it.
std::vector<std::string> WithFolders(std::string path) {
  std::vector<std::string> all;
  while (!path.empty()) {
    all.push_back(path);
    path.resize(path.rfind('/'));
  }
  return all;
}

class AclTest : public testing::Test {
 protected:
  void SetUp() override {
    const absl::Status started = server_.Start();
    ASSERT_TRUE(started.ok()) << started;
    ASSERT_TRUE(AddZookeeper(registries_).ok());
  }

  void TearDown() override {
    for (const char* secret : {"p4ss", "wr0ng", "0ther", "FbASyOI3"}) {
      EXPECT_THAT(log_.text(), Not(HasSubstr(secret)));
    }
  }

  std::string UrlOf(const std::string& user, const std::string& parameters = "") {
    return absl::StrCat("zookeeper://", user.empty() ? "" : absl::StrCat(user, "@"),
                        server_.address(), "?session=10000", parameters);
  }

  absl::StatusOr<std::unique_ptr<Client>> TryOpen(const std::string& url) {
    ClientOptions options;
    options.app = "greeting";
    options.registry = url;
    return Client::Create(options, registries_);
  }
  std::unique_ptr<Client> Open(const std::string& url) {
    auto client = TryOpen(url);
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }

  static absl::Status Provide(Client& client) {
    const absl::Status exported =
        client.provider().Export(absl::StrCat("tri://", kAddress, "/", kService));
    EXPECT_TRUE(exported.ok()) << exported;
    return client.Start(absl::Seconds(30));
  }

  // Registered with svc:p4ss; mapping, documents, instance and provider node in `paths_`.
  std::unique_ptr<Client> Provider(const std::string& url) {
    auto client = Open(url);
    const absl::Status status = Provide(*client);
    EXPECT_TRUE(status.ok()) << status;
    paths_ = client->provider().registered().paths;
    EXPECT_GE(paths_.size(), 4u);
    EXPECT_THAT(paths_, testing::Contains(kInstance));
    EXPECT_THAT(paths_, testing::Contains(testing::HasSubstr("/providers/tri%3A%2F%2F")));
    return client;
  }

  void ExpectClosedTo(RawZookeeper& other) {
    for (const std::string& path : paths_) {
      EXPECT_TRUE(absl::IsPermissionDenied(other.Get(path).status())) << path;
      ExpectUnchangeableBy(other, path);
      for (const std::string& folder : WithFolders(path)) {
        EXPECT_TRUE(absl::IsPermissionDenied(other.Children(folder).status())) << folder;
      }
    }
  }

  void ExpectUnchangeableBy(RawZookeeper& other, const std::string& path) {
    EXPECT_TRUE(absl::IsPermissionDenied(other.Set(path, "x"))) << path;
    EXPECT_TRUE(absl::IsPermissionDenied(other.Delete(path))) << path;
    const std::string sibling = absl::StrCat(path.substr(0, path.rfind('/')), "/intruder");
    EXPECT_TRUE(absl::IsPermissionDenied(other.Create(sibling, "x"))) << sibling;
  }

  // The first state of `directory` that is one of a fault that stays.
  static absl::Status FinalState(Directory& directory) {
    struct Heard {
      Mutex mutex;
      CondVar changed;
      absl::Status state = absl::UnavailableError("nothing was told");
    };
    auto heard = std::make_shared<Heard>();
    const Subscription subscription =
        directory.OnChange([heard](const ServiceAddresses& addresses) {
          MutexLock lock(heard->mutex);
          heard->state = addresses.state;
          heard->changed.SignalAll();
        });
    MutexLock lock(heard->mutex);
    for (int i = 0; i < 300 && absl::IsUnavailable(heard->state); ++i) {
      heard->changed.WaitFor(heard->mutex, absl::Milliseconds(100));
    }
    return heard->state;
  }

  // What a consumer with that URL is told, and what its Pick says then.
  void ExpectFound(const std::string& url) {
    auto client = Open(url);
    auto directory = client->consumer().Refer(kService);
    ASSERT_TRUE(directory.ok());
    const absl::Status ready = (*directory)->WaitReady(absl::Seconds(30));
    ASSERT_TRUE(ready.ok()) << ready;
    auto pick = (*directory)->Pick(Request());
    ASSERT_TRUE(pick.ok()) << pick.status();
    EXPECT_EQ(pick->endpoint.address(), kAddress);
  }
  void ExpectTold(const std::string& url, const ReferOptions& options, const std::string& path,
                  const std::string& why) {
    auto client = Open(url);
    auto directory = client->consumer().Refer(kService, options);
    ASSERT_TRUE(directory.ok());
    const absl::Status state = FinalState(**directory);
    EXPECT_TRUE(absl::IsPermissionDenied(state)) << state;
    EXPECT_THAT(state.message(), testing::AllOf(HasSubstr(path), HasSubstr(why)));
    const absl::Status pick = (*directory)->Pick(Request()).status();
    EXPECT_TRUE(absl::IsPermissionDenied(pick)) << pick;
    EXPECT_THAT(pick.message(), testing::AllOf(HasSubstr(path), HasSubstr(why)));
  }

  const KeptLog log_{LogLevel::kDebug};
  ZookeeperServer server_;
  RegistryFactories registries_{"registry"};
  std::vector<std::string> paths_;
};

TEST_F(AclTest, NobodyElseReadsWritesOrDeletes) {
  auto provider = Provider(UrlOf("svc:p4ss"));
  for (const char* user : {"", "other:p4ss", "svc:wr0ng"}) {
    SCOPED_TRACE(user);
    RawZookeeper other(server_.address(), user);
    ExpectClosedTo(other);
  }
  RawZookeeper owner(server_.address(), "svc:p4ss");
  for (const std::string& path : paths_) {
    EXPECT_TRUE(owner.Get(path).ok()) << path;
    // The folders too, as Dubbo Java makes them.
    for (const std::string& each : WithFolders(path)) {
      const auto acl = owner.Acl(each);
      ASSERT_TRUE(acl.ok()) << acl.status();
      EXPECT_THAT(*acl, ElementsAre(kOwner)) << each;
    }
  }
  ExpectFound(UrlOf("svc:p4ss"));
  provider->Shutdown(absl::ZeroDuration());
  EXPECT_TRUE(absl::IsNotFound(owner.Get(kInstance).status()));
}

// What Dubbo's `dubbo.registry.username` and `password` become in a URL.
TEST_F(AclTest, ParametersAreALoginToo) {
  auto provider = Provider(UrlOf("", "&username=svc&password=p4ss"));
  RawZookeeper owner(server_.address(), "svc:p4ss");
  for (const std::string& path : paths_) {
    const auto acl = owner.Acl(path);
    ASSERT_TRUE(acl.ok()) << acl.status();
    EXPECT_THAT(*acl, ElementsAre(kOwner)) << path;
  }
  ExpectFound(UrlOf("svc:p4ss"));
  ExpectFound(UrlOf("svc", "&password=p4ss"));
  // The user info's user with the password of another one is no login of anybody.
  ExpectTold(UrlOf("ann", "&username=svc&password=p4ss"), ReferOptions(),
             absl::StrCat("/dubbo/mapping/", kService), "user 'ann'");
}

TEST_F(AclTest, ReadersReadAndNoMore) {
  auto provider = Provider(UrlOf("svc:p4ss", absl::StrCat("&acl-read=", kOps, ",ip:192.0.2.0/24")));
  RawZookeeper owner(server_.address(), "svc:p4ss");
  RawZookeeper ops(server_.address(), "ops:0ps");
  for (const std::string& path : paths_) {
    EXPECT_TRUE(ops.Get(path).ok()) << path;
    ExpectUnchangeableBy(ops, path);
    for (const std::string& each : WithFolders(path)) {
      EXPECT_TRUE(ops.Children(each).ok()) << each;
      const auto acl = owner.Acl(each);
      ASSERT_TRUE(acl.ok()) << acl.status();
      EXPECT_THAT(*acl, ElementsAre(kOwner, absl::StrCat(kOps, ":r"), "ip:192.0.2.0/24:r")) << each;
    }
  }
  ExpectFound(UrlOf("ops:0ps"));
  RawZookeeper nobody(server_.address());
  ExpectClosedTo(nobody);
}

TEST_F(AclTest, EverybodyMayBeLetRead) {
  auto provider = Provider(UrlOf("svc:p4ss", "&acl-read=world:anyone"));
  RawZookeeper nobody(server_.address());
  for (const std::string& path : paths_) {
    EXPECT_TRUE(nobody.Get(path).ok()) << path;
    ExpectUnchangeableBy(nobody, path);
  }
  ExpectFound(UrlOf(""));
}

TEST_F(AclTest, BadReadersAreRefusedAtOnce) {
  for (const char* parameters :
       {"&acl-read=anyone", "&acl-read=world:anyone,", "&acl-read=digest:ops:p4ss"}) {
    const absl::Status status = TryOpen(UrlOf("svc:p4ss", parameters)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(status.message(),
                testing::AllOf(HasSubstr("acl-read"), HasSubstr("item "), Not(HasSubstr("p4ss"))));
  }
  const absl::Status status = TryOpen(UrlOf("", "&acl-read=world:anyone")).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("username and password"));
}

// An open folder of somebody else stays open: what lies in it is closed all the same.
TEST_F(AclTest, FoldersOfOthersStayAsTheyAre) {
  RawZookeeper nobody(server_.address());
  for (const char* folder : {"/services", "/services/greeting", "/dubbo"}) {
    ASSERT_TRUE(nobody.Create(folder, "").ok());
  }
  auto provider = Provider(UrlOf("svc:p4ss"));
  RawZookeeper owner(server_.address(), "svc:p4ss");
  EXPECT_THAT(*owner.Acl("/services/greeting"), ElementsAre("world:anyone:cdrwa"));
  EXPECT_THAT(*owner.Acl(kInstance), ElementsAre(kOwner));
  EXPECT_THAT(*owner.Acl("/dubbo/mapping"), ElementsAre(kOwner));
  EXPECT_TRUE(absl::IsPermissionDenied(nobody.Get(kInstance).status()));
  EXPECT_TRUE(absl::IsPermissionDenied(nobody.Set(kInstance, "x")));
  // Not "no instance": there is one, and it may not be read.
  ReferOptions options;
  options.provided_by = "greeting";
  ExpectTold(UrlOf("svc:wr0ng"), options, kInstance, "user 'svc' with this password may not read");
  ExpectTold(UrlOf(""), options, kInstance, "nobody may read it without a login");
}

TEST_F(AclTest, AWrongPasswordIsAnErrorOfStart) {
  auto right = Provider(UrlOf("svc:p4ss"));
  for (const char* user : {"svc:wr0ng", "ann:p4ss", ""}) {
    auto wrong = Open(UrlOf(user));
    const absl::Status status = Provide(*wrong);
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr("zookeeper /"));
    EXPECT_THAT(status.message(), HasSubstr(*user == '\0' ? "without a login" : "password"));
    EXPECT_EQ(wrong->provider().state().code(), absl::StatusCode::kPermissionDenied);
    // It is tried again, and each try that fails is said.
    EXPECT_THAT(log_.text(), HasSubstr("application greeting: "));
    for (const char* secret : {"p4ss", "wr0ng"}) {
      EXPECT_THAT(status.message(), Not(HasSubstr(secret)));
    }
  }
}

// Another application of another user: the folder above is not ours to write in.
TEST_F(AclTest, AFolderOfAnotherUserIsNamed) {
  auto right = Provider(UrlOf("svc:p4ss"));
  ClientOptions options;
  options.app = "billing";
  // One level, so that there is one place to name.
  options.registry = UrlOf("ann:0ther") + "&register-mode=instance";
  auto client = Client::Create(options, registries_);
  ASSERT_TRUE(client.ok()) << client.status();
  ASSERT_TRUE((*client)->provider().Export("tri://192.0.2.9:1/org.example.Billing").ok());
  const absl::Status status = (*client)->Start(absl::Seconds(30));
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("/dubbo/metadata/billing: user 'ann' with this password "
                                          "may not create it"));
}

TEST_F(AclTest, AWrongPasswordIsToldToConsumers) {
  auto right = Provider(UrlOf("svc:p4ss"));
  const std::string mapping = absl::StrCat("/dubbo/mapping/", kService);
  ExpectTold(UrlOf("svc:wr0ng"), ReferOptions(), mapping,
             "user 'svc' with this password may not read it");
  ExpectTold(UrlOf(""), ReferOptions(), mapping, "nobody may read it without a login");
  ReferOptions options;
  options.provided_by = "greeting";
  ExpectTold(UrlOf("svc:wr0ng"), options, "/services/greeting", "may not read it");
}

TEST_F(AclTest, TheCommandSaysWhatIsWrong) {
  auto right = Provider(UrlOf("svc:p4ss"));
  const std::string service = absl::StrCat("--service=", kService);
  const std::vector<std::vector<std::string>> commands = {
      {"apps"},
      {"instances", "greeting"},
      {"services"},
      {"mapping", kService},
      {"metadata", "greeting"},
      {"resolve", kService},
      {"watch", kService},
      {"provide", "--app=greeting", service, "--address=192.0.2.2:1"}};
  for (const auto& words : commands) {
    for (const std::string user : {"svc:wr0ng", "", "svc:p4ss"}) {
      const std::string name = absl::StrCat(words[0], " as '", user, "'");
      std::vector<std::string> command = {"tools/signpost"};
      command.insert(command.end(), words.begin(), words.end());
      command.push_back("--registry=" + UrlOf(user));
      command.push_back("--timeout=20s");
      command.push_back("--verbose");
      ChildProcess process(command);
      const bool good = user == "svc:p4ss";
      std::string text = " it without a login";
      if (user == "svc:wr0ng") text = "user 'svc' with this password may not ";
      if (good) text = words[0] == "provide" ? "registered /services/" : "";
      if (good && words[0] == "watch") text = "192.0.2.1";
      if (words[0] == "watch" || (good && words[0] == "provide")) {
        EXPECT_TRUE(process.WaitForOutput(text, absl::Seconds(30))) << name << process.output();
        process.Signal(SIGTERM);
      }
      EXPECT_EQ(process.Wait(absl::Seconds(30)), good ? 0 : 3) << name << process.output();
      EXPECT_THAT(process.output(), HasSubstr(text)) << name;
      EXPECT_EQ(absl::StrContains(process.output(), "signpost: "), !good) << name;
      for (const char* secret : {"p4ss", "wr0ng"}) {
        EXPECT_THAT(process.output(), Not(HasSubstr(secret))) << name;
      }
    }
  }
}

TEST_F(AclTest, AServerThatKnowsNoLoginIsAnError) {
  ASSERT_TRUE(server_.Stop().ok());
  setenv("ZK_NO_DIGEST", "1", 1);
  const absl::Status restarted = server_.Start();
  unsetenv("ZK_NO_DIGEST");
  ASSERT_TRUE(restarted.ok()) << restarted;
  auto client = Open(UrlOf("svc:p4ss", "&session=2000"));
  const absl::Status status = Provide(*client);
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("the server refuses the credentials"));
  ExpectTold(UrlOf("svc:p4ss"), ReferOptions(), kService, "the server refuses the credentials");
  ChildProcess process(
      {"tools/signpost", "apps", "--registry=" + UrlOf("svc:p4ss"), "--timeout=20s"});
  EXPECT_EQ(process.Wait(absl::Seconds(30)), 3);
  EXPECT_THAT(process.output(), HasSubstr("the server refuses the credentials"));
  // A new try is made after the time of a session.
  ASSERT_TRUE(server_.Stop().ok());
  ASSERT_TRUE(server_.Start().ok());
  ExpectFound(UrlOf("svc:p4ss"));
}

}  // namespace
}  // namespace signpost
