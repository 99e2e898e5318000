#include "signpost/tests/interop/triple/greeter.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "signpost/common/clock.h"
#include "signpost/tests/interop/triple/hessian_string.h"
#include "signpost/tests/interop/triple/triple_wrapper.h"

namespace signpost::interop {
namespace {

constexpr char kPath[] = "/demo.GreetingService/greet";

std::string Hello(const std::string& name) { return "hello " + name; }

std::string Request(const std::string& name, const std::string& serialize_type = "hessian4") {
  return Serialize(
      TripleRequest{serialize_type, {EncodeHessianString(name).value()}, {"java.lang.String"}});
}

std::string Text(const std::string& response) {
  return DecodeHessianString(ParseTripleResponse(response).value().data).value();
}

TEST(Greeter, AnswersInTheSerializationsNameOfTheCall) {
  const Greeter greeter({"demo.GreetingService"}, Hello);
  for (const std::string type : {"hessian2", "hessian4"}) {
    const auto answer = greeter.Answer(kPath, "", "", Request("world", type));
    ASSERT_TRUE(answer.ok()) << answer.status();
    const auto response = ParseTripleResponse(*answer);
    EXPECT_EQ(response->serialize_type, type);
    EXPECT_EQ(response->type, "java.lang.String");
    EXPECT_EQ(Text(*answer), "hello world");
  }
}

TEST(Greeter, OtherServicesAndMethodsAreUnimplemented) {
  const Greeter greeter({"demo.GreetingService", "shop", "1.0.0"}, Hello);
  const std::string request = Request("world");
  EXPECT_TRUE(greeter.Answer(kPath, "shop", "1.0.0", request).ok());
  struct Asked {
    std::string path, group, version;
  };
  for (const Asked& asked : std::vector<Asked>{{kPath, "", ""},
                                               {kPath, "shop", ""},
                                               {kPath, "depot", "1.0.0"},
                                               {"/demo.GreetingService/leave", "shop", "1.0.0"},
                                               {"/demo.OrderService/greet", "shop", "1.0.0"},
                                               {"", "shop", "1.0.0"}}) {
    const auto answer = greeter.Answer(asked.path, asked.group, asked.version, request);
    EXPECT_EQ(answer.status().code(), absl::StatusCode::kUnimplemented);
    EXPECT_NE(answer.status().message().find("only greet of shop/demo.GreetingService:1.0.0"),
              std::string::npos);
  }
}

TEST(Greeter, OtherSerializationsAreUnimplemented) {
  const Greeter greeter({"demo.GreetingService"}, Hello);
  const auto answer = greeter.Answer(kPath, "", "", Request("world", "fastjson2"));
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(answer.status().message().find("`fastjson2`"), std::string::npos);
}

TEST(Greeter, ArgumentsMustBeOneString) {
  const Greeter greeter({"demo.GreetingService"}, Hello);
  for (const std::string& request :
       {std::string("\xff"), Serialize(TripleRequest{"hessian2", {}, {}}),
        Serialize(TripleRequest{"hessian2",
                                {"\x01"
                                 "a",
                                 "\x01"
                                 "b"},
                                {}}),
        Serialize(TripleRequest{"hessian2", {"N"}, {"java.lang.String"}})}) {
    EXPECT_EQ(greeter.Answer(kPath, "", "", request).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(Greeter, AnswerThatIsNotUtf8IsAnError) {
  const Greeter greeter({"demo.GreetingService"}, [](const std::string&) { return "\xff"; });
  EXPECT_EQ(greeter.Answer(kPath, "", "", Request("world")).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// A server on a port of the loopback and a client of it.
class Served {
 public:
  explicit Served(Greeter& greeter) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterCallbackGenericService(&greeter);
    server_ = builder.BuildAndStart();
    stub_ = std::make_unique<grpc::GenericStub>(
        grpc::CreateChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials()));
  }

  // The answer, or "CODE: MESSAGE".
  std::string Ask(const std::string& path, const std::string& request) {
    grpc::ClientContext context;
    context.AddMetadata("tri-service-group", "shop");
    context.AddMetadata("tri-service-version", "1.0.0");
    const grpc::Slice slice(request);
    const grpc::ByteBuffer sent(&slice, 1);
    grpc::ByteBuffer received;
    std::promise<grpc::Status> done;
    stub_->UnaryCall(&context, path, {}, &sent, &received,
                     [&done](grpc::Status status) { done.set_value(std::move(status)); });
    const grpc::Status status = done.get_future().get();
    grpc::Slice answer;
    if (!status.ok()) return absl::StrCat(status.error_code(), ": ", status.error_message());
    if (!received.DumpToSingleSlice(&answer).ok()) return "no answer";
    return Text({reinterpret_cast<const char*>(answer.begin()), answer.size()});
  }

  void Shutdown() {
    server_->Shutdown(absl::ToChronoTime(Clock::Real().WallNow() + absl::Seconds(60)));
  }

 private:
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<grpc::GenericStub> stub_;
};

TEST(Greeter, AnswersOverGrpc) {
  Greeter greeter({"demo.GreetingService", "shop", "1.0.0"}, Hello);
  Served served(greeter);
  EXPECT_EQ(served.Ask(kPath, Request("world")), "hello world");
  // More than one frame, and more than one chunk.
  EXPECT_EQ(served.Ask(kPath, Request(std::string(200'000, 'a'))),
            "hello " + std::string(200'000, 'a'));
  EXPECT_EQ(served.Ask("/demo.GreetingService/leave", Request("world")).substr(0, 4), "12: ");
  EXPECT_EQ(served.Ask(kPath, "\xff").substr(0, 3), "3: ");
  served.Shutdown();
}

TEST(Greeter, CallInFlightIsAnsweredWhileTheServerShutsDown) {
  std::promise<void> entered, leave;
  Greeter greeter({"demo.GreetingService", "shop", "1.0.0"}, [&](const std::string& name) {
    entered.set_value();
    leave.get_future().wait();
    return Hello(name);
  });
  Served served(greeter);
  auto answer = std::async(std::launch::async, [&] { return served.Ask(kPath, Request("world")); });
  entered.get_future().wait();
  std::thread stop([&] { served.Shutdown(); });
  // Refused from when it shuts down on; until then it is not asked for `greet`.
  while (served.Ask("/demo.GreetingService/leave", "").substr(0, 3) == "12:") {
  }
  leave.set_value();
  EXPECT_EQ(answer.get(), "hello world");
  stop.join();
}

}  // namespace
}  // namespace signpost::interop
