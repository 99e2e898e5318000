#include "signpost/metadata/triple/wrapped_call.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "signpost/common/clock.h"
#include "signpost/metadata/hessian2/codec.h"
#include "signpost/metadata/hessian2/metadata_service_v1.h"
#include "signpost/metadata/published_metadata.h"
#include "signpost/metadata/triple/triple_wrapper.pb.h"

namespace signpost::metadata_triple_internal {
namespace {

using hessian2::Kind;
using org::apache::dubbo::triple::TripleRequestWrapper;
using org::apache::dubbo::triple::TripleResponseWrapper;

MetadataInfo Sample() {
  MetadataInfo info;
  info.app = "shop";
  info.revision = "r1";
  ServiceInfo service;
  service.name = service.path = "a.A";
  service.protocol = "tri";
  service.port = 50051;
  service.params = {{"methods", "echo"}};
  info.services[service.match_key()] = service;
  return info;
}

std::string Encode(const hessian2::Value& value) {
  hessian2::Encoder encoder;
  encoder.Write(value);
  return encoder.Take();
}

std::string Text(const std::string& text) {
  hessian2::Value value;
  value.kind = Kind::kString;
  value.text = text;
  return Encode(value);
}

TripleResponseWrapper Response(std::string data) {
  TripleResponseWrapper response;
  response.set_serializetype("hessian4");
  response.set_data(std::move(data));
  return response;
}

class WrappedCallTest : public testing::Test {
 protected:
  WrappedCallTest() {
    published_.Publish(Sample(), {*Url::Parse("tri://192.0.2.1:50051/a.A?group=g")});
  }
  PublishedMetadata published_{"shop", Clock::Real()};
};

TEST_F(WrappedCallTest, ARevisionIsAskedForAndAnswered) {
  const TripleRequestWrapper request = WrapRevision("r1");
  EXPECT_EQ(request.serializetype(), "hessian4");
  ASSERT_EQ(request.argtypes_size(), 1);
  EXPECT_EQ(request.argtypes(0), "java.lang.String");
  ASSERT_EQ(request.args_size(), 1);
  EXPECT_EQ(request.args(0), std::string("\x02r1", 3));
  const auto response = AnswerWrapped(published_, "getMetadataInfo", request);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->serializetype(), "hessian4");
  EXPECT_EQ(response->type(), "org.apache.dubbo.metadata.MetadataInfo");
  const auto info = UnwrapMetadataInfo(*response);
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->app, "shop");
  EXPECT_EQ(info->revision, "r1");
  EXPECT_EQ(info->services, Sample().services);
}

TEST_F(WrappedCallTest, ItsBytesAreReadToo) {
  const auto response = AnswerWrapped(published_, "getMetadataInfo", WrapRevision("r1"));
  ASSERT_TRUE(response.ok()) << response.status();
  const auto info = ParseWrappedMetadataInfo(response->SerializeAsString());
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->services, Sample().services);
}

TEST_F(WrappedCallTest, TheNameOfTheSerializationIsThatOfTheQuestion) {
  TripleRequestWrapper request = WrapRevision("r1");
  request.set_serializetype("hessian2");
  const auto response = AnswerWrapped(published_, "getMetadataInfo", request);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->serializetype(), "hessian2");
  EXPECT_TRUE(UnwrapMetadataInfo(*response).ok());
}

TEST_F(WrappedCallTest, AnUnknownRevisionIsNotFound) {
  const auto response = AnswerWrapped(published_, "getMetadataInfo", WrapRevision("r2"));
  EXPECT_TRUE(absl::IsNotFound(response.status())) << response.status();
}

TEST_F(WrappedCallTest, CallsWithoutArguments) {
  TripleRequestWrapper request;
  request.set_serializetype("hessian2");
  const auto version = AnswerWrapped(published_, "version", request);
  ASSERT_TRUE(version.ok()) << version.status();
  EXPECT_EQ(version->type(), "java.lang.String");
  EXPECT_EQ(version->data(), Text("1.0.0"));
}

TEST_F(WrappedCallTest, OtherSerializationsAreUnimplemented) {
  for (const char* name : {"", "fastjson2", "protobuf"}) {
    TripleRequestWrapper request = WrapRevision("r1");
    request.set_serializetype(name);
    const absl::Status status = AnswerWrapped(published_, "getMetadataInfo", request).status();
    EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
    TripleResponseWrapper response = Response("N");
    response.set_serializetype(name);
    EXPECT_TRUE(absl::IsUnimplemented(UnwrapMetadataInfo(response).status())) << name;
  }
}

TEST_F(WrappedCallTest, ArgumentsThatAreNoneAreRefused) {
  TripleRequestWrapper missing = WrapRevision("r1");
  missing.clear_args();
  TripleRequestWrapper untyped = WrapRevision("r1");
  untyped.clear_argtypes();
  TripleRequestWrapper many = WrapRevision("r1");
  for (int i = 0; i < 100; ++i) {
    many.add_args(many.args(0));
    many.add_argtypes(many.argtypes(0));
  }
  TripleRequestWrapper garbage = WrapRevision("r1");
  garbage.set_args(0, std::string("\x05r1", 3));
  TripleRequestWrapper more = WrapRevision("r1");
  more.set_args(0, more.args(0) + more.args(0));
  TripleRequestWrapper nothing = WrapRevision("r1");
  nothing.set_args(0, "");
  for (const auto& request : {missing, untyped, many, garbage, more, nothing}) {
    const absl::Status status = AnswerWrapped(published_, "getMetadataInfo", request).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_NE(status.message().find("getMetadataInfo"), std::string::npos) << status;
  }
}

// As Java answers for a revision that it does not know.
TEST_F(WrappedCallTest, NullIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(UnwrapMetadataInfo(Response("N")).status()));
  EXPECT_TRUE(absl::IsNotFound(UnwrapMetadataInfo(Response("")).status()));
}

// As old Java answers.
TEST_F(WrappedCallTest, JsonInAStringIsRead) {
  const auto info = UnwrapMetadataInfo(Response(Text(ToJson(Sample()))));
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->services, Sample().services);
}

TEST_F(WrappedCallTest, AnswersThatAreNoneAreRefused) {
  const std::string good = Encode(*hessian2::MetadataInfoValue(Sample()));
  ASSERT_TRUE(UnwrapMetadataInfo(Response(good)).ok());
  hessian2::Value number;
  number.kind = Kind::kInt;
  number.number = 7;
  for (const std::string& data :
       {good.substr(0, good.size() - 1), good + "N", Encode(number), std::string(1, '\xff')}) {
    const absl::Status status = UnwrapMetadataInfo(Response(data)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << testing::PrintToString(data) << status;
  }
}

TEST_F(WrappedCallTest, BytesThatAreNoMessageAreRefused) {
  for (const std::string& bytes :
       {std::string("\x0a\x05", 2), std::string(11, '\x80'), std::string("\x0a\x01\xff", 3)}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseWrappedMetadataInfo(bytes).status()));
  }
}

}  // namespace
}  // namespace signpost::metadata_triple_internal
