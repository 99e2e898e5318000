// Asking an instance over the Dubbo protocol, and what goes wrong with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "signpost/common/await.h"
#include "signpost/common/clock.h"
#include "signpost/common/tcp.h"
#include "signpost/metadata/dubbo/dubbo_metadata.h"
#include "signpost/metadata/published_metadata.h"
#include "tests/metadata/dubbo/frames.h"
#include "tests/support/loopback.h"
#include "tests/support/silent_port.h"

namespace signpost {
namespace {

using metadata_dubbo_internal::DecodeInvocation;
using metadata_dubbo_internal::EncodeAnswer;
using metadata_dubbo_internal::EncodeError;
using metadata_dubbo_internal::EncodeHeartbeat;
using metadata_dubbo_internal::FirstFrame;
using metadata_dubbo_internal::InfoOf;
using metadata_dubbo_internal::kDubboPayloadBytes;
using metadata_dubbo_internal::Parsed;
using metadata_dubbo_internal::Recorded;
using metadata_dubbo_internal::TextValue;
using testing::HasSubstr;

// Takes one connection, reads one request, says what the test has for it and closes.
class ScriptedPeer {
 public:
  using Script = std::function<std::string(uint64_t id)>;
  explicit ScriptedPeer(Script script)
      : thread_([this, script = std::move(script)] { Serve(script); }) {}
  ~ScriptedPeer() {
    if (thread_.joinable()) thread_.join();
  }

  uint16_t port() const { return port_.port(); }
  // Once it has been asked.
  std::string request() {
    thread_.join();
    return request_;
  }

 private:
  void Serve(const Script& script) {
    pollfd comes{port_.fd(), POLLIN, 0};
    if (poll(&comes, 1, 20000) != 1) return;
    const FileDescriptor peer(accept(port_.fd(), nullptr, nullptr));
    for (;;) {
      const auto frame = FirstFrame(request_, kDubboPayloadBytes);
      if (!frame.ok()) return;
      if (frame->has_value()) {
        const std::string answer = script((*frame)->id);
        // It may have heard enough already.
        static_cast<void>(send(peer.get(), answer.data(), answer.size(), MSG_NOSIGNAL));
        return;
      }
      char buffer[4096];
      const ssize_t received = recv(peer.get(), buffer, sizeof(buffer), 0);
      if (received <= 0) return;
      request_.append(buffer, static_cast<size_t>(received));
    }
  }

  SilentPort port_;
  std::string request_;
  std::thread thread_;
};

ScriptedPeer::Script Says(const std::string& bytes) {
  return [bytes](uint64_t) { return bytes; };
}

std::string AnswerWith(uint64_t id, const MetadataInfo& info) {
  return EncodeAnswer(id, *hessian2::MetadataInfoValue(info), /*attachments=*/true);
}

class DubboMetadataFetcherTest : public testing::Test {
 protected:
  ~DubboMetadataFetcherTest() override { fetcher_.reset(); }

  static ServiceInstance Instance(std::map<std::string, std::string> metadata) {
    ServiceInstance instance;
    instance.app = "shop";
    instance.host = "127.0.0.1";
    instance.port = 20880;
    instance.metadata = std::move(metadata);
    instance.metadata[kRevisionKey] = "r1";
    instance.metadata.try_emplace(kStorageTypeKey, "local");
    return instance;
  }
  static ServiceInstance WithParams(const std::string& params) {
    return Instance({{"dubbo.metadata-service.url-params", params}});
  }
  static ServiceInstance At(uint16_t port) {
    return WithParams(
        absl::StrCat(R"({"version":"1.0.0","port":")", port, R"(","protocol":"dubbo"})"));
  }
  static std::unique_ptr<MetadataServer> Serve() {
    auto published = std::make_shared<PublishedMetadata>("shop", Clock::Real());
    published->Publish(InfoOf("r1"), {});
    DubboMetadataOptions options;
    options.host = "127.0.0.1";
    auto server = ServeDubboMetadata(published, options);
    EXPECT_TRUE(server.ok()) << server.status();
    return server.ok() ? *std::move(server) : nullptr;
  }
  absl::StatusOr<MetadataInfo> Ask(const ServiceInstance& instance, const std::string& revision,
                                   absl::Duration timeout = absl::Seconds(10)) {
    return Await<absl::StatusOr<MetadataInfo>>(timeout + absl::Seconds(10), [&](auto done) {
      CallOptions options;
      options.timeout = timeout;
      fetcher_->Fetch(instance, revision, options, std::move(done));
    });
  }
  absl::StatusOr<MetadataInfo> AskOne(ScriptedPeer::Script script) {
    const ScriptedPeer peer(std::move(script));
    return Ask(At(peer.port()), "r1");
  }
  // That the error of `script` is kUnavailable, names the address and says `why`.
  void ExpectFault(ScriptedPeer::Script script, const std::string& why) {
    const absl::Status status = AskOne(std::move(script)).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("metadata service 127.0.0.1:"));
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  }

  std::shared_ptr<Executor> executor_ = NewSerialExecutor("control");
  std::unique_ptr<MetadataFetcher> fetcher_ = NewDubboMetadataFetcher(*executor_);
};

TEST_F(DubboMetadataFetcherTest, SpeaksToThoseThatSayDubbo) {
  EXPECT_TRUE(fetcher_->Speaks(At(1)));
  // As dubbo-go and Java write them.
  EXPECT_TRUE(fetcher_->Speaks(
      WithParams(R"({"group":"shop","port":"22403","protocol":"dubbo","release":"3.3.2",)"
                 R"("serialization":"hessian2","version":"1.0.0"})")));
  EXPECT_TRUE(fetcher_->Speaks(
      WithParams(R"({"prefer.serialization":"hessian2,fastjson2","version":"1.0.0",)"
                 R"("dubbo":"2.0.2","side":"provider","port":"22397","protocol":"dubbo"})")));
  EXPECT_FALSE(fetcher_->Speaks(Instance({})));
  for (const char* params :
       {R"({"protocol":"tri","port":"1"})", R"({"protocol":"dubbo"})", R"({"port":"1"})",
        R"({"protocol":"dubbo","port":"0"})", R"({"protocol":"dubbo","port":"70000"})",
        R"({"dubbo":{"port":"1"}})", "[]", "{broken", ""}) {
    EXPECT_FALSE(fetcher_->Speaks(WithParams(params))) << params;
  }
  ServiceInstance remote = At(1);
  remote.metadata[kStorageTypeKey] = "remote";
  EXPECT_FALSE(fetcher_->Speaks(remote));
}

TEST_F(DubboMetadataFetcherTest, AsksAServer) {
  auto server = Serve();
  ASSERT_NE(server, nullptr);
  const ServiceInstance instance = Instance(server->InstanceMetadata());
  ASSERT_TRUE(fetcher_->Speaks(instance));
  const auto answer = Ask(instance, "r1");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->revision, "r1");
  EXPECT_EQ(answer->services, InfoOf("r1").services);
  const auto unknown = Ask(instance, "r2");
  EXPECT_TRUE(absl::IsNotFound(unknown.status())) << unknown.status();
  EXPECT_THAT(std::string(unknown.status().message()), HasSubstr("status 70"));
  // Another application at that address.
  ServiceInstance other = instance;
  other.app = "other";
  EXPECT_THAT(std::string(Ask(other, "r1").status().message()), HasSubstr("status 60"));
  server->Close();
  EXPECT_TRUE(absl::IsUnavailable(Ask(instance, "r1").status()));
}

TEST_F(DubboMetadataFetcherTest, AsksAsJavaDoes) {
  ScriptedPeer peer([](uint64_t id) { return AnswerWith(id, InfoOf("r1")); });
  ASSERT_TRUE(Ask(At(peer.port()), "r1").ok());
  const std::string request = peer.request();
  const auto asked = DecodeInvocation(Parsed(request).body, hessian2::DecodeLimits());
  ASSERT_TRUE(asked.ok()) << asked.status();
  EXPECT_TRUE(Parsed(request).two_way);
  EXPECT_EQ(asked->dubbo_version, "2.0.2");
  EXPECT_EQ(asked->path, "org.apache.dubbo.metadata.MetadataService");
  EXPECT_EQ(asked->version, "1.0.0");
  EXPECT_EQ(asked->method, "getMetadataInfo");
  EXPECT_EQ(asked->parameter_types, "Ljava/lang/String;");
  ASSERT_EQ(asked->arguments.size(), 1u);
  EXPECT_EQ(asked->arguments[0]->text, "r1");
  auto attachments = asked->attachments;
  EXPECT_EQ(attachments["path"], asked->path);
  EXPECT_EQ(attachments["interface"], asked->path);
  EXPECT_EQ(attachments["version"], "1.0.0");
  EXPECT_EQ(attachments["group"], "shop");
  EXPECT_THAT(attachments["timeout"], testing::MatchesRegex("[0-9]+"));
}

TEST_F(DubboMetadataFetcherTest, TakesWhatJavaAndGoAnswered) {
  for (const std::string name : {"java-dubbo", "go-dubbo"}) {
    const std::string recorded = Recorded(name + " V1 answer");
    const auto info = AskOne([&](uint64_t id) {
      std::string answer = recorded;
      answer[11] = static_cast<char>(id);
      return answer;
    });
    ASSERT_TRUE(info.ok()) << info.status();
    EXPECT_EQ(info->app, name);
    EXPECT_EQ(info->services.count("demo.GreetingService:dubbo"), 1u);
  }
}

TEST_F(DubboMetadataFetcherTest, TakesTheTextThatOldJavaAnswers) {
  const auto info = AskOne([](uint64_t id) {
    return EncodeAnswer(id, *TextValue(ToJson(InfoOf("r1"))), /*attachments=*/false);
  });
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->services, InfoOf("r1").services);
}

TEST_F(DubboMetadataFetcherTest, PassesOverWhatIsNotItsAnswer) {
  const auto info = AskOne([](uint64_t id) {
    std::string read_only = EncodeHeartbeat(8);
    read_only.back() = '\x01';
    read_only[15] = 2;
    read_only += "R";
    return absl::StrCat(EncodeHeartbeat(7), read_only, AnswerWith(id + 1, InfoOf("other")),
                        AnswerWith(id, InfoOf("r1")), "what comes later");
  });
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->revision, "r1");
}

TEST_F(DubboMetadataFetcherTest, AnotherRevisionIsHandedOn) {
  const auto info = AskOne([](uint64_t id) { return AnswerWith(id, InfoOf("r9")); });
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->revision, "r9");
}

TEST_F(DubboMetadataFetcherTest, NullIsAnUnknownRevision) {
  for (const bool attachments : {false, true}) {
    const absl::Status status = AskOne([&](uint64_t id) {
                                  return EncodeAnswer(id, hessian2::Value(), attachments);
                                }).status();
    EXPECT_TRUE(absl::IsNotFound(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("r1"));
  }
}

TEST_F(DubboMetadataFetcherTest, StatusesAreToldWithTheirText) {
  ExpectFault(
      [](uint64_t id) {
        return EncodeError(id, metadata_dubbo_internal::kServerTimeout, "too busy\n\x1b[2J");
      },
      "status 31: too busy\\x0a");
  ExpectFault(
      [](uint64_t id) {
        return EncodeError(id, metadata_dubbo_internal::kServiceError, std::string(100000, 'x'));
      },
      "status 70: xxx");
}

TEST_F(DubboMetadataFetcherTest, ExceptionsAreToldWithTheirType) {
  hessian2::Value exception;
  exception.kind = hessian2::Kind::kObject;
  exception.type = "java.lang.IllegalStateException";
  exception.entries = {{TextValue("detailMessage"), TextValue("not ready")}};
  ExpectFault(
      [&](uint64_t id) {
        std::string answer = EncodeAnswer(id, exception, /*attachments=*/false);
        answer[16] = '\x90';  // the kind: with an exception
        return answer;
      },
      "java.lang.IllegalStateException: not ready");
  ExpectFault(
      [](uint64_t id) {
        std::string answer = EncodeAnswer(id, *TextValue("in words"), /*attachments=*/true);
        answer[16] = '\x93';
        return answer;
      },
      "in words");
}

TEST_F(DubboMetadataFetcherTest, AnswersOfAnotherShapeAreFaults) {
  hessian2::Value number;
  number.kind = hessian2::Kind::kInt;
  ExpectFault([&](uint64_t id) { return EncodeAnswer(id, number, false); }, "no MetadataInfo");
  ExpectFault(
      [](uint64_t id) {
        std::string answer = AnswerWith(id, InfoOf("r1"));
        answer[16] = '\x99';
        return answer;
      },
      "no answer of Dubbo");
  ExpectFault(
      [](uint64_t id) {
        std::string answer = AnswerWith(id, InfoOf("r1"));
        answer[2] = '\x17';
        return answer;
      },
      "serialization 23");
}

TEST_F(DubboMetadataFetcherTest, HostileBytesAreFaults) {
  ExpectFault(Says("HTTP/1.1 400 Bad Request\r\n\r\n"), "no frame of the Dubbo protocol");
  ExpectFault(Says(std::string("\xda\xbb\x02\x14\0\0\0\0\0\0\0\1\x7f\xff\xff\xff", 16)),
              "at most 8388608");
  ExpectFault(Says(""), "closed before an answer");
  ExpectFault(
      [](uint64_t id) {
        const std::string answer = AnswerWith(id, InfoOf("r1"));
        return answer.substr(0, answer.size() / 2);
      },
      "closed before an answer");
}

TEST_F(DubboMetadataFetcherTest, NobodyThere) {
  const absl::Status nobody = Ask(At(FreePort()), "r1").status();
  EXPECT_TRUE(absl::IsUnavailable(nobody)) << nobody;
  EXPECT_THAT(std::string(nobody.message()), HasSubstr("127.0.0.1"));
  EXPECT_THAT(std::string(nobody.message()), HasSubstr("refused"));
}

TEST_F(DubboMetadataFetcherTest, SilenceEndsByTheDeadline) {
  const SilentPort silent;
  const absl::Status status = Ask(At(silent.port()), "r1", absl::Milliseconds(200)).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
}

TEST_F(DubboMetadataFetcherTest, HeartbeatsWithoutEndDoNotOutlastTheDeadline) {
  const SilentPort port;
  bool closed = false;
  std::thread server([&] {
    const FileDescriptor peer(accept(port.fd(), nullptr, nullptr));
    const std::string beat = EncodeHeartbeat(1);
    const absl::Duration end = Clock::Real().MonotonicNow() + absl::Seconds(20);
    while (!closed && Clock::Real().MonotonicNow() < end) {
      closed = send(peer.get(), beat.data(), beat.size(), MSG_NOSIGNAL) < 0;
    }
  });
  const absl::Status status = Ask(At(port.port()), "r1", absl::Milliseconds(300)).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  server.join();
  EXPECT_TRUE(closed);  // the thread that asked is free again
}

TEST_F(DubboMetadataFetcherTest, CancelEndsIt) {
  const SilentPort silent;
  CallOptions options;
  options.timeout = absl::Minutes(10);
  Waiter<absl::StatusOr<MetadataInfo>> waiter;
  fetcher_->Fetch(At(silent.port()), "r1", options, waiter.Callback());
  pollfd asked{silent.fd(), POLLIN, 0};
  ASSERT_EQ(poll(&asked, 1, 20000), 1);
  options.cancel.Cancel();
  EXPECT_TRUE(absl::IsCancelled(waiter.Wait(absl::Seconds(20)).status()));
}

TEST_F(DubboMetadataFetcherTest, TheEndOfTheFetcherEndsQuestions) {
  const SilentPort silent;
  CallOptions options;
  options.timeout = absl::Minutes(10);
  Waiter<absl::StatusOr<MetadataInfo>> waiter;
  fetcher_->Fetch(At(silent.port()), "r1", options, waiter.Callback());
  pollfd asked{silent.fd(), POLLIN, 0};
  ASSERT_EQ(poll(&asked, 1, 20000), 1);
  fetcher_.reset();
  EXPECT_TRUE(absl::IsCancelled(waiter.Wait(absl::Seconds(20)).status()));
}

TEST_F(DubboMetadataFetcherTest, ManyAtOnce) {
  auto server = Serve();
  ASSERT_NE(server, nullptr);
  const ServiceInstance instance = Instance(server->InstanceMetadata());
  CallOptions options;
  options.timeout = absl::Minutes(1);
  std::vector<Waiter<absl::StatusOr<MetadataInfo>>> waiters(100);
  for (auto& waiter : waiters) fetcher_->Fetch(instance, "r1", options, waiter.Callback());
  for (auto& waiter : waiters) {
    const auto answer = waiter.Wait(absl::Minutes(1));
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->revision, "r1");
  }
}

}  // namespace
}  // namespace signpost
