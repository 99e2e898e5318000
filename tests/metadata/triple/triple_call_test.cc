// One call by gRPC, and what a peer can do to it.
#include "signpost/metadata/triple/triple_call.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "signpost/common/await.h"
#include "tests/metadata/triple/peers.h"
#include "tests/support/silent_port.h"

namespace signpost::metadata_triple_internal {
namespace {

constexpr absl::Duration kLong = absl::Seconds(20);

absl::StatusOr<MetadataInfo> Ask(ServiceVersion version, TripleTarget target,
                                 absl::Duration left = kLong) {
  const auto call = NewTripleCall(std::move(target));
  return Await<absl::StatusOr<MetadataInfo>>(
      left + kLong, [&](auto done) { call->Start(version, left, std::move(done)); });
}

TripleTarget At(uint16_t port) { return {"127.0.0.1", port, "shop", "r1"}; }

TEST(TripleCallTest, V2IsAskedWithDubbosHeaders) {
  OnlyV2 service;
  const GrpcPeer peer({&service});
  const auto info = Ask(ServiceVersion::kV2, At(peer.port()));
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->revision, "r1");
  EXPECT_EQ(info->services, SampleInfo().services);
  EXPECT_EQ(service.headers.group, "shop");
  EXPECT_EQ(service.headers.version, "2.0.0");
}

TEST(TripleCallTest, V1IsAskedWithDubbosHeaders) {
  OnlyV1 service;
  const GrpcPeer peer({&service});
  const auto info = Ask(ServiceVersion::kV1, At(peer.port()));
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->services, SampleInfo().services);
  EXPECT_EQ(service.headers.group, "shop");
  EXPECT_EQ(service.headers.version, "1.0.0");
}

TEST(TripleCallTest, AHostMayBeAName) {
  OnlyV2 service;
  const GrpcPeer peer({&service});
  TripleTarget target = At(peer.port());
  target.host = "localhost";
  const auto info = Ask(ServiceVersion::kV2, target);
  EXPECT_TRUE(info.ok()) << info.status();
}

TEST(TripleCallTest, WhatIsNotThereIsUnimplemented) {
  OnlyV1 service;
  const GrpcPeer peer({&service});
  const auto info = Ask(ServiceVersion::kV2, At(peer.port()));
  EXPECT_TRUE(absl::IsUnimplemented(info.status())) << info.status();
}

TEST(TripleCallTest, OneCallAfterTheOther) {
  OnlyV1 service;
  const GrpcPeer peer({&service});
  const auto call = NewTripleCall(At(peer.port()));
  for (int i = 0; i < 3; ++i) {
    const auto v2 = Await<absl::StatusOr<MetadataInfo>>(
        kLong, [&](auto done) { call->Start(ServiceVersion::kV2, kLong, std::move(done)); });
    EXPECT_TRUE(absl::IsUnimplemented(v2.status())) << v2.status();
    const auto v1 = Await<absl::StatusOr<MetadataInfo>>(
        kLong, [&](auto done) { call->Start(ServiceVersion::kV1, kLong, std::move(done)); });
    EXPECT_TRUE(v1.ok()) << v1.status();
  }
}

TEST(TripleCallTest, WhatNobodyCanBeAskedForIsRefused) {
  for (const char* host :
       {"", "unix:/tmp/socket", "a/b", "a%2fb", "xds:///x", "a b", "::1%eth0", "a:1", "\xc3\xa4"}) {
    TripleTarget target = At(1);
    target.host = host;
    const absl::Status status = Ask(ServiceVersion::kV2, target).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << host << ": " << status;
  }
  TripleTarget app = At(1);
  app.app = "caf\xc3\xa9";
  EXPECT_TRUE(absl::IsInvalidArgument(Ask(ServiceVersion::kV2, app).status()));
  app.app = "a\r\nb";
  EXPECT_TRUE(absl::IsInvalidArgument(Ask(ServiceVersion::kV1, app).status()));
  TripleTarget revision = At(1);
  revision.revision = "\xff";
  EXPECT_TRUE(absl::IsInvalidArgument(Ask(ServiceVersion::kV2, revision).status()));
}

TEST(TripleCallTest, ErrorsKeepTheirCode) {
  OnlyV2 service;
  const GrpcPeer peer({&service});
  const std::pair<grpc::StatusCode, absl::StatusCode> codes[] = {
      {grpc::StatusCode::NOT_FOUND, absl::StatusCode::kNotFound},
      {grpc::StatusCode::UNKNOWN, absl::StatusCode::kUnknown},
      {grpc::StatusCode::UNAUTHENTICATED, absl::StatusCode::kUnauthenticated},
      // Nobody here cancelled.
      {grpc::StatusCode::CANCELLED, absl::StatusCode::kUnavailable},
  };
  for (const auto& [code, expected] : codes) {
    service.status = grpc::Status(code, "said so");
    const absl::Status status = Ask(ServiceVersion::kV2, At(peer.port())).status();
    EXPECT_EQ(status.code(), expected) << status;
    EXPECT_NE(status.message().find("said so"), std::string::npos) << status;
  }
  service.status = grpc::Status(grpc::StatusCode::INTERNAL, std::string(5000, 'x'));
  EXPECT_LE(Ask(ServiceVersion::kV2, At(peer.port())).status().message().size(), 1000u);
}

TEST(TripleCallTest, AnOversizeAnswerIsRefused) {
  OnlyV2 service;
  service.answer.services.begin()->second.params["text"] = std::string(kMaxAnswerBytes, 'x');
  const GrpcPeer peer({&service});
  const absl::Status status = Ask(ServiceVersion::kV2, At(peer.port())).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
}

TEST(TripleCallTest, SilenceEndsByTheDeadline) {
  const SilentPort silent;
  const absl::Status status =
      Ask(ServiceVersion::kV2, At(silent.port()), absl::Milliseconds(200)).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
}

TEST(TripleCallTest, NobodyThere) {
  const absl::Status status = Ask(ServiceVersion::kV2, At(FreePort())).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

// It speaks, but not HTTP/2.
TEST(TripleCallTest, GarbageIsAnError) {
  const SilentPort port;
  std::thread server([&] {
    pollfd comes{port.fd(), POLLIN, 0};
    if (poll(&comes, 1, 20000) != 1) return;
    const int peer = accept(port.fd(), nullptr, nullptr);
    const std::string garbage = "HTTP/1.1 400 Bad Request\r\n\r\n" + std::string(1000, '\xff');
    send(peer, garbage.data(), garbage.size(), MSG_NOSIGNAL);
    close(peer);
  });
  const absl::Status status = Ask(ServiceVersion::kV2, At(port.port()), absl::Seconds(2)).status();
  server.join();
  EXPECT_TRUE(absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) << status;
}

TEST(TripleCallTest, CancelEndsIt) {
  const SilentPort silent;
  const auto call = NewTripleCall(At(silent.port()));
  Waiter<absl::StatusOr<MetadataInfo>> waiter;
  call->Start(ServiceVersion::kV2, absl::Minutes(10), waiter.Callback());
  pollfd asked{silent.fd(), POLLIN, 0};
  ASSERT_EQ(poll(&asked, 1, 20000), 1);
  call->Cancel();
  EXPECT_TRUE(absl::IsUnavailable(waiter.Wait(kLong).status()));
  // And what is begun later ends as well.
  Waiter<absl::StatusOr<MetadataInfo>> again;
  call->Start(ServiceVersion::kV1, absl::Minutes(10), again.Callback());
  EXPECT_TRUE(absl::IsUnavailable(again.Wait(kLong).status()));
}

TEST(TripleCallTest, ItsOwnerMayBeGone) {
  OnlyV2 service;
  const GrpcPeer peer({&service});
  Waiter<absl::StatusOr<MetadataInfo>> waiter;
  NewTripleCall(At(peer.port()))->Start(ServiceVersion::kV2, kLong, waiter.Callback());
  EXPECT_TRUE(waiter.Wait(kLong).ok());
}

// Then it ends on gRPC's thread, and nothing else of gRPC is in use, as no server runs here.
TEST(TripleCallTest, TheOnlyOneMayEndAfterItsOwner) {
  for (int i = 0; i < 100; ++i) {
    Waiter<absl::StatusOr<MetadataInfo>> waiter;
    NewTripleCall(At(FreePort()))->Start(ServiceVersion::kV2, kLong, waiter.Callback());
    EXPECT_TRUE(absl::IsUnavailable(waiter.Wait(kLong).status()));
  }
}

}  // namespace
}  // namespace signpost::metadata_triple_internal
